// The array panel: which array, which axes, what is shown of it; and its canvas.

import { announce, blockName, byId, el, radios, short, table, text } from "./dom.js";
import { color, forgetColors, mix, rgb, valueGradient } from "./colors.js";
import { GridCanvas } from "./grid.js";
import { Layer, isExact, paintAccesses, paintCoverage, paintLater, paintValues, planeParams } from "./plane.js";
import { ask } from "./store.js";
import { boxRects, indexAt, litBlock, on, placeOf, placeOfIndex, planeShape, state, update } from "./state.js";
import { histogram } from "./histogram.js";

const CUT_PX = 5;
const MOST_CUTS = 20000;
const WORDS = { load: "loaded", store: "stored", atomic: "updated" };
let grid;
let ui;
let layers;
let lit = [];      // touches of the lit block
let current = [];  // what the record at the slider touches
let cuts = [];     // where tiles begin and end along each axis

export function startArrays() {
  const canvas = el("canvas", {
    id: "array-canvas", tabindex: 0, role: "application", "aria-roledescription": "grid of elements",
    "aria-describedby": "array-readout",
  });
  ui = {
    modes: el("span"), times: el("span"), axes: el("span", { class: "group" }), legend: el("div", { class: "legend" }),
    readout: el("p", { class: "readout", id: "array-readout" }), histogram: el("div", { class: "histogram", hidden: true }),
    table: el("div"), names: el("span"), type: el("span", { class: "soft code" }), canvas,
  };
  byId("array").querySelector(".head").append(ui.names, ui.type, zoomButtons());
  byId("array-body").append(
    el("div", { class: "tools" }, ui.modes, ui.times, ui.axes),
    el("div", { class: "stage" }, canvas), el("div", { class: "under" }, ui.legend, ui.readout), ui.histogram,
    el("details", { class: "table" }, el("summary", {}, "What touches this array, as a table"), ui.table),
  );
  const redraw = (error) => {
    grid.redraw();
    if (state.array) showLegend();
    if (grid.cell) tell(grid.cell);
    if (error instanceof Error) ui.readout.textContent = error.message;
  };
  layers = {
    plane: new Layer("plane", redraw), line: new Layer("plane", redraw), times: new Layer("times", redraw),
    coverage: new Layer("coverage", redraw), values: new Layer("values", redraw),
  };
  grid = new GridCanvas(canvas, {
    draw, hover, pick,
    moved: () => { for (const layer of Object.values(layers)) layer.moved(grid); },
  });
  on(["array"], showArray);
  on(["array", "mode", "rows", "cols", "fixed", "wrap", "line", "when"], showPlane);
  on(["kinds"], () => grid.redraw());
  on(["time", "array", "rows", "cols", "fixed", "wrap"], showTimes);
  on(["block", "hovered", "array"], fetchLit);
  on(["time", "array"], fetchRecord);
  on(["array"], fetchCuts);
  on(["line"], followLine);
  on(["theme"], () => { forgetColors(); grid.redraw(); });
}

export const arrayGrid = () => grid;

export function chooseArray(number) {
  const array = state.launch.arrays[number];
  const rank = array.shape.length;
  update({
    array, element: null, rows: rank > 1 ? rank - 2 : -1, cols: rank - 1, fixed: array.shape.map(() => 0),
    wrap: array.wrap,
    mode: state.mode === "values" && !array.has_values ? "accesses" : state.mode,
  });
}

/** A line that does not touch the array on show brings one that it does. */
function followLine() {
  const { line, launch, array } = state;
  if (!line || !array) return;
  const ops = launch.ops.filter((op) => op.arrays.length && op.chain.some((at) => at.file === line.file && at.line === line.line));
  if (ops.length && !ops.some((op) => op.arrays.includes(array.number))) chooseArray(ops[0].arrays[0]);
}

