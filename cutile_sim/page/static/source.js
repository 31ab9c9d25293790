// The kernel's source with what each line costs; a line that is chosen lights its accesses.

import { announce, bytes, byId, el, percent, short } from "./dom.js";
import { on, state, update } from "./state.js";
import { opAt } from "./time.js";

const AROUND = 3;
let ui;
let rows = new Map();   // "file:line" to its row
let focused = null;     // the row that the tab key reaches
let whole = false;

export function startSource() {
  ui = {
    file: el("select", { "aria-label": "Source file", on: { change: () => showFile(Number(ui.file.value)) } }),
    whole: el("button", { type: "button", "aria-pressed": "false", on: { click: () => {
      whole = !whole;
      ui.whole.setAttribute("aria-pressed", String(whole));
      showFile(Number(ui.file.value));
    } } }, "Whole file"),
    clear: el("button", { type: "button", hidden: true, on: { click: () => update({ line: null }) } }, "All lines"),
  };
  byId("source").querySelector(".head").append(ui.file, ui.whole, ui.clear);
  on(["launch"], showLaunch);
  on(["line"], showChosen);
  on(["time"], showNow);
}

function showLaunch() {
  const { launch } = state;
  const listed = launch.files.map((file, number) => [file, number]).filter(([file]) => file.text !== null || hasCosts(file));
  ui.file.replaceChildren(...listed.map(([file, number]) => el("option", { value: number, title: file.path }, file.name)));
  ui.file.hidden = listed.length < 2;
  const costs = (number) => launch.lines.filter((line) => line.file === number).length;
  const first = listed.sort(([a, i], [b, j]) => (b.text !== null) - (a.text !== null) || costs(j) - costs(i))[0];
  if (first) ui.file.value = String(first[1]);
  showFile(first ? first[1] : -1);
}

const hasCosts = (file) => state.launch.lines.some((line) => state.launch.files[line.file] === file);

function showFile(number) {
  const { launch } = state;
  rows = new Map();
  focused = null;
  const file = launch.files[number];
  if (!file) {
    byId("source-body").replaceChildren(el("p", { class: "empty" }, "The trace names no source: the kernel was compiled without it."));
    ui.whole.hidden = true;
    return;
  }
  const costs = new Map(launch.lines.filter((line) => line.file === number).map((line) => [line.line, line]));
  const marks = new Map();
  for (const finding of launch.findings) {
    if (finding.file === file.path && !(marks.get(finding.line)?.severity === "error")) marks.set(finding.line, finding);
  }
  if (launch.error?.file === file.path) marks.set(launch.error.line, { severity: "error", message: launch.error.message });
  const lines = file.text === null ? null : file.text.split("\n");
  const [first, end] = lines && !whole ? kernelLines(lines, [...costs.keys()]) : [0, lines?.length ?? 0];
  ui.whole.hidden = !lines || (!whole && first === 0 && end === lines.length);
  const shown = lines
    ? lines.slice(first, end).map((words, i) => [first + i + 1, words])
    : [...costs.keys()].sort((a, b) => a - b).map((line) => [line, "(source not in the trace)"]);
  byId("source-body").replaceChildren(el("table", { class: "source", role: "grid", "aria-label": `${file.name}: lines and what they cost` },
    el("thead", {}, el("tr", {}, ["", "Runs", "Bytes", "Flops", "Time", file.name].map((name, i) =>
      el("th", { scope: "col", class: i > 0 && i < 5 ? "number" : "", title: TITLES[i] }, name)))),
    el("tbody", { on: { keydown: onKey } }, shown.map(([line, words]) => sourceRow(number, line, words, costs.get(line), marks.get(line))))));
  const counted = [...rows.values()].filter((row) => row.classList.contains("counts"));
  if (counted.length) reach(counted[0]);
  showChosen();
  showNow();
}

const TITLES = [
  "", "Executions of operations of the line, each block counted", "Bytes loaded and stored", "Floating-point operations",
  "Share of the simulator's time; says nothing of a GPU", "",
];

