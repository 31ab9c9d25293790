// The array panel: which array, which axes, what is shown of it, and what is under the pointer.

import { announce, byId, el, radios, short, table, text } from "./dom.js";
import { forgetColors, valueGradient } from "./colors.js";
import { GridCanvas } from "./grid.js";
import { Layer, isExact, planeParams } from "./plane.js";
import { drawArray } from "./paint.js";
import { startMarks } from "./marks.js";
import { isFile } from "./store.js";
import { indexAt, on, planeShape, state, update } from "./state.js";
import { histogram } from "./histogram.js";

const MOST_RADIOS = 10;
const WORDS = { load: "loaded", store: "stored", atomic: "updated" };
let grid;
let ui;
let layers;

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
    draw: (context) => drawArray(context, grid, layers), hover, pick: hover,
    moved: () => { for (const layer of Object.values(layers)) layer.moved(grid); },
  });
  on(["array"], showArray);
  on(["array", "mode", "rows", "cols", "fixed", "wrap", "line", "when"], showPlane);
  on(["kinds"], () => grid.redraw());
  on(["time", "array", "rows", "cols", "fixed", "wrap"], showTimes);
  startMarks(() => grid.redraw(), (words) => { ui.readout.textContent = words; });
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
    when: array.has_contents ? state.when : "time",
  });
}

/** Operations of the chosen line that touch arrays. */
const lineOps = () => state.launch.ops.filter((op) => op.arrays.length && op.chain.some((at) => at.file === state.line.file && at.line === state.line.line));

/** A line that does not touch the array on show brings one that it does. */
function followLine() {
  const { line, array } = state;
  if (!line || !array) return;
  const ops = lineOps();
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
  const names = launch.arrays.map((a) => [a.number, a.name]);
  keepFocus(ui.names, names.length > MOST_RADIOS ? selection(names) : radios("Array", "array", names, array.number, chooseArray));
  ui.type.textContent = `${array.dtype} ${array.shape.map(text).join(" × ")}`;
  const memory = array.is_argument ? "" : ", memory of the kernel's own";
  const shape = array.shape.length ? array.shape.map(text).join(" × ") : "one element";
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
  const times = [["before", "Before", !array.has_contents], ["after", "After", !array.has_contents], ["time", "At the slider", !state.launch.has_tiles || (isFile() && array.has_contents)]];
  keepFocus(ui.modes, radios("Show", "mode", choices, mode, (value) => update({ mode: value })));
  keepFocus(ui.times, mode === "values" ? radios("When", "when", times, state.when, (value) => update({ when: value })) : "");
  showAxes();
  const { rows, cols } = planeShape();
  grid.setGrid(rows, cols);
  const params = planeParams();
  layers.plane.set(mode === "accesses" ? params : null, grid);
  layers.line.set(mode === "accesses" && state.line ? { ...params, line: `${state.line.file}:${state.line.line}` } : null, grid);
  layers.coverage.set(mode === "coverage" ? params : null, grid);
  layers.values.set(mode === "values" ? { ...params, when: valuesWhen() } : null, grid);
  showLegend();
}

/** Contents are asked for by "before", "after", or the number of a record. */
const valuesWhen = () => (state.when === "time" ? Math.max(0, Math.min(state.time, state.launch.records - 1)) : state.when);

/** When each element is first touched is asked for once the slider is used. */
function showTimes() {
  if (!state.array) return;
  if (state.mode === "values" && state.when === "time") layers.values.set({ ...planeParams(), when: valuesWhen() }, grid);
  layers.times.set(state.time < state.launch.records ? planeParams() : null, grid);
  grid.redraw();
}

const selection = (names) => el("select", { "aria-label": "Array", on: { change: (event) => chooseArray(Number(event.target.value)) } },
  names.map(([value, words]) => el("option", { value, selected: value === state.array.number }, words)));

/** Replace radio buttons; the one that is being used keeps the focus. */
function keepFocus(place, node) {
  const value = place.contains(document.activeElement) ? document.activeElement.value : null;
  place.replaceChildren(node);
  if (value !== null) [...place.querySelectorAll("input, select")].find((input) => input.value === value)?.focus();
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
      nodes.push(el("strong", {}, `Line ${state.line.line} ${lineOps().length ? `does not touch ${state.array.name}${state.array.shape.length > 2 ? " in this slice" : ""}` : "touches no array"}.`));
    }
    nodes.push(key("rest", "not touched"), el("span", { class: "soft" }, "stronger: more often"));
  } else if (mode === "coverage" && layers.coverage.whole) {
    const { covers, never, once, several, has_updates: updates } = layers.coverage.whole;
    nodes.push(el("strong", {}, covers === "read" ? "Nothing writes it. Read:" : "Written:"),
      key("never", `never ${text(never)}`), key("once", `by one block${updates ? " or updated" : ""} ${text(once)}`), key("several", `by several ${text(several)}`));
  } else if (mode === "values" && layers.values.whole) {
    const { low, high, nan, infinite } = layers.values.whole;
    if (low !== null) nodes.push(el("span", { class: "code" }, number(low)), el("i", { class: "ramp" }), el("span", { class: "code" }, number(high)));
    if (nan + infinite) nodes.push(key("nan", `NaN ${text(nan)}, infinite ${text(infinite)}`));
    if (layers.values.whole.known < 1) nodes.push(key("rest", "not known"));
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
      words.push(part.odd[i] === 2 ? "not known" : `${mean}${part.odd[i] ? part.words[part.odd[i]] ?? "NaN" : number(part.mean[i])}`);
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
