// Bars of how many elements have which value.

import { el, svg, table, text } from "./dom.js";

/** From {edges, counts}: bars, and the same as a table for screen readers. */
export function histogram({ edges, counts }, name) {
  if (!counts.length) return el("p", { class: "soft" }, "There are no finite values.");
  const most = Math.max(...counts, 1);
  const width = 100 / counts.length;
  const show = (v) => Number(v.toPrecision(4)).toString();
  const bars = counts.map((count, i) => {
    const height = count ? Math.max(1, (count / most) * 46) : 0;
    return svg("rect", { x: i * width, y: 46 - height, width: width * 0.92, height },
      svg("title", {}, `${show(edges[i])} to ${show(edges[i + 1])}: ${text(count)}`));
  });
  const rows = counts.map((count, i) => [show(edges[i]), show(edges[i + 1]), count]).filter((row) => row[2]);
  return el("div", {},
    svg("svg", { viewBox: "0 0 100 46", preserveAspectRatio: "none", "aria-hidden": "true" }, bars),
    el("div", { class: "ends", "aria-hidden": "true" }, el("span", {}, show(edges[0])),
      el("span", {}, `most in one bar: ${text(most)}`), el("span", {}, show(edges[edges.length - 1]))),
    el("div", { class: "hidden" }, table(`Values of ${name}`, ["From", "To", "Elements"], rows)));
}