function sourceRow(file, line, words, cost, mark) {
  const key = `${file}:${line}`;
  const cell = (value) => el("td", { class: "number" }, value);
  const share = el("td", { class: "number share" });
  if (cost?.share > 0) {
    const bar = el("i");
    bar.style.width = `${Math.max(2, 100 * cost.share)}%`;
    share.append(bar, el("span", {}, percent(cost.share)));
  }
  const at = el("td", { class: "at" }, mark ? el("span", { class: `mark ${mark.severity}`, title: mark.message, role: "img", "aria-label": `${mark.severity}: ${mark.message}` }, "● ") : "", String(line));
  const row = el("tr", { class: cost ? "counts" : "", tabindex: cost ? -1 : null, "aria-selected": cost ? "false" : null, "data-line": key,
    on: cost ? { click: () => choose(row, cost) } : {} },
    at, cell(cost ? short(cost.blocks) : ""), cell(cost?.bytes ? bytes(cost.bytes) : ""), cell(cost?.flops ? short(cost.flops) : ""), share,
    el("td", { class: "text" }, words));
  if (cost) row.cost = cost;
  rows.set(key, row);
  return row;
}

/** From the decorators and `def` of the function that the lines are in to shortly after the last of them. */
function kernelLines(lines, counted) {
  if (!counted.length) return [0, lines.length];
  const indent = (words) => words.length - words.trimStart().length;
  let first = Math.min(...counted) - 1;
  const depth = indent(lines[first] ?? "");
  while (first > 0 && !(/^\s*def\s/.test(lines[first]) && indent(lines[first]) < Math.max(depth, 1))) first -= 1;
  while (first > 0 && /^\s*@/.test(lines[first - 1])) first -= 1;
  return [first, Math.min(lines.length, Math.max(...counted) + AROUND)];
}

function choose(row, cost) {
  reach(row);
  const same = state.line && state.line.file === cost.file && state.line.line === cost.line;
  update({ line: same ? null : { file: cost.file, line: cost.line } });
  announce(same ? "All lines" : `Line ${cost.line}: ${short(cost.blocks)} runs, ${bytes(cost.bytes)}`);
}

export function chooseLine(file, line) {
  const row = rows.get(`${file}:${line}`);
  if (row?.cost) {
    update({ line: { file, line } });
    row.scrollIntoView({ block: "nearest" });
  }
}

/** Show a place of the source, by the file's path. */
export function revealLine(path, line) {
  const number = state.launch.files.findIndex((file) => file.path === path);
  if (number < 0) return;
  if (!rows.has(`${number}:${line}`)) {
    ui.file.value = String(number);
    whole = true;
    ui.whole.setAttribute("aria-pressed", "true");
    showFile(number);
  }
  const row = rows.get(`${number}:${line}`);
  row?.scrollIntoView({ block: "center" });
  if (row?.cost) chooseLine(number, line);
}

function reach(row) {
  if (focused) focused.tabIndex = -1;
  focused = row;
  row.tabIndex = 0;
}

function onKey(event) {
  const row = event.target.closest("tr.counts");
  if (!row) return;
  const counted = [...rows.values()].filter((r) => r.classList.contains("counts"));
  const at = counted.indexOf(row);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: counted.length - 1 }[event.key];
  if (to !== undefined) {
    event.preventDefault();
    const next = counted[Math.min(Math.max(to, 0), counted.length - 1)];
    reach(next);
    next.focus();
  } else if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    choose(row, row.cost);
  }
}

function showChosen() {
  const chosen = state.line && `${state.line.file}:${state.line.line}`;
  for (const [key, row] of rows) if (row.cost) row.setAttribute("aria-selected", String(key === chosen));
  ui.clear.hidden = !chosen;
}

function showNow() {
  const op = state.launch && opAt(state.time);
  const now = op?.line ? `${op.line.file}:${op.line.line}` : "";
  for (const [key, row] of rows) row.classList.toggle("now", key === now);
}
