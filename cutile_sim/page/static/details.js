// What is known of the block, element or record that is pointed at or chosen.

import { blockName, byId, bytes, el, short, table, tabs, text } from "./dom.js";
import { color, forgetColors, image, pixel, valueRamp } from "./colors.js";
import { ask, isFile } from "./store.js";
import { litBlock, on, state, update } from "./state.js";
import { number } from "./arrays.js";

const SHOWN_ROWS = 200;
const SLOW_MS = 300;
const ASK_AFTER_MS = 60;
let ui;
let shown = "block";
let asked = 0;
let shownRecord = -1;
let waiting = 0;

export function startDetails() {
  ui = tabs("Details", [["block", "Block"], ["element", "Element"], ["record", "Record"], ["compare", "Compare"]],
    (id) => { shown = id; });
  byId("details").querySelector(".head").append(ui.list);
  byId("details-body").append(...ui.panels.values());
  ui.show("block");
  on(["launch"], () => { for (const id of Object.keys(HINTS)) hint(id); });
  on(["block", "hovered"], showBlock);
  on(["array"], () => hint("element"));
  on(["element"], showElement);
  on(["time", "block"], showRecord);
  on(["block", "other"], showCompare);
  on(["theme"], () => { forgetColors(); showRecord(); });
}

const HINTS = {
  block: "Point at a block in the grid, or choose one with a click or Enter: its tiles light up in the array.",
  element: "Point at an element of the array, or move the cursor there with the arrow keys, to see who touched it.",
  record: "Move the time slider to a record to see what ran then, and the tiles it held.",
  compare: "Choose a block with a click or Enter, then another with Shift+click or C.",
};

function hint(id) {
  const panel = ui.panels.get(id);
  panel.dataset.asked = "";
  panel.replaceChildren(el("p", { class: "empty" }, HINTS[id]));
}

/** Ask, and show unless something newer was asked for meanwhile. */
async function fill(id, name, params, render) {
  const mine = (asked += 1);
  const panel = ui.panels.get(id);
  panel.dataset.asked = mine;
  const slow = setTimeout(() => {
    if (panel.dataset.asked === String(mine)) panel.replaceChildren(el("p", { class: "empty" }, "Counting…"));
  }, SLOW_MS);
  let nodes;
  try {
    const answer = await ask(name, params);
    nodes = answer ? render(answer) : [el("p", { class: "empty" }, "This file does not hold it: open the trace with cutile-sim view.")];
  } catch (error) {
    nodes = [el("p", { class: "empty" }, error.message)];
  }
  clearTimeout(slow);
  if (panel.dataset.asked === String(mine)) panel.replaceChildren(...[nodes].flat());
}

const goTo = (record) => el("button", { type: "button", class: "link", title: "Move the time slider there",
  on: { click: () => update({ time: record }) } }, text(record));

const lineOf = (op) => { const { line } = state.launch.ops[op]; return line ? `${line.line}` : ""; };

function boxWords(touch) {
  if (touch.lanes) return `${short(touch.lanes.length)} elements`;
  return touch.box.length ? touch.box.map(([first, end]) => (end - first === 1 ? `${first}` : `${first}:${end}`)).join(", ") : "()";
}

function showBlock() {
  const block = litBlock();
  if (!block) { hint("block"); return; }
  if (shown !== "compare" && (state.hovered || shown !== "element")) ui.show("block");
  const { launch } = state;
  fill("block", "block", { launch: launch.number, block: block.join(",") }, (answer) => [
    el("p", { class: "pad" }, el("strong", {}, `Block ${blockName(block, launch.grid)}`),
      `: ${answer.is_cut ? "at least " : ""}${bytes(answer.bytes_loaded)} loaded, ${bytes(answer.bytes_stored)} stored, ${text(answer.total)} accesses`),
    table(`Accesses of block ${blockName(block, launch.grid)}`, ["Record", "Kind", "Array", "Part", "Line"],
      answer.touches.slice(0, SHOWN_ROWS).map((t) => [
        goTo(t.record), kindCell(t.kind), launch.arrays[t.array].name, el("span", { class: "code" }, boxWords(t)), lineOf(t.op)])),
    more(answer.total),
  ]);
}

const more = (total) => (total > SHOWN_ROWS ? el("p", { class: "pad soft" }, `The first ${SHOWN_ROWS} of ${text(total)}.`) : "");

const kindCell = (kind) => el("span", { class: "key" }, el("i", { class: `swatch ${kind}` }), ` ${kind}`);

