// The slider through the records of a launch, in the order in which they happened.

import { byId, el, text } from "./dom.js";
import { on, state, update } from "./state.js";

const TICK_MS = 250;
const STEPS_A_PASS = 80;
let ui;
let playing = 0;

export function startTime() {
  ui = {
    slider: el("input", { type: "range", min: 0, id: "time", "aria-label": "Time: records of the launch",
      on: { input: (event) => { stop(); update({ time: Number(event.target.value) }); } } }),
    play: el("button", { type: "button", id: "play", on: { click: toggle } }, "Play"),
    back: el("button", { type: "button", "aria-label": "One record back", on: { click: () => step(-1) } }, "‹"),
    on: el("button", { type: "button", "aria-label": "One record on", on: { click: () => step(1) } }, "›"),
    end: el("button", { type: "button", on: { click: () => { stop(); update({ time: state.launch.records }); } } }, "Whole launch"),
    words: el("output", { for: "time" }),
  };
  byId("array").append(el("div", { class: "time", role: "group", "aria-label": "Time" },
    ui.play, ui.back, ui.slider, ui.on, ui.end, ui.words));
  on(["launch", "time"], show);
  enable(false);
}

/** The operation of a record, from the launch's timeline; null for the whole launch, and beyond what that holds. */
export function opAt(time) {
  const { launch } = state;
  if (time >= launch.records) return null;
  return launch.ops[launch.timeline[time]] ?? null;
}

function show() {
  const { launch, time } = state;
  ui.slider.max = launch.records;
  ui.slider.value = time;
  enable(launch.records > 0);
  const words = recordWords(time);
  ui.words.textContent = words;
  ui.words.title = words;
  ui.slider.setAttribute("aria-valuetext", words);
}

function enable(possible) {
  for (const control of [ui.slider, ui.play, ui.back, ui.on, ui.end]) control.disabled = !possible;
}

function recordWords(time) {
  const { launch } = state;
  if (!launch.records) return "nothing was recorded";
  if (time >= launch.records) return `whole launch, ${text(launch.records)} records`;
  const op = opAt(time);
  if (!op) return `record ${text(time)} of ${text(launch.records)}`;
  const arrays = op.arrays.map((number) => launch.arrays[number].name).join(", ");
  const place = op.line ? `line ${op.line.line}, ` : "";
  return `record ${text(time)} of ${text(launch.records)}: ${op.kind}${arrays ? ` ${arrays}` : ""}, ${place}${op.name}`;
}

export function step(by) {
  stop();
  update({ time: Math.min(Math.max(state.time + by, 0), state.launch.records) });
}

export function toggle() {
  if (playing) { stop(); return; }
  if (state.time >= state.launch.records) update({ time: 0 });
  const by = Math.max(1, Math.round(state.launch.records / STEPS_A_PASS));
  ui.play.textContent = "Pause";
  playing = setInterval(() => {
    update({ time: Math.min(state.time + by, state.launch.records) });
    if (state.time >= state.launch.records) stop();
  }, TICK_MS);
}

function stop() {
  clearInterval(playing);
  playing = 0;
  ui.play.textContent = "Play";
}