function showArray() {
  const { launch, array } = state;
  byId("array-body").hidden = !array;
  byId("array-none").hidden = Boolean(array);
  if (!array) {
    ui.names.replaceChildren();
    ui.type.textContent = "";
    return;
  }
  keepFocus(ui.names, radios("Array", "array", launch.arrays.map((a) => [a.number, a.name]), array.number, chooseArray));
  ui.type.textContent = `${array.dtype} ${array.shape.join(" × ")}`;
  const memory = array.is_argument ? "" : ", memory of the kernel's own";
  const shape = array.shape.length ? array.shape.join(" × ") : "one element";
  ui.canvas.setAttribute("aria-label", `Array ${array.name}, ${array.dtype}, ${shape}${memory}. Arrow keys move the cursor.`);
  const rows = array.accesses.map((a) => {
    const op = launch.ops[a.op];
    return [WORDS[a.kind], op.line ? `${op.line.name}:${op.line.line}` : "", op.name, a.records, a.blocks];
  });
  ui.table.replaceChildren(table(`Operations on ${array.name}`, ["Kind", "Line", "Operation", "Records", "Runs by blocks"], rows));
}

function showPlane() {
  const { array, mode } = state;
  if (!array) {
    for (const layer of Object.values(layers)) layer.set(null);
    return;
  }
  const choices = [["accesses", "Accesses"], ["coverage", "Coverage"], ["values", "Values", !array.has_values]];
  const times = [["before", "Before"], ["after", "After"]];
  keepFocus(ui.modes, radios("Show", "mode", choices, mode, (value) => update({ mode: value })));
  keepFocus(ui.times, mode === "values" ? radios("When", "when", times, state.when, (value) => update({ when: value })) : "");
  showAxes();
  const { rows, cols } = planeShape();
  grid.setGrid(rows, cols);
  const params = planeParams();
  layers.plane.set(mode === "accesses" ? params : null, grid);
  layers.line.set(mode === "accesses" && state.line ? { ...params, line: `${state.line.file}:${state.line.line}` } : null, grid);
  layers.coverage.set(mode === "coverage" ? params : null, grid);
  layers.values.set(mode === "values" ? { ...params, when: state.when } : null, grid);
  showLegend();
}

/** When each element is first touched is asked for once the slider is used. */
function showTimes() {
  if (!state.array) return;
  layers.times.set(state.time < state.launch.records ? planeParams() : null, grid);
  grid.redraw();
}

/** Replace radio buttons; the one that is being used keeps the focus. */
function keepFocus(place, node) {
  const value = place.contains(document.activeElement) ? document.activeElement.value : null;
  place.replaceChildren(node);
  if (value !== null) [...place.querySelectorAll("input")].find((input) => input.value === value)?.focus();
}

function zoomButtons() {
  const button = (words, label, act) => el("button", { type: "button", "aria-label": label, on: { click: act } }, words);
  return el("span", { role: "group", "aria-label": "Zoom", class: "zoom" },
    button("−", "Zoom out", () => grid.zoom(1 / 1.5)), button("+", "Zoom in", () => grid.zoom(1.5)),
    button("Fit", "Show the whole array", () => grid.fit()));
}

