// What an array's plane looks like: counts, coverage or values of its cells, fetched as finely as they can be seen.

import { ask } from "./store.js";
import { color, image, mix, pixel, ramp, valueRamp } from "./colors.js";
import { state } from "./state.js";

const KINDS = ["load", "store", "atomic"];
const ASK_AFTER_MS = 70;
const ALIGNED_CELLS = 64;

/** Parameters that say which plane of which array is meant. */
export function planeParams() {
  const array = state.array;
  const params = { launch: state.launch.number, array: array.number };
  if (array.shape.length === 1) params.wrap = state.wrap;
  if (array.shape.length > 1) {
    params.rows = state.rows;
    params.cols = state.cols;
    if (array.shape.length > 2) params.fixed = state.fixed.join(",");
  }
  return params;
}

/** Which of `cells` parts of `size` elements holds an element. */
const cellOf = (element, size, cells) => Math.floor(((element + 1) * cells - 1) / size);

/** Whether every cell of an answer is one element. */
export const isExact = ({ window: [r0, c0, r1, c1], shape: [h, w] }) => h === r1 - r0 && w === c1 - c0;

/** One kind of picture of a plane: as a whole, and closer where that is not fine enough. */
export class Layer {
  constructor(name, changed) {
    this.name = name;
    this.changed = changed;
    this.whole = this.close = null;
    this.params = null;
    this.key = "";
    this.timer = 0;
  }

  /** Show another plane; `params` null for none. */
  set(params, grid) {
    const key = JSON.stringify(params);
    if (key === this.key) return;
    this.key = key;
    this.params = params;
    this.close = null;
    clearTimeout(this.timer);
    // What is shown stays until there is something new of the same plane.
    if (!params || !sameButWhen(params, this.last)) this.whole = null;
    this.last = params;
    if (!params) { this.changed(); return; }
    ask(this.name, params).then((answer) => {
      if (this.key !== key) return;
      this.whole = answer;
      this.changed(answer ? undefined : new Error("This file does not hold it: open the trace with cutile-sim view."));
      if (grid) this.moved(grid);
    }, (error) => this.failed(key, error));
  }

  /** Tell of an error, unless something else is shown by now. */
  failed(key, error) {
    if (this.key === key) this.changed(error);
  }

  /** Another part is in sight: ask for it more closely if that shows more. */
  moved(grid) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.closer(grid), ASK_AFTER_MS);
  }

  closer(grid) {
    if (!this.whole || isExact(this.whole)) return;
    const [h, w] = this.whole.shape;
    const finer = (grid.sy * grid.rows) / h > 1.5 || (grid.sx * grid.cols) / w > 1.5;
    if (!finer) { this.close = null; return; }
    const seen = aligned(grid);
    const fine = [cellsFor(seen[2] - seen[0], grid.sy), cellsFor(seen[3] - seen[1], grid.sx)];
    const now = this.close;
    if (now && inside(grid.window(), now.window) && fineEnough(now, fine, seen)) return;
    const key = this.key;
    ask(this.name, { ...this.params, window: seen.join(","), cells: fine.join(",") }).then((answer) => {
      if (this.key !== key || !answer) return;
      this.close = answer;
      this.changed();
    }, (error) => this.failed(key, error));
  }

  /** The answers to draw, coarse first. */
  get parts() { return [this.whole, this.close].filter(Boolean); }

  /** [answer, number of the cell] of the finest answer that holds a place of the plane. */
  at(r, c) {
    for (const part of [this.close, this.whole]) {
      if (!part) continue;
      const [r0, c0, r1, c1] = part.window;
      if (r < r0 || c < c0 || r >= r1 || c >= c1) continue;
      const [h, w] = part.shape;
      return [part, cellOf(r - r0, r1 - r0, h) * w + cellOf(c - c0, c1 - c0, w)];
    }
    return null;
  }

  draw(context, grid, paint, clear = true) {
    context.imageSmoothingEnabled = false;
    for (const part of this.parts) {
      if (!part.shape[0] || !part.shape[1]) continue;
      const [x, y, w, h] = grid.rect(part.window);
      if (part !== this.whole && clear) context.clearRect(x, y, w, h);
      context.drawImage(painted(part, paint), x, y, w, h);
    }
  }
}

