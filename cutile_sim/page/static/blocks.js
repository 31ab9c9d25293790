// The grid of blocks: one cell a block, tinted by what it does.

import { announce, blockName, byId, bytes, el, short, table, text } from "./dom.js";
import { color, image, mix, pixel, ramp, rgb } from "./colors.js";
import { GridCanvas } from "./grid.js";
import { ask } from "./store.js";
import { on, state, update } from "./state.js";

const METRICS = [["bytes", "bytes moved"], ["records", "records"], ["first", "order"]];
const TABLE_ROWS = 200;
let grid;
let ui;
let answer = null;
let metric = "bytes";
let layer = 0;          // z
let wrap = 1;

export function startBlocks() {
  const canvas = el("canvas", {
    id: "blocks-canvas", tabindex: 0, role: "application", "aria-roledescription": "grid of blocks", "aria-describedby": "blocks-readout",
  });
  ui = {
    canvas, tools: el("span"), readout: el("p", { class: "readout", id: "blocks-readout" }), table: el("div"),
    metric: el("select", { id: "metric", on: { change: (event) => { metric = event.target.value; showLegend(); grid.redraw(); } } },
      METRICS.map(([value, words]) => el("option", { value }, words))), legend: el("div", { class: "legend" }),
  };
  byId("blocks").querySelector(".head").append(el("label", {}, "by ", ui.metric), ui.tools);
  byId("blocks-body").append(el("div", { class: "stage" }, canvas), ui.legend, ui.readout,
    el("details", { class: "table" }, el("summary", {}, "Blocks as a table"), ui.table));
  grid = new GridCanvas(canvas, { draw, hover, pick });
  on(["launch"], showLaunch);
  on(["block", "other", "hovered", "touching", "theme"], () => grid.redraw());
}

async function showLaunch() {
  const { launch } = state;
  const [x, y, z] = launch.grid;
  wrap = y === 1 && z === 1 ? launch.wrap : x;
  layer = 0;
  answer = null;
  const flat = y === 1 && z === 1;
  grid.setGrid(flat ? Math.ceil(x / wrap) : y, wrap);
  ui.canvas.setAttribute("aria-label",
    `Grid of ${text(launch.blocks)} blocks, ${launch.grid.join(" × ")}. Arrow keys move the cursor; Enter chooses a block, C one to compare with.`);
  const layers = z > 1 ? el("label", {}, "z", el("input", {
    type: "number", min: 0, max: z - 1, value: 0,
    on: { change: (event) => { layer = Math.min(Math.max(0, Number(event.target.value) || 0), z - 1); fetchLayer(); } },
  }), el("span", { class: "soft" }, `of ${text(z)}`)) : null;
  ui.tools.replaceChildren(...[layers].filter(Boolean));
  await fetchLayer();
}

async function fetchLayer() {
  const { launch } = state;
  try {
    const found = await ask("blocks", { launch: launch.number, z: layer });
    if (state.launch !== launch) return;
    answer = found;
  } catch (error) {
    ui.readout.textContent = error.message;
  }
  showLegend();
  showTable();
  if (grid.cell) hover(grid.cell);
  grid.redraw();
}

/** The block of a cell; null where there is none, or no launch. */
const blockAt = (r, c) => {
  if (!state.launch) return null;
  const [x, y, z] = state.launch.grid;
  if (y === 1 && z === 1) return r * wrap + c < x ? [r * wrap + c, 0, 0] : null;
  return [c, r, layer];
};

const placeOfBlock = ([x, y, z]) => {
  const [, ny, nz] = state.launch.grid;
  if (ny === 1 && nz === 1) return [Math.floor(x / wrap), x % wrap];
  return z === layer ? [y, x] : null;
};

const numberIn = ([x, y]) => y * state.launch.grid[0] + x;