function showAxes() {
  const { array } = state;
  const rank = array.shape.length;
  const axisNames = array.shape.map((n, axis) => `axis ${axis} (${text(n)})`);
  const select = (label, chosen, act) => el("label", {}, label, el("select", {
    on: { change: (event) => act(Number(event.target.value)) },
  }, axisNames.map((words, axis) => el("option", { value: axis, selected: axis === chosen }, words))));
  const nodes = [];
  if (rank === 1 && array.shape[0] > 1) {
    nodes.push(el("label", {}, "Elements a row", el("input", {
      type: "number", min: 1, max: array.shape[0], value: state.wrap,
      on: { change: (event) => update({ wrap: Math.min(Math.max(1, Math.floor(Number(event.target.value)) || 1), array.shape[0]) }) },
    })));
  }
  if (rank > 1) {
    nodes.push(
      select("Rows", state.rows, (axis) => update({ rows: axis, cols: axis === state.cols ? state.rows : state.cols })),
      select("Columns", state.cols, (axis) => update({ cols: axis, rows: axis === state.rows ? state.cols : state.rows })));
  }
  array.shape.forEach((n, axis) => {
    if (rank < 3 || axis === state.rows || axis === state.cols) return;
    nodes.push(el("label", {}, `Axis ${axis} at`, el("input", {
      type: "number", min: 0, max: n - 1, value: state.fixed[axis],
      on: { change: (event) => {
        const fixed = [...state.fixed];
        fixed[axis] = Math.min(Math.max(0, Math.floor(Number(event.target.value)) || 0), n - 1);
        update({ fixed });
      } },
    }), el("span", { class: "soft" }, `of ${text(n)}`)));
  });
  // The field that is being used keeps the focus.
  const shown = JSON.stringify([array.number, state.rows, state.cols, state.fixed, state.wrap]);
  if (ui.axes.dataset.shown !== shown) {
    const at = [...ui.axes.querySelectorAll("input, select")].indexOf(document.activeElement);
    ui.axes.replaceChildren(...nodes);
    if (at >= 0) ui.axes.querySelectorAll("input, select")[at]?.focus();
    ui.axes.dataset.shown = shown;
  }
}

function showLegend() {
  const { mode } = state;
  const key = (name, words) => el("span", { class: "key" }, el("i", { class: `swatch ${name}` }), words);
  ui.histogram.hidden = mode !== "values";
  const nodes = [];
  if (mode === "accesses") {
    for (const [kind, words] of Object.entries(WORDS)) {
      if (!state.array.accesses.some((a) => a.kind === kind)) continue;
      nodes.push(el("label", {}, el("input", {
        type: "checkbox", checked: state.kinds[kind], "data-kind": kind,
        on: { change: (event) => update({ kinds: { ...state.kinds, [kind]: event.target.checked } }) },
      }), el("i", { class: `swatch ${kind}` }), words));
    }
    if (nodes.length > 1) nodes.push(key("both", "in several ways"));
    if (state.line && layers.line.whole && !Object.keys(layers.line.whole.most).length) {
      nodes.push(el("strong", {}, `Line ${state.line.line} does not touch ${state.array.name}${state.array.shape.length > 2 ? " in this slice" : ""}.`));
    }
    nodes.push(key("rest", "not touched"), el("span", { class: "soft" }, "stronger: more often"));
  } else if (mode === "coverage" && layers.coverage.whole) {
    const { covers, never, once, several, has_updates: updates } = layers.coverage.whole;
    nodes.push(el("strong", {}, covers === "read" ? "Nothing writes it. Read:" : "Written:"),
      key("never", `never ${text(never)}`), key("once", `by one block${updates ? " or updated" : ""} ${text(once)}`), key("several", `by several ${text(several)}`));
  } else if (mode === "values" && layers.values.whole) {
    const { low, high, nan, infinite } = layers.values.whole;
    nodes.push(el("span", { class: "code" }, number(low)), el("i", { class: "ramp" }), el("span", { class: "code" }, number(high)));
    if (nan + infinite) nodes.push(key("nan", `NaN ${text(nan)}, infinite ${text(infinite)}`));
    if (!isExact(layers.values.whole)) nodes.push(el("span", { class: "soft" }, "each cell: the mean of several elements"));
    ui.histogram.replaceChildren(histogram(layers.values.whole.histogram, state.array.name));
  }
  const focused = ui.legend.contains(document.activeElement) ? document.activeElement.dataset.kind : null;
  ui.legend.replaceChildren(...nodes);
  const ramp = ui.legend.querySelector(".ramp");
  if (ramp) ramp.style.background = valueGradient();
  if (focused) ui.legend.querySelector(`[data-kind="${focused}"]`)?.focus();
}

export const number = (value) => (value === null ? "none" : Number(value.toPrecision(6)).toString());

