// Reports: the summary, findings, printed text, and the graph of operations.

import { announce, blockName, byId, bytes, el, percent, short, table, tabs, text } from "./dom.js";
import { ask } from "./store.js";
import { on, placeOfIndex, state, update } from "./state.js";
import { chooseArray, arrayGrid } from "./arrays.js";
import { revealLine } from "./source.js";
import { facts } from "./details.js";
import { drawGraph } from "./graph.js";

let ui;
let gpu = null;
let shown = "summary";
let shownAll = false;

export function startNotes() {
  ui = tabs("Reports", [["summary", "Summary"], ["findings", "Findings"], ["graph", "Data flow"], ["printed", "Printed"]], (id) => {
    shown = id;
    if (id === "graph") showGraph(shownAll);
  });
  byId("notes").querySelector(".head").append(ui.list);
  byId("notes-body").append(...ui.panels.values());
  ui.show("summary");
  on(["launch"], () => {
    ui.panels.get("graph").replaceChildren();
    showSummary();
    showFindings();
    showPrinted();
    shownAll = false;
    if (shown === "graph") showGraph();
  });
}

async function showSummary() {
  const { launch } = state;
  const panel = ui.panels.get("summary");
  const params = { launch: launch.number };
  if (gpu) params.gpu = gpu;
  let found;
  if (!panel.childElementCount || panel.dataset.launch !== String(launch.number)) panel.replaceChildren(el("p", { class: "empty" }, "Counting…"));
  panel.dataset.launch = launch.number;
  try {
    found = await ask("summary", params);
  } catch (error) {
    panel.replaceChildren(el("p", { class: "empty" }, error.message));
    return;
  }
  if (state.launch !== launch) return;
  if (!found) { panel.replaceChildren(el("p", { class: "empty" }, "The summary is not in this file.")); return; }
  const choose = el("label", {}, "GPU ", el("select", { id: "gpu", on: { change: (event) => { gpu = event.target.value; showSummary(); } } },
    found.gpus.map((name) => el("option", { value: name, selected: name === found.gpu }, name))));
  const focused = document.activeElement?.id === "gpu";
  const place = (entry) => (entry.line ? `${entry.line}` : "");
  const idle = found.waste.filter((w) => w.idle_lanes > 0);
  panel.replaceChildren(
    el("dl", { class: "facts" }, ...facts([
      ["Blocks", text(found.blocks)], ["Operations", `${short(found.operations)}, each block counted`],
      ["Moved", `${bytes(found.bytes_loaded)} loaded, ${bytes(found.bytes_stored)} stored`],
      ["Floating point", `${short(found.flops)} operations`],
      ["Intensity", `${rate(found.intensity)} operations a byte moved; ${rate(found.distinct_intensity)} a distinct byte`],
      ["Simulated in", launch.seconds === null ? null : `${launch.seconds.toPrecision(3)} s; says nothing of a GPU`],
      ["Note", found.is_partial ? "The trace leaves out some blocks, lines, kinds or arrays; what follows is of the rest." : null],
    ])),
    found.arrays.length ? table("Arrays of the launch", ["Array", "Type", "Loaded", "distinct", "Reuse", "Written", "distinct"],
      found.arrays.map((a) => [a.array, el("span", { class: "number" }, `${a.dtype} ${a.shape.join("×")}`), size(a.loaded_bytes), size(a.distinct_loaded_bytes),
        a.reuse ? `${rate(a.reuse)}×` : "", size(a.stored_bytes + a.updated_bytes), size(a.distinct_written_bytes)])) : "",
    el("h3", { class: "pad" }, "Lanes of tiles that touch nothing"),
    idle.length ? table("Idle lanes", ["Line", "Kind", "Tile", "Idle lanes", "Share"],
      idle.map((w) => [place(w), w.kind, w.tile.join("×"), w.idle_lanes, percent(w.share)]))
      : el("p", { class: "pad soft" }, "None: every lane of every tile lies in its array."),
    el("h3", { class: "pad" }, "What may use TMA"),
    table("What may use TMA", ["Line", "Kind", "Array", "May", "Why not"],
      found.tma.map((t) => [place(t), launch.ops[t.op].kind, t.array, t.may ? "yes" : "no", t.reasons.join("; ")])),
    el("h3", { class: "pad" }, "Estimate for a GPU"), el("div", { class: "tools" }, choose), estimate(found.roofline));
  if (focused) byId("gpu").focus();
}