function draw(context) {
  if (!answer) return;
  context.imageSmoothingEnabled = false;
  const theme = document.documentElement.dataset.theme;
  answer.pictures ??= new Map();
  const key = `${metric} ${theme}`;
  if (!answer.pictures.has(key)) {
    const shade = ramp((share) => mix(color("empty"), color("heat"), 0.12 + 0.88 * share));
    const unseen = pixel(color("panel"));
    const { values, most } = answer[metric];
    const total = answer.blocks;
    const ran = answer.records.values;
    answer.pictures.set(key, image(grid.rows, grid.cols, (i) =>
      (i >= total ? 0 : ran[i] ? shade(values[i] / (most || 1)) : unseen)));
  }
  const [x, y, w, h] = grid.rect([0, 0, grid.rows, grid.cols]);
  context.drawImage(answer.pictures.get(key), x, y, w, h);
  grid.lines("--panel");
  for (const block of state.touching) ring(context, block, "text", 1.5);
  if (state.hovered) ring(context, state.hovered, "text", 2);
  if (state.other) ring(context, state.other, "several", 3);
  if (state.block) ring(context, state.block, "accent", 3);
  for (const finding of state.launch.findings) if (finding.block) ring(context, finding.block, "error", 1.5);
}

function ring(context, block, name, width) {
  const place = placeOfBlock(block);
  if (!place) return;
  const [x, y, w, h] = grid.rect([place[0], place[1], place[0] + 1, place[1] + 1]);
  const grow = Math.max(0, (6 - Math.min(w, h)) / 2);
  for (const [wide, tone] of [[width + 3, "panel"], [width, name]]) {
    context.lineWidth = wide;
    context.strokeStyle = rgb(color(tone));
    context.strokeRect(x - grow + 1, y - grow + 1, w + 2 * grow - 2, h + 2 * grow - 2);
  }
}

function describe(block) {
  if (!answer) return `block ${blockName(block, state.launch.grid)}`;
  const i = numberIn(block);
  const records = answer.records.values[i];
  if (!records) return `block ${blockName(block, state.launch.grid)}   not recorded`;
  return `block ${blockName(block, state.launch.grid)}   ${bytes(answer.bytes.values[i])} moved   ${short(records)} records`;
}

function hover(cell) {
  const block = cell && blockAt(...cell);
  ui.readout.textContent = block ? describe(block) : "";
  if (block) announce(ui.readout.textContent);
  update({ hovered: block });
}

function pick(cell, event) {
  const block = blockAt(...cell);
  if (!block) return;
  if (event.shiftKey && event.type === "pointerup") compareWith(block);
  else update({ block: String(block) === String(state.block) ? null : block });
}

/** The block under the cursor or pointer becomes the one to compare with. */
export function compareWith(block = state.hovered) {
  if (!block || !state.block) {
    announce("Choose a block first, then another to compare it with");
    ui.readout.textContent = "Choose a block with a click or Enter first; then Shift+click or C on another compares the two.";
    return;
  }
  update({ other: block });
}

function showLegend() {
  if (!answer) { ui.legend.replaceChildren(); return; }
  const { most } = answer[metric];
  const words = { bytes: `up to ${bytes(most)} a block`, records: `up to ${short(most)} records a block`, first: "stronger: began later" }[metric];
  ui.legend.replaceChildren(el("span", { class: "soft" }, words));
}

function showTable() {
  if (!answer) { ui.table.replaceChildren(el("p", { class: "empty" }, "The grid of blocks is not in this file.")); return; }
  const rows = [];
  for (let i = 0; i < Math.min(answer.blocks, TABLE_ROWS); i += 1) {
    const block = blockAt(Math.floor(i / grid.cols), i % grid.cols);
    rows.push([blockName(block, state.launch.grid), bytes(answer.bytes.values[i]), answer.records.values[i]]);
  }
  const rest = answer.blocks > TABLE_ROWS ? el("p", { class: "soft" }, `The first ${TABLE_ROWS} of ${text(answer.blocks)} blocks.`) : "";
  ui.table.replaceChildren(table("Blocks", ["Block", "Bytes", "Records"], rows), rest);
}