function draw(context) {
  if (!state.array) return;
  const { mode } = state;
  const theme = document.documentElement.dataset.theme;
  if (mode === "values") {
    const whole = layers.values.whole;
    if (whole) layers.values.draw(context, grid, paintValues(theme, whole.low, whole.high));
  } else if (mode === "coverage") {
    layers.coverage.draw(context, grid, paintCoverage(theme));
  } else {
    const most = layers.plane.whole?.most ?? {};
    layers.plane.draw(context, grid, paintAccesses(theme, most, { dim: Boolean(state.line) || lit.length > 0 || shownNow().length > 0 }));
    if (state.line) layers.line.draw(context, grid, paintAccesses(theme, most, { bare: true }), false);
  }
  if (mode !== "values" && state.time < state.launch.records) layers.times.draw(context, grid, paintLater(theme, state.time), false);
  clearRest(context);
  drawLines(context);
  if (mode === "accesses") drawCuts(context);
  if (mode === "values") drawNumbers(context);
  const strength = mode === "accesses" ? 0.85 : 0.45;
  drawTouches(context, shownNow(), 1.5, strength);
  drawTouches(context, lit, 1.5, strength);
  drawFindings(context);
}

const shownNow = () => (state.time < state.launch.records ? current : []);

/** The last row of an array in rows may end early. */
function clearRest(context) {
  const { shape } = state.array;
  const { rows, cols } = planeShape();
  if (shape.length !== 1 || shape[0] === rows * cols) return;
  context.clearRect(...grid.rect([rows - 1, shape[0] - (rows - 1) * cols, rows, cols]));
}

function drawLines(context) {
  if (Math.min(grid.sx, grid.sy) < 7) return;
  const [r0, c0, r1, c1] = grid.window();
  context.strokeStyle = getComputedStyle(ui.canvas).getPropertyValue("--line-grid");
  context.lineWidth = 1;
  context.beginPath();
  for (let r = r0; r <= r1; r += 1) { const y = Math.round((r - grid.y) * grid.sy) + 0.5; context.moveTo((c0 - grid.x) * grid.sx, y); context.lineTo((c1 - grid.x) * grid.sx, y); }
  for (let c = c0; c <= c1; c += 1) { const x = Math.round((c - grid.x) * grid.sx) + 0.5; context.moveTo(x, (r0 - grid.y) * grid.sy); context.lineTo(x, (r1 - grid.y) * grid.sy); }
  context.stroke();
}

/** Places from the first to the last that is seen; evenly spaced ones come as {first, step, count}. */
function within(places, [low, high], least) {
  if (Array.isArray(places)) return places.filter((at) => at >= low && at <= high);
  const { first, step, count } = places;
  if (step < least) return [];
  const found = [];
  for (let n = Math.max(0, Math.ceil((low - first) / step)); n < count && first + n * step <= high && found.length < MOST_CUTS; n += 1) found.push(first + n * step);
  return found;
}

/** Edges of tiles, where they are far enough apart to be told apart. */
function drawCuts(context) {
  const { shape } = state.array;
  const along = (axis, seen, pixels) => {
    const found = within(cuts[axis] ?? [], seen, CUT_PX / pixels);
    return found.length > 1 && (found[found.length - 1] - found[0]) * pixels < CUT_PX * (found.length - 1) ? [] : found;
  };
  const [r0, c0, r1, c1] = grid.window();
  context.strokeStyle = getComputedStyle(ui.canvas).getPropertyValue("--cut");
  context.lineWidth = 1;
  context.beginPath();
  const line = (ra, ca, rb, cb) => {
    const [x, y, w, h] = grid.rect([ra, ca, rb, cb]);
    context.moveTo(Math.round(x) + 0.5, Math.round(y) + 0.5);
    context.lineTo(Math.round(x + w) + 0.5, Math.round(y + h) + 0.5);
  };
  if (shape.length === 1) {
    const { wrap } = state;
    const found = cuts[0] ?? [];
    const [low, high] = [r0 * wrap, r1 * wrap];
    const rowsOnly = within(found, [low, high], 1).every((at) => at % wrap === 0 || at === shape[0]);
    for (const at of rowsOnly ? along(0, [low, high], grid.sy / wrap) : along(0, [low, high], grid.sx)) {
      const r = Math.floor(at / wrap);
      if (at % wrap) line(r, at % wrap, r + 1, at % wrap);
      else line(r, 0, r, wrap);
    }
  } else if (shape.length > 1) {
    for (const at of along(state.rows, [r0, r1], grid.sy)) line(at, c0, at, c1);
    for (const at of along(state.cols, [c0, c1], grid.sx)) line(r0, at, r1, at);
  }
  context.stroke();
}