const rate = (value) => (value >= 100 ? text(Math.round(value)) : Number(value.toPrecision(3)).toString());
const size = (value) => el("span", { class: "number" }, value ? bytes(value) : "");

function estimate(r) {
  const time = (s) => (s === 0 ? "no time" : s < 1e-6 ? `${(s * 1e9).toPrecision(3)} ns` : s >= 1 ? `${s.toPrecision(3)} s` : s >= 1e-3 ? `${(s * 1e3).toPrecision(3)} ms` : `${(s * 1e6).toPrecision(3)} µs`);
  return el("div", {},
    el("dl", { class: "facts" }, ...facts([
      ["At least", `${time(r.at_least_s)}, limited by ${{ memory: "memory", matrix: "matrix products", vector: "other arithmetic" }[r.bound]}`],
      ["Memory", `${time(r.memory_s)} for each distinct byte once; ${time(r.uncached_s)} if no cache helped`],
      ["Arithmetic", `${time(r.matrix_s)} for matrix products, ${time(r.vector_s)} for the rest`],
      ["Ridge", r.ridge_flops_per_byte ? `${rate(r.ridge_flops_per_byte)} operations a byte` : null],
    ])),
    el("p", { class: "pad soft" }, `An estimate from published peak rates (${r.source}) and what was counted here; nothing was timed on a GPU.`));
}

function showFindings() {
  const { launch } = state;
  const panel = ui.panels.get("findings");
  const { findings, error } = launch;
  const nodes = [];
  if (error) nodes.push(finding(error, "The launch stopped"));
  nodes.push(...findings.map((f) => finding(f, f.id)));
  ui.words("findings", `Findings ${nodes.length ? `(${nodes.length})` : ""}`);
  if (!nodes.length) {
    nodes.push(el("p", { class: "empty" }, launch.sanitized
      ? "The sanitizer found nothing." : "There are none in the trace. Record with sanitize=True, or cutile-sim trace --sanitize, to look for mistakes."));
  }
  panel.replaceChildren(...nodes);
}

function finding(f, id) {
  const where = [f.file && `${f.file.split(/[\\/]/).pop()}:${f.line}`, f.block && `block ${blockName(f.block, state.launch.grid)}`,
    f.array && `${f.array}${f.index ? `[${f.index.join(", ")}]` : ""}`, f.count > 1 && `${text(f.count)} times`];
  return el("button", { type: "button", class: "finding", on: { click: () => showFinding(f) } },
    el("span", { class: `mark ${f.severity}` }, `● ${f.severity} `), el("code", {}, id), ` ${f.message}`,
    el("br"), el("span", { class: "soft code" }, where.filter(Boolean).join("   ")));
}

function showFinding(f) {
  if (f.file) revealLine(f.file, f.line);
  const array = state.launch.arrays.find((a) => a.name === f.array);
  if (array) {
    chooseArray(array.number);
    if (f.index?.length === array.shape.length) showElementAt(array, f.index);
  }
  if (f.block) update({ block: f.block });
  announce(f.message);
}

function showElementAt(array, index) {
  const inside = index.map((at, axis) => Math.min(Math.max(at, 0), Math.max(array.shape[axis] - 1, 0)));
  update({ fixed: inside });
  const place = placeOfIndex(inside);
  if (place) arrayGrid().moveTo(place);
}

function showPrinted() {
  const { launch } = state;
  const panel = ui.panels.get("printed");
  const lines = launch.printed ? launch.printed.trimEnd().split("\n").length : 0;
  ui.words("printed", `Printed${lines ? ` (${short(lines)})` : ""}`);
  panel.replaceChildren(launch.printed ? el("pre", {}, launch.printed) : el("p", { class: "empty" }, "The kernel printed nothing."),
    launch.printed_cut ? el("p", { class: "pad soft" }, "The rest is left out here.") : "");
}

async function showGraph(all = false) {
  const panel = ui.panels.get("graph");
  const { launch } = state;
  if (!launch || (panel.childElementCount && all === shownAll)) return;
  const params = { launch: launch.number };
  if (all) params.all = 1;
  try {
    const found = await ask("graph", params);
    if (state.launch !== launch || !found) return;
    const focused = document.activeElement?.id === "graph-all";
    shownAll = all;
    drawGraph(panel, found, all, showGraph);
    if (focused) byId("graph-all").focus();
  } catch (error) {
    panel.replaceChildren(el("p", { class: "empty" }, error.message));
  }
}
