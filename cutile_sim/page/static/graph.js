// The graph of operations: which makes what the other takes. Places come with the answer.

import { el, svg, table } from "./dom.js";
import { on, state, update } from "./state.js";
import { chooseLine } from "./source.js";

let nodes = new Map();   // op number to its SVG group
let order = [];

on(["line"], markChosen);

export function drawGraph(panel, graph, all, onAll) {
  nodes = new Map();
  order = [];
  const arrow = svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" },
    svg("path", { d: "M0 0 L8 4 L0 8 z" }));
  const edges = graph.edges.map((edge) => svg("path", { d: curve(edge.points), class: edge.token ? "control" : "", "marker-end": "url(#arrow)" },
    svg("title", {}, edge.operand)));
  const boxes = graph.nodes.map((n) => [n.inside, node(n)]);
  // What is around others lies below the edges.
  const picture = svg("svg", {
    class: "graph", width: graph.width, height: graph.height, viewBox: `0 0 ${graph.width} ${graph.height}`, role: "group",
    "aria-label": "Data flow of the kernel's operations: arrow keys go along it, Enter chooses the line", on: { keydown: onKey },
  }, svg("defs", {}, arrow), boxes.filter(([inside]) => inside).map(([, box]) => box), edges, boxes.filter(([inside]) => !inside).map(([, box]) => box));
  const labels = new Map(graph.nodes.map((n) => [n.id, n.label]));
  const rows = graph.nodes.map((n) => [n.label, n.sub, n.line ? n.line.line : "",
    graph.edges.filter((e) => e.to === n.id).map((e) => `${e.operand}: ${labels.get(e.from)}`).join(", ")]);
  const cut = graph.left_out ? el("p", { class: "pad soft" }, `${graph.left_out} operations of this large kernel are left out.`) : "";
  panel.replaceChildren(
    el("div", { class: "tools" }, el("label", { class: "toggle" }, el("input", { type: "checkbox", id: "graph-all", checked: all, on: { change: (event) => onAll(event.target.checked) } }),
      "constants, assumptions and views, too"),
    el("span", { class: "soft" }, "Dashed: order of memory accesses.")), cut, el("div", { class: "graph-box" }, picture),
    el("details", { class: "table" }, el("summary", {}, "Data flow as a table"),
      el("div", {}, table("Operations and what they take", ["Operation", "Type", "Line", "Takes"], rows))));
  if (order.length) order[0].tabIndex = 0;
  markChosen();
}

function node(n) {
  const lines = [svg("text", n.inside ? { x: n.x + 8, y: n.y + 15 } : { x: n.x + n.w / 2, y: n.y + 14, "text-anchor": "middle" }, n.label),
    n.inside ? null : svg("text", { x: n.x + n.w / 2, y: n.y + 27, "text-anchor": "middle", class: "sub" }, n.sub)];
  const words = `${n.label} ${n.sub}${n.line ? `, line ${n.line.line}` : ""}`;
  const group = svg("g", {
    class: `node ${n.kind}${n.inside ? " around" : ""}`, tabindex: -1, role: "button", "aria-label": words,
    on: { click: () => choose(n), keydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(n); } } },
  }, svg("title", {}, words), svg("rect", { x: n.x, y: n.y, width: n.w, height: n.h, rx: 3 }), lines);
  group.line = n.line;
  nodes.set(n.id, group);
  order.push(group);
  return group;
}

function choose(n) {
  if (!n.line) return;
  chooseLine(n.line.file, n.line.line);
  update({ line: { file: n.line.file, line: n.line.line } });
}

function onKey(event) {
  const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
  const at = order.indexOf(document.activeElement);
  if (!by || at < 0) return;
  event.preventDefault();
  const next = order[Math.min(Math.max(at + by, 0), order.length - 1)];
  order[at].tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

function markChosen() {
  for (const group of nodes.values()) {
    const same = state.line && group.line && group.line.file === state.line.file && group.line.line === state.line.line;
    group.classList.toggle("chosen", Boolean(same));
  }
}

function curve([[x0, y0], [x1, y1]]) {
  const bend = Math.max(10, Math.min(60, Math.abs(y1 - y0) / 2));
  return `M${x0} ${y0} C${x0} ${y0 + bend} ${x1} ${y1 - bend} ${x1} ${y1}`;
}