function drawNumbers(context) {
  if (grid.sx < 38 || grid.sy < 16) return;
  const [r0, c0, r1, c1] = grid.window();
  context.font = "11px ui-monospace, monospace";
  context.textAlign = "center";
  context.textBaseline = "middle";
  const { low, high } = layers.values.whole ?? {};
  for (let r = r0; r < r1; r += 1) {
    for (let c = c0; c < c1; c += 1) {
      const found = layers.values.at(r, c);
      if (!found || !isExact(found[0]) || found[0].odd[found[1]] === 2) continue;
      const value = found[0].mean[found[1]];
      context.fillStyle = found[0].odd[found[1]] || (value - low) / (high - low || 1) < 0.5 ? "#ffffff" : "#14181c";
      const [x, y, w, h] = grid.rect([r, c, r + 1, c + 1]);
      context.fillText(Number.isFinite(value) ? Number(value.toPrecision(3)).toString() : String(value), x + w / 2, y + h / 2, w - 4);
    }
  }
}

function drawTouches(context, touches, width, strength) {
  for (const { kind, box, lanes } of touches) {
    if (!state.kinds[kind]) continue;
    const base = color(kind);
    context.fillStyle = rgb(base, strength);
    context.strokeStyle = rgb(mix(base, color("text"), 0.55));
    context.lineWidth = width;
    const rects = lanes ? [...lanes].map(placeOf).filter(Boolean).map(([r, c]) => [r, c, r + 1, c + 1]) : boxRects(box);
    for (const cells of rects) {
      const [x, y, w, h] = grid.rect(cells);
      if (x > grid.width || y > grid.height || x + w < 0 || y + h < 0) continue;
      const grow = Math.max(0, (3 - Math.min(w, h)) / 2);
      context.fillRect(x - grow, y - grow, w + 2 * grow, h + 2 * grow);
      if (Math.min(w, h) > 4) context.strokeRect(x + 0.75, y + 0.75, w - 1.5, h - 1.5);
    }
  }
}

function drawFindings(context) {
  for (const finding of state.launch.findings) {
    if (finding.array !== state.array.name || !finding.index) continue;
    const place = finding.index.length === state.array.shape.length ? placeOfIndex(finding.index) : null;
    if (!place) continue;
    const [x, y, w, h] = grid.rect([place[0], place[1], place[0] + 1, place[1] + 1]);
    const [cx, cy, radius] = [x + w / 2, y + h / 2, Math.max(6, Math.min(w, h) / 2)];
    for (const [width, tone] of [[4, color("panel")], [2, color(finding.severity === "error" ? "error" : "warning")]]) {
      context.lineWidth = width;
      context.strokeStyle = rgb(tone);
      context.beginPath();
      context.arc(cx, cy, radius, 0, 2 * Math.PI);
      context.moveTo(cx - radius - 4, cy); context.lineTo(cx - radius + 2, cy);
      context.moveTo(cx + radius - 2, cy); context.lineTo(cx + radius + 4, cy);
      context.stroke();
    }
  }
}

function hover(cell) {
  const index = cell && state.array && indexAt(...cell);
  tell(cell);
  if (index) announce(ui.readout.textContent);
  update({ element: index });
}

