// What is shown, in one place: parts of the page read it, change it by `update` and hear of changes by `on`.

export const state = {
  trace: null,
  launch: null,      // the answer "launch"
  array: null,       // an entry of launch.arrays
  mode: "accesses",
  rows: -1,          // axis along the rows, -1 where the array has one axis, which is wrapped
  cols: 0,
  fixed: [],         // index along each axis that is not shown
  wrap: 1,           // elements a row of an array with one axis
  kinds: { load: true, store: true, atomic: true },
  time: 0,           // a record, or launch.records for the whole launch
  line: null,        // {file, line} that was chosen
  block: null,       // pinned
  hovered: null,     // block under the pointer or cursor
  other: null,       // block to compare with
  element: null,     // index of the element under the pointer or cursor
  touching: [],      // blocks that touch it
  when: "after",
};

const listeners = [];

/** Call `heard` after a change of one of these names. */
export function on(names, heard) {
  listeners.push([new Set(names), heard]);
}

export function update(changes) {
  const changed = Object.keys(changes).filter((name) => state[name] !== changes[name]);
  if (!changed.length) return;
  Object.assign(state, changes);
  for (const [names, heard] of listeners) {
    if (changed.some((name) => names.has(name))) heard(changed);
  }
}

/** The block whose tiles are lit. */
export const litBlock = () => state.hovered ?? state.block;

/** How the array is laid out on the plane that is shown: {rows, cols}. */
export function planeShape(array = state.array) {
  const shape = array.shape;
  if (shape.length === 0) return { rows: 1, cols: 1 };
  if (shape.length === 1) return { rows: Math.max(1, Math.ceil(shape[0] / state.wrap)), cols: Math.min(state.wrap, shape[0]) };
  return { rows: shape[state.rows], cols: shape[state.cols] };
}

/** Index of the element at a place of the plane, or null where there is none. */
export function indexAt(r, c) {
  const shape = state.array.shape;
  const { rows, cols } = planeShape();
  if (r < 0 || c < 0 || r >= rows || c >= cols) return null;
  if (shape.length === 0) return [];
  if (shape.length === 1) {
    const at = r * state.wrap + c;
    return at < shape[0] ? [at] : null;
  }
  const index = [...state.fixed];
  index[state.rows] = r;
  index[state.cols] = c;
  return index;
}

/** Rectangles [r0, c0, r1, c1] of the plane that a box of the array covers. */
export function boxRects(box) {
  const shape = state.array.shape;
  if (shape.length === 0) return [[0, 0, 1, 1]];
  if (shape.length === 1) return wrapped(box[0][0], box[0][1], state.wrap);
  for (let axis = 0; axis < shape.length; axis += 1) {
    const shown = axis === state.rows || axis === state.cols;
    if (!shown && !(box[axis][0] <= state.fixed[axis] && state.fixed[axis] < box[axis][1])) return [];
  }
  return [[box[state.rows][0], box[state.cols][0], box[state.rows][1], box[state.cols][1]]];
}

function wrapped(first, end, width) {
  const [r0, r1] = [Math.floor(first / width), Math.floor((end - 1) / width)];
  if (r0 === r1) return [[r0, first - r0 * width, r0 + 1, end - r0 * width]];
  const rects = [[r0, first - r0 * width, r0 + 1, width]];
  if (r1 > r0 + 1) rects.push([r0 + 1, 0, r1, width]);
  rects.push([r1, 0, r1 + 1, end - r1 * width]);
  return rects;
}

/** Where the plane shows an element, by its number in C order; null if it does not. */
export function placeOf(number) {
  const shape = state.array.shape;
  if (shape.length === 0) return [0, 0];
  if (shape.length === 1) return [Math.floor(number / state.wrap), number % state.wrap];
  const index = unravel(number, shape);
  return placeOfIndex(index);
}

export function placeOfIndex(index) {
  const shape = state.array.shape;
  if (shape.length === 0) return [0, 0];
  if (shape.length === 1) return [Math.floor(index[0] / state.wrap), index[0] % state.wrap];
  const elsewhere = index.some((at, axis) => axis !== state.rows && axis !== state.cols && at !== state.fixed[axis]);
  return elsewhere ? null : [index[state.rows], index[state.cols]];
}

function unravel(number, shape) {
  const index = new Array(shape.length);
  for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
    index[axis] = number % shape[axis];
    number = Math.floor(number / shape[axis]);
  }
  return index;
}