const sameButWhen = (a, b) => Boolean(b) && JSON.stringify({ ...a, when: 0 }) === JSON.stringify({ ...b, when: 0 });

const cellsFor = (elements, pixels) => Math.max(1, Math.min(elements, Math.ceil(elements * pixels)));

const fineEnough = (answer, [h, w], seen) => {
  const [r0, c0, r1, c1] = answer.window;
  return answer.shape[0] / (r1 - r0) >= (0.7 * h) / (seen[2] - seen[0]) && answer.shape[1] / (c1 - c0) >= (0.7 * w) / (seen[3] - seen[1]);
};

function aligned(grid) {
  const [r0, c0, r1, c1] = grid.window();
  const steps = [grid.sy, grid.sx].map((pixels) => ALIGNED_CELLS * Math.max(1, 2 ** Math.round(Math.log2(1 / pixels))));
  const down = (at, step) => Math.floor(at / step) * step;
  const up = (at, step, end) => Math.min(Math.ceil(at / step) * step, end);
  return [down(r0, steps[0]), down(c0, steps[1]), up(r1, steps[0], grid.rows), up(c1, steps[1], grid.cols)];
}

const inside = (a, b) => a[0] >= b[0] && a[1] >= b[1] && a[2] <= b[2] && a[3] <= b[3];

// Pictures are kept with the answer, one for each way to paint it.
function painted(part, paint) {
  part.pictures ??= new Map();
  if (!part.pictures.has(paint.key)) {
    if (part.pictures.size > 8) part.pictures.clear();
    part.pictures.set(paint.key, image(part.shape[0], part.shape[1], paint.of(part)));
  }
  return part.pictures.get(paint.key);
}

/** How to paint accesses: kinds that are switched on, darker where there are more. `bare` leaves out the rest. */
export function paintAccesses(theme, most, { dim = false, bare = false } = {}) {
  const shown = KINDS.filter((kind) => state.kinds[kind]);
  return {
    key: `accesses ${theme} ${shown} ${dim} ${bare}`,
    of(part) {
      const none = color("empty");
      const rest = bare ? 0 : pixel(none);
      const shades = (name) => ramp((share) => mix(none, color(name), (0.45 + 0.55 * share) * (dim ? 0.32 : 1)));
      const layers = shown.filter((kind) => part[kind]).map((kind) => [part[kind], shades(kind)]);
      const both = shades("both");
      const log = Math.log2(1 + Math.max(1, ...shown.map((kind) => most[kind] ?? 0)));
      return (i) => {
        let count = 0;
        let found = null;
        for (const [counts, shade] of layers) {
          if (!counts[i]) continue;
          found = found ? both : shade;
          count += counts[i];
        }
        return found ? found(Math.log2(1 + count) / log) : rest;
      };
    },
  };
}

/** A veil over what is first touched after a record. */
export function paintLater(theme, time) {
  return {
    key: `later ${theme} ${time}`,
    of(part) {
      const none = pixel(color("empty"));
      return (i) => (part.first[i] < 0 || part.first[i] > time ? none : 0);
    },
  };
}

/** How to paint who wrote: never, one block, several. What is worst in a cell counts. */
export function paintCoverage(theme) {
  return {
    key: `coverage ${theme}`,
    of(part) {
      const [none, never, once, several] = ["empty", "never", "once", "several"].map((name) => pixel(color(name)));
      return (i) => {
        const bits = part.coverage[i];
        return bits & 4 ? several : bits & 1 ? never : bits & 2 ? once : none;
      };
    },
  };
}

/** How to paint values: the mean of a cell on a scale from lowest to highest; NaN and infinities stand out. */
export function paintValues(theme, low, high) {
  return {
    key: `values ${theme} ${low} ${high}`,
    of(part) {
      const odd = [0, ...["nan", "empty", "nan", "nan"].map((name) => pixel(color(name)))];
      const span = high - low;
      return (i) => (part.odd[i] ? odd[part.odd[i]] : valueRamp(span > 0 ? (part.mean[i] - low) / span : 0.5));
    },
  };
}