function tell(cell) {
  const index = cell && state.array && indexAt(...cell);
  ui.readout.textContent = index ? describe(cell, index) : "";
}

function describe([r, c], index) {
  const words = [`${state.array.name}[${index.join(", ")}]`];
  const { mode } = state;
  if (mode === "values") {
    const found = layers.values.at(r, c);
    if (found) {
      const [part, i] = found;
      const mean = isExact(part) ? "" : "mean of its cell ";
      words.push(part.odd[i] === 2 ? "no value" : `${mean}${part.odd[i] ? part.words[part.odd[i]] ?? "NaN" : number(part.mean[i])}`);
    }
  } else if (mode === "coverage") {
    const found = layers.coverage.at(r, c);
    if (found) words.push(coverageWords(found[0], found[1]));
  } else {
    const found = layers.plane.at(r, c);
    if (found) {
      const [part, i] = found;
      const around = isExact(part) ? "" : " on average of its cell";
      for (const [kind, verb] of Object.entries(WORDS)) {
        if (part[kind]) words.push(`${verb} ${isExact(part) ? short(part[kind][i]) : part[kind][i].toPrecision(3)}×${around}`);
      }
    }
  }
  return words.join("   ");
}

function coverageWords(part, i) {
  const verb = part.covers === "read" ? "read" : "written";
  const bits = part.coverage[i];
  const one = `by one block${part.has_updates ? " or updated" : ""}`;
  if (isExact(part)) return bits & 4 ? `${verb} by several blocks` : bits & 2 ? `${verb} ${one}` : `never ${verb}`;
  const found = [bits & 1 && `some never ${verb}`, bits & 2 && `some ${one}`, bits & 4 && "some by several"];
  return `in its cell ${found.filter(Boolean).join(", ")}`;
}

function pick(cell) {
  update({ element: indexAt(...cell) });
}

async function fetchLit() {
  const block = litBlock();
  const { launch, array } = state;
  if (!block || !array) { lit = []; grid.redraw(); return; }
  try {
    const answer = await ask("block", { launch: launch.number, block: block.join(",") });
    if (String(litBlock()) !== String(block) || state.array !== array) return;
    lit = answer ? answer.touches.filter((t) => t.array === array.number) : [];
    showSlice(block);
    if (state.hovered) announce(`Block ${blockName(block, launch.grid)}: ${lit.length} accesses to ${array.name}`);
  } catch (error) {
    lit = [];
    ui.readout.textContent = error.message;
  }
  grid.redraw();
}

/** Tiles of a block that is chosen come into sight; of one that is pointed at it is said where they are. */
function showSlice(block) {
  const { array } = state;
  if (array.shape.length < 3 || !lit.length || lit.some((t) => boxRects(t.box).length)) return;
  const fixed = array.shape.map((_, axis) => (axis === state.rows || axis === state.cols ? state.fixed[axis] : lit[0].box[axis][0]));
  if (String(state.block) === String(block)) update({ fixed });
  else ui.readout.textContent = `Tiles of block ${blockName(block, state.launch.grid)} lie at [${fixed.map((at, axis) => (axis === state.rows || axis === state.cols ? ":" : at)).join(", ")}]`;
}

async function fetchCuts() {
  const { launch, array } = state;
  cuts = [];
  if (!array) return;
  try {
    const answer = await ask("cuts", { launch: launch.number, array: array.number });
    if (state.array !== array) return;
    cuts = answer?.cuts ?? [];
  } catch (error) {
    ui.readout.textContent = error.message;
  }
  grid.redraw();
}

async function fetchRecord() {
  const { launch, array, time } = state;
  current = [];
  if (!launch || !array || time >= launch.records) { grid?.redraw(); return; }
  try {
    const answer = await ask("record", { launch: launch.number, record: time });
    if (state.time !== time || state.array !== array) return;
    current = answer ? answer.touches.filter((t) => t.array === array.number) : [];
  } catch (error) {
    ui.readout.textContent = error.message;
  }
  grid.redraw();
}
