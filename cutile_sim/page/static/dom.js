// Elements made of text only: nothing from a trace is ever read as HTML.

const SVG = "http://www.w3.org/2000/svg";

/** An element. `attributes` may hold `on: {event: handler}` and `class`; children are nodes or text. */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") {
      for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    } else if (value === true) {
      node.setAttribute(name, "");
    } else if (value !== false && value !== null && value !== undefined) {
      node.setAttribute(name, String(value));
    }
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

export const byId = (id) => document.getElementById(id);

/** A table with a caption that only screen readers read. Cells that are numbers are set to the right. */
export function table(caption, columns, rows, attributes = {}) {
  const cell = (value) =>
    value instanceof Node ? el("td", {}, value) : el("td", typeof value === "number" ? { class: "number" } : {}, text(value));
  return el(
    "table",
    attributes,
    el("caption", { class: "hidden" }, caption),
    el("thead", {}, el("tr", {}, columns.map((name, i) => el("th", { scope: "col", class: typeof rows[0]?.[i] === "number" ? "number" : null }, name)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map(cell)))),
  );
}

/** Radio buttons that look like one control. `choices` are [value, words, disabled?]. */
export function radios(legend, name, choices, chosen, onChoice) {
  const inputs = choices.map(([value, words, disabled]) =>
    el("label", { class: "choice" },
      el("input", {
        type: "radio", name, value, checked: value === chosen, disabled: Boolean(disabled),
        on: { change: () => onChoice(value) },
      }),
      el("span", {}, words)),
  );
  return el("fieldset", { class: "choices", "data-name": name }, el("legend", { class: "hidden" }, legend), inputs);
}

/** Tabs as the ARIA pattern has them: arrow keys move, panels follow. Returns {node, show(id), badge(id, text)}. */
export function tabs(label, entries, onShow = () => {}) {
  const buttons = new Map();
  const panels = new Map();
  const show = (id, focus = false) => {
    for (const [key, button] of buttons) {
      button.setAttribute("aria-selected", String(key === id));
      button.tabIndex = key === id ? 0 : -1;
      panels.get(key).hidden = key !== id;
    }
    if (focus) buttons.get(id).focus();
    onShow(id);
  };
  const ids = entries.map(([id]) => id);
  const move = (event, id) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    show(ids[(ids.indexOf(id) + step + ids.length) % ids.length], true);
  };
  for (const [id, words] of entries) {
    buttons.set(id, el("button", {
      type: "button", role: "tab", id: `tab-${id}`, "aria-controls": `panel-${id}`,
      on: { click: () => show(id), keydown: (event) => move(event, id) },
    }, words));
    panels.set(id, el("div", { role: "tabpanel", id: `panel-${id}`, "aria-labelledby": `tab-${id}`, tabindex: 0 }));
  }
  const list = el("div", { role: "tablist", "aria-label": label, class: "tabs" }, [...buttons.values()]);
  return { list, panels, show, words: (id, value) => { buttons.get(id).textContent = value; } };
}

let announced = 0;

/** Let a screen reader say something, after what is being said. */
export function announce(words) {
  clearTimeout(announced);
  announced = setTimeout(() => { byId("live").textContent = words; }, 120);
}

const GROUPED = new Intl.NumberFormat("en-US");

/** A number as people read it; text as it is. */
export function text(value) {
  return typeof value === "number" ? (Number.isInteger(value) ? GROUPED.format(value) : String(value)) : String(value ?? "");
}

const scaled = (value, units, base) => {
  let at = 0;
  while (value >= base && at + 1 < units.length) { value /= base; at += 1; }
  const digits = at === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)}${units[at] ? " " + units[at] : ""}`;
};

export const bytes = (value) => scaled(value, ["B", "KiB", "MiB", "GiB", "TiB"], 1024);
export const short = (value) => (value < 10000 ? text(Math.round(value)) : scaled(value, ["", "k", "M", "G", "T", "P"], 1000));
export const percent = (share) => (share >= 0.0995 ? `${Math.round(share * 100)} %` : share > 0 ? `${(share * 100).toFixed(1)} %` : "");

/** A block's id as the kernel's author writes it: only as many axes as the grid has. */
export function blockName(block, grid) {
  const axes = grid[2] > 1 ? 3 : grid[1] > 1 ? 2 : 1;
  return axes === 1 ? `${block[0]}` : `(${block.slice(0, axes).join(", ")})`;
}
