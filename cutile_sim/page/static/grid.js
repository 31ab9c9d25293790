// A canvas that shows rows and columns of cells: zoom, pan, a cursor for the keyboard. What is in a cell is others' business.

const LARGEST_PX = 64;
const FIT_PX = 40;
const THIN_PX = 72;
const LINED_PX = 7;

export class GridCanvas {
  /**
   * handlers: draw(context, grid) paints; hover(cell or null) and pick(cell, event) tell of the pointer, the cursor and
   * Enter; moved() tells that another part is seen.
   */
  constructor(canvas, handlers) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.handlers = handlers;
    this.rows = this.cols = 1;
    this.x = this.y = 0;      // cell at the top left corner
    this.sx = this.sy = 1;    // CSS pixels a cell
    this.cursor = null;       // [r, c], moved by the keyboard
    this.pointer = null;
    this.drag = null;
    this.frame = 0;
    this.fitted = true;
    this.listen();
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  setGrid(rows, cols) {
    [rows, cols] = [Math.max(rows, 1), Math.max(cols, 1)];
    if (rows === this.rows && cols === this.cols) return;
    this.rows = rows;
    this.cols = cols;
    this.cursor = this.pointer = null;
    this.fit();
  }

  /** The cell under the pointer, or else under the cursor of the keyboard. */
  get cell() { return this.pointer ?? (document.activeElement === this.canvas ? this.cursor : null); }

