// Paints the array's canvas: a layer of cells, edges of tiles, what is lit, findings.

import { color, mix, rgb } from "./colors.js";
import { isExact, paintAccesses, paintCoverage, paintLater, paintValues } from "./plane.js";
import { marks, recordMarks } from "./marks.js";
import { boxRects, placeOf, placeOfIndex, planeShape, state } from "./state.js";

const CUT_PX = 5;
const MOST_CUTS = 20000;

/** Paint the array on show; `layers` are its pictures, by name. */
export function drawArray(context, grid, layers) {
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
    layers.plane.draw(context, grid, paintAccesses(theme, most, { dim: Boolean(state.line) || marks.lit.length > 0 || recordMarks().length > 0 }));
    if (state.line) layers.line.draw(context, grid, paintAccesses(theme, most, { bare: true }), false);
  }
  if (mode !== "values" && state.time < state.launch.records) layers.times.draw(context, grid, paintLater(theme, state.time), false);
  clearRest(context, grid);
  grid.lines("--line-grid");
  if (mode === "accesses") drawCuts(context, grid);
  if (mode === "values") drawNumbers(context, grid, layers);
  const strength = { accesses: 0.85, coverage: 0.4, values: 0.08 }[mode];
  drawTouches(context, grid, recordMarks(), 1.5, strength);
  drawTouches(context, grid, marks.lit, 1.5, strength);
  drawFindings(context, grid);
}

/** The last row of an array in rows may end early. */
function clearRest(context, grid) {
  const { shape } = state.array;
  const { rows, cols } = planeShape();
  if (shape.length !== 1 || shape[0] === rows * cols) return;
  context.clearRect(...grid.rect([rows - 1, shape[0] - (rows - 1) * cols, rows, cols]));
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
function drawCuts(context, grid) {
  const { shape } = state.array;
  const along = (axis, seen, pixels) => {
    const found = within(marks.cuts[axis] ?? [], seen, CUT_PX / pixels);
    return found.length > 1 && (found[found.length - 1] - found[0]) * pixels < CUT_PX * (found.length - 1) ? [] : found;
  };
  const [r0, c0, r1, c1] = grid.window();
  context.strokeStyle = getComputedStyle(grid.canvas).getPropertyValue("--cut");
  context.lineWidth = 1;
  context.beginPath();
  const line = (ra, ca, rb, cb) => {
    const [x, y, w, h] = grid.rect([ra, ca, rb, cb]);
    context.moveTo(Math.round(x) + 0.5, Math.round(y) + 0.5);
    context.lineTo(Math.round(x + w) + 0.5, Math.round(y + h) + 0.5);
  };
  if (shape.length === 1) {
    const { wrap } = state;
    const found = marks.cuts[0] ?? [];
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

function drawNumbers(context, grid, layers) {
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

function drawTouches(context, grid, touches, width, strength) {
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

function drawFindings(context, grid) {
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
