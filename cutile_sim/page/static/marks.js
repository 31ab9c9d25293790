// What is lit on the array: tiles of a block, what the record at the slider touches, and edges of tiles.

import { announce, blockName } from "./dom.js";
import { ask } from "./store.js";
import { boxRects, litBlock, on, state, update } from "./state.js";

const ASK_AFTER_MS = 60;

/** Touches of the lit block and of the record, as answers have them; where tiles begin and end along each axis. */
export const marks = { lit: [], record: [], cuts: [] };

/** What the record at the slider touches; nothing for the whole launch. */
export const recordMarks = () => (state.time < state.launch.records ? marks.record : []);

/** Keep the marks; `changed` is called when they do, `say` with words for people. */
export function startMarks(changed, say) {
  let waiting = 0;
  on(["block", "hovered", "array"], () => fetchLit(changed, say));
  on(["array"], () => fetchCuts(changed, say));
  on(["time", "array"], () => {
    marks.record = [];
    changed();
    clearTimeout(waiting);
    waiting = setTimeout(() => fetchRecord(changed, say), ASK_AFTER_MS);
  });
}

async function fetchLit(changed, say) {
  const block = litBlock();
  const { launch, array } = state;
  marks.lit = [];
  if (block && array) {
    try {
      const answer = await ask("block", { launch: launch.number, block: block.join(",") });
      if (String(litBlock()) !== String(block) || state.array !== array) return;
      marks.lit = answer ? answer.touches.filter((t) => t.array === array.number) : [];
      showSlice(block, say);
      if (state.hovered) announce(`Block ${blockName(block, launch.grid)}: ${marks.lit.length} accesses to ${array.name}`);
    } catch (error) {
      say(error.message);
    }
  }
  changed();
}

/** Tiles of a block that is chosen come into sight; of one that is pointed at it is said where they are. */
function showSlice(block, say) {
  const { array } = state;
  if (array.shape.length < 3 || !marks.lit.length || marks.lit.some((t) => boxRects(t.box).length)) return;
  const shown = (axis) => axis === state.rows || axis === state.cols;
  const fixed = array.shape.map((_, axis) => (shown(axis) ? state.fixed[axis] : marks.lit[0].box[axis][0]));
  if (String(state.block) === String(block)) update({ fixed });
  else say(`Tiles of block ${blockName(block, state.launch.grid)} lie at [${fixed.map((at, axis) => (shown(axis) ? ":" : at)).join(", ")}]`);
}

async function fetchCuts(changed, say) {
  const { launch, array } = state;
  marks.cuts = [];
  if (!array) return;
  try {
    const answer = await ask("cuts", { launch: launch.number, array: array.number });
    if (state.array !== array) return;
    marks.cuts = answer?.cuts ?? [];
  } catch (error) {
    say(error.message);
  }
  changed();
}

async function fetchRecord(changed, say) {
  const { launch, array, time } = state;
  if (!launch || !array || time >= launch.records) return;
  try {
    const answer = await ask("record", { launch: launch.number, record: time });
    if (state.time !== time || state.array !== array) return;
    marks.record = answer ? answer.touches.filter((t) => t.array === array.number) : [];
  } catch (error) {
    say(error.message);
  }
  changed();
}