function showElement() {
  const { launch, array, element } = state;
  if (!element || !array) { update({ touching: [] }); return; }
  if (shown !== "compare") ui.show("element");
  const name = `${array.name}[${element.join(", ")}]`;
  fill("element", "element", { launch: launch.number, array: array.number, index: element.join(",") }, (answer) => {
    if (state.element === element) update({ touching: answer.touches.map((t) => t.block) });
    const values = [["before", answer.before], ["after", answer.after]].filter(([, v]) => v !== null);
    return [
      el("p", { class: "pad" }, el("strong", { class: "code" }, name), values.map(([when, v]) => `  ${when} ${v}`).join(","),
        `: touched ${times(answer.total)}${answer.is_cut ? " and more" : ""}`),
      answer.touches.length ? table(`Who touched ${name}`, ["Record", "Kind", "Block", "Line", "Operation"],
        answer.touches.slice(0, SHOWN_ROWS).map((t) => [
          goTo(t.record), kindCell(t.kind), blockButton(t.block), lineOf(t.op), launch.ops[t.op].name])) : "",
      more(answer.total),
    ];
  });
}

const times = (count) => (count === 0 ? "never" : count === 1 ? "once" : `${text(count)} times`);

const blockButton = (block) => el("button", { type: "button", class: "link", title: "Choose this block",
  on: { click: () => update({ block }) } }, blockName(block, state.launch.grid));

function showRecord() {
  const { launch, time, block } = state;
  clearTimeout(waiting);
  if (!launch || time >= launch.records) { shownRecord = -1; hint("record"); return; }
  if (time !== shownRecord && shown !== "compare") ui.show("record");
  shownRecord = time;
  const params = { launch: launch.number, record: time };
  if (block && !isFile()) params.block = block.join(",");
  waiting = setTimeout(() => fill("record", "record", params, renderRecord), ASK_AFTER_MS);
}

function renderRecord(answer) {
  const { launch } = state;
  const op = launch.ops[answer.op];
  const chain = op.chain.map((at) => `${at.name}:${at.line}, in ${at.function}`).join(" ← ");
  const span = `${blockName(answer.first, launch.grid)} to ${blockName(answer.last, launch.grid)}`;
  return [
    el("dl", { class: "facts" }, ...facts([
      ["Record", text(answer.record)], ["Operation", `${op.name} (${op.kind})`], ["Source", chain || "unknown"],
      ["Blocks in step", answer.blocks > 1 ? `${text(answer.blocks)}, from ${span}` : blockName(answer.first, launch.grid)],
      ["Tiles", answer.tiles.length ? `of block ${blockName(answer.block, launch.grid)}` : null],
    ])),
    ...answer.tiles.map(tilePicture),
    answer.tiles.length || !answer.moves ? "" : el("p", { class: "pad soft" }, "Values were not recorded: record them with values=True, or cutile-sim trace --values."),
  ];
}

export const facts = (entries) => entries.filter(([, value]) => value !== null && value !== undefined)
  .flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]);

function tilePicture({ role, shape, rows, cols, mean, odd, low, high, dtype }) {
  const scale = Math.max(1, Math.floor(Math.min(320 / cols, 140 / rows)));
  const nan = pixel(color("nan"));
  const picture = image(rows, cols, (i) => (odd[i] ? nan : valueRamp(high > low ? (mean[i] - low) / (high - low) : 0.5)));
  picture.style.width = `${Math.max(cols * scale, Math.min(320, cols))}px`;
  picture.style.height = `${Math.max(rows * scale, 6)}px`;
  picture.className = "tile";
  picture.setAttribute("role", "img");
  const words = `${role}: ${dtype} ${shape.join(" × ") || "scalar"}, from ${number(low)} to ${number(high)}`;
  picture.setAttribute("aria-label", words);
  return el("figure", { class: "pad tile-figure" }, el("figcaption", {}, words), picture);
}

function showCompare() {
  const { launch, block, other } = state;
  if (!block || !other) {
    if (shown === "compare") ui.show("block");
    hint("compare");
    return;
  }
  ui.show("compare");
  fill("compare", "compare", { launch: launch.number, a: block.join(","), b: other.join(",") }, (answer) => [
    el("p", { class: "pad" }, "Blocks ", el("strong", {}, blockName(block, launch.grid)), " (A) and ",
      el("strong", {}, blockName(other, launch.grid)), " (B): ", answer.lines.length ? "they part." : "they run the same operations."),
    table("Arrays that the two blocks touch", ["Array", "Kind", "Only A", "Only B", "Both"],
      answer.arrays.map((row) => [row.array, kindCell(row.kind), row.only_a, row.only_b, row.both])),
    answer.lines.length ? el("h3", { class: "pad" }, "Lines that differ in how often they ran") : "",
    answer.lines.length ? table("Lines that differ", ["Line", "A", "B"], answer.lines.map((row) => [row.line || "unknown", row.a, row.b])) : "",
  ]);
}