  get width() { return this.canvas.clientWidth; }
  get height() { return this.canvas.clientHeight; }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(this.width * ratio));
    this.canvas.height = Math.max(1, Math.round(this.height * ratio));
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (this.fitted) this.fit(); else this.changed();
  }

  /** Everything in sight; long thin grids are stretched so that they can be seen. */
  fit() {
    const [w, h] = [Math.max(this.width, 1), Math.max(this.height, 1)];
    const even = Math.min(w / this.cols, h / this.rows, FIT_PX);
    this.sx = Math.max(even, Math.min(THIN_PX / this.cols, FIT_PX, w / this.cols));
    this.sy = Math.max(even, Math.min(THIN_PX / this.rows, FIT_PX, h / this.rows));
    this.x = Math.min(0, -(w / this.sx - this.cols) / 2);
    this.y = Math.min(0, -(h / this.sy - this.rows) / 2);
    this.fitted = true;
    this.changed();
  }

  zoom(factor, px = this.width / 2, py = this.height / 2) {
    const largest = Math.min(LARGEST_PX / this.sx, LARGEST_PX / this.sy);
    const smallest = Math.min(1, Math.max(this.width / this.cols / this.sx, this.height / this.rows / this.sy) * 0.9);
    const by = Math.min(Math.max(factor, smallest), Math.max(largest, 1));
    const [cx, cy] = [this.x + px / this.sx, this.y + py / this.sy];
    this.sx *= by;
    this.sy *= by;
    this.x = cx - px / this.sx;
    this.y = cy - py / this.sy;
    this.fitted = false;
    this.keep();
  }

  pan(dx, dy) {
    this.x += dx / this.sx;
    this.y += dy / this.sy;
    this.fitted = false;
    this.keep();
  }

  /** Never lose the grid out of sight. */
  keep() {
    const along = (at, size, seen) =>
      size <= seen ? -(seen - size) / 2 : Math.min(Math.max(at, -seen * 0.1), size - seen * 0.9);
    this.x = along(this.x, this.cols, this.width / this.sx);
    this.y = along(this.y, this.rows, this.height / this.sy);
    this.changed();
  }

  show(r, c) {
    const [w, h] = [this.width / this.sx, this.height / this.sy];
    if (c < this.x || c + 1 > this.x + w) { this.x = c + 0.5 - w / 2; this.fitted = false; }
    if (r < this.y || r + 1 > this.y + h) { this.y = r + 0.5 - h / 2; this.fitted = false; }
    this.keep();
  }

  /** Cells in sight: [r0, c0, r1, c1]. */
  window() {
    const clamp = (v, most) => Math.min(Math.max(v, 0), most);
    return [
      clamp(Math.floor(this.y), this.rows), clamp(Math.floor(this.x), this.cols),
      clamp(Math.ceil(this.y + this.height / this.sy), this.rows), clamp(Math.ceil(this.x + this.width / this.sx), this.cols),
    ];
  }

  changed() {
    this.handlers.moved?.();
    this.redraw();
  }

  redraw() {
    if (!this.frame) this.frame = requestAnimationFrame(() => { this.frame = 0; this.paint(); });
  }

  paint() {
    const { context } = this;
    context.clearRect(0, 0, this.width, this.height);
    this.handlers.draw(context, this);
    if (this.cell) this.outline(this.cell);
  }

  outline([r, c]) {
    const [x, y, w, h] = this.rect([r, c, r + 1, c + 1]);
    const style = getComputedStyle(this.canvas);
    const grow = Math.max(0, (7 - Math.min(w, h)) / 2);
    this.context.lineWidth = 3;
    this.context.strokeStyle = style.getPropertyValue("--panel");
    this.context.strokeRect(x - grow, y - grow, w + 2 * grow, h + 2 * grow);
    this.context.lineWidth = 1.5;
    this.context.strokeStyle = style.getPropertyValue("--text");
    this.context.strokeRect(x - grow, y - grow, w + 2 * grow, h + 2 * grow);
  }

  /** [x, y, width, height] in CSS pixels of cells [r0, c0, r1, c1]. */
  rect([r0, c0, r1, c1]) {
    return [(c0 - this.x) * this.sx, (r0 - this.y) * this.sy, (c1 - c0) * this.sx, (r1 - r0) * this.sy];
  }

  /** Lines between cells that are large enough for it, in a colour of the style sheet. */
  lines(name) {
    if (Math.min(this.sx, this.sy) < LINED_PX) return;
    const { context } = this;
    const [r0, c0, r1, c1] = this.window();
    const [left, top, width, height] = this.rect([r0, c0, r1, c1]);
    context.strokeStyle = getComputedStyle(this.canvas).getPropertyValue(name);
    context.lineWidth = 1;
    context.beginPath();
    for (let r = r0; r <= r1; r += 1) {
      const y = Math.round((r - this.y) * this.sy) + 0.5;
      context.moveTo(left, y);
      context.lineTo(left + width, y);
    }
    for (let c = c0; c <= c1; c += 1) {
      const x = Math.round((c - this.x) * this.sx) + 0.5;
      context.moveTo(x, top);
      context.lineTo(x, top + height);
    }
    context.stroke();
  }

  cellAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const c = Math.floor(this.x + (event.clientX - box.left) / this.sx);
    const r = Math.floor(this.y + (event.clientY - box.top) / this.sy);
    return r >= 0 && c >= 0 && r < this.rows && c < this.cols ? [r, c] : null;
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("pointermove", (event) => this.onMove(event));
    canvas.addEventListener("pointerleave", () => { this.pointer = null; this.handlers.hover?.(null); this.redraw(); });
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.drag = { x: event.clientX, y: event.clientY, moved: false };
    });
    canvas.addEventListener("pointerup", (event) => {
      const cell = this.cellAt(event);
      if (this.drag && !this.drag.moved && cell) {
        this.cursor = cell;
        this.handlers.pick?.(cell, event);
      }
      this.drag = null;
    });
    canvas.addEventListener("pointercancel", () => { this.drag = null; });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const box = canvas.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY * 0.0015), event.clientX - box.left, event.clientY - box.top);
      this.point(this.cellAt(event));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => this.onKey(event));
    canvas.addEventListener("focus", () => this.redraw());
    canvas.addEventListener("blur", () => { this.handlers.hover?.(null); this.redraw(); });
  }

  onMove(event) {
    if (this.drag) {
      const [dx, dy] = [this.drag.x - event.clientX, this.drag.y - event.clientY];
      if (this.drag.moved || Math.abs(dx) + Math.abs(dy) > 4) {
        this.drag = { x: event.clientX, y: event.clientY, moved: true };
        this.pan(dx, dy);
      }
      return;
    }
    this.point(this.cellAt(event));
  }

  point(cell) {
    if (String(cell) === String(this.pointer)) return;
    this.pointer = cell;
    this.handlers.hover?.(cell);
    this.redraw();
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const far = event.shiftKey ? 10 : 1;
    const [r, c] = this.cursor ?? [0, 0];
    const to = {
      ArrowUp: [r - far, c], ArrowDown: [r + far, c], ArrowLeft: [r, c - far], ArrowRight: [r, c + far],
      Home: [r, 0], End: [r, this.cols - 1],
      PageUp: [r - Math.max(1, Math.floor(this.height / this.sy)), c],
      PageDown: [r + Math.max(1, Math.floor(this.height / this.sy)), c],
    }[event.key];
    if (to) {
      event.preventDefault();
      this.moveTo(this.cursor ? to : [0, 0]);
    } else if (event.key === "+" || event.key === "=") {
      this.zoom(1.5);
    } else if (event.key === "-") {
      this.zoom(1 / 1.5);
    } else if (event.key === "0") {
      this.fit();
    } else if ((event.key === "Enter" || event.key === " ") && this.cursor) {
      event.preventDefault();
      this.handlers.pick?.(this.cursor, event);
    } else {
      return;
    }
    event.stopPropagation();
  }

  moveTo([r, c]) {
    this.pointer = null;
    this.cursor = [Math.min(Math.max(r, 0), this.rows - 1), Math.min(Math.max(c, 0), this.cols - 1)];
    this.show(...this.cursor);
    this.handlers.hover?.(this.cursor);
  }
}
