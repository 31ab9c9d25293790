// Keys that work anywhere, and the list of all keys.

import { byId, el, table } from "./dom.js";
import { state, update } from "./state.js";
import { step, toggle } from "./time.js";
import { chooseArray } from "./arrays.js";
import { compareWith } from "./blocks.js";

const MODES = ["accesses", "coverage", "values"];

const LIST = [
  ["?", "This list"],
  ["T", "Light or dark"],
  ["P", "Play through time, or pause"],
  [", and .", "One record back or on; E: the whole launch"],
  ["M", "Next view of the array: accesses, coverage, values"],
  ["[ and ]", "Array before or after this one"],
  ["A, B, S, R", "Go to the array, the grid of blocks, the source, the reports"],
  ["Escape", "Let go of chosen block, element and line; leave a widened panel"],
  ["Arrows", "In a grid: move the cursor; with Shift by ten. In the source: next line with costs"],
  ["Home, End, Page up, Page down", "In a grid: ends of the row, a window up or down"],
  ["Enter", "In a grid: choose. In the source: light the line's accesses"],
  ["C", "In the grid of blocks: compare the chosen block with that under the cursor"],
  ["+, −, 0", "In a grid: zoom in, zoom out, show all"],
];

export function startKeys(theme) {
  const dialog = byId("keys");
  dialog.append(el("h2", { id: "keys-title" }, "Keys"), table("Keys and what they do", ["Key", "What it does"], LIST.map(([key, words]) => [el("kbd", {}, key), words])),
    el("p", { class: "soft" }, "With the pointer: the wheel zooms, dragging pans, a click chooses, Shift+click on a block compares."),
    el("p", {}, el("button", { type: "button", autofocus: true, on: { click: () => dialog.close() } }, "Close")));
  byId("show-keys").addEventListener("click", () => dialog.showModal());
  document.addEventListener("keydown", (event) => onKey(event, dialog, theme));
}

function onKey(event, dialog, theme) {
  if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
  const field = event.target.closest("input:not([type=radio]):not([type=checkbox]), select, textarea");
  if (field && event.key !== "Escape" && !(field.type === "range" && /^[a-z?,.[\]]$/i.test(event.key))) return;
  const act = {
    "?": () => dialog.showModal(), t: theme, p: toggle, ",": () => step(-1), ".": () => step(1),
    e: () => update({ time: state.launch.records }), m: nextMode, "[": () => nextArray(-1), "]": () => nextArray(1),
    a: () => byId("array-canvas").focus(), b: () => byId("blocks-canvas").focus(),
    s: () => document.querySelector(".source tr[tabindex='0']")?.focus(),
    r: () => document.querySelector("#notes [role=tab][tabindex='0']")?.focus(), c: () => compareWith(), Escape: letGo,
  }[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!act || !state.launch) return;
  event.preventDefault();
  act();
}

function nextMode() {
  const possible = MODES.filter((mode) => mode !== "values" || state.array?.has_values);
  update({ mode: possible[(possible.indexOf(state.mode) + 1) % possible.length] });
}

function nextArray(by) {
  const count = state.launch.arrays.length;
  if (!count) return;
  chooseArray((state.array.number + by + count) % count);
}

function letGo() {
  if (document.body.classList.contains("wide")) {
    document.querySelector(".panel.wide .widen").click();
    return;
  }
  update({ block: null, other: null, hovered: null, element: null, line: null });
}
