// Colours for canvases: those of the style sheet, and a scale for values. All can be told apart without seeing red or green.

/** A colour of the style sheet by its name, as "rgb(...)" numbers. */
function cssColor(name) {
  const probe = document.createElement("canvas").getContext("2d");
  probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  probe.fillRect(0, 0, 1, 1);
  return [...probe.getImageData(0, 0, 1, 1).data.slice(0, 3)];
}

let known = new Map();
export const forgetColors = () => { known = new Map(); };

export function color(name) {
  if (!known.has(name)) known.set(name, cssColor(name));
  return known.get(name);
}

export const rgb = (c, alpha = 1) => `rgba(${c[0]}, ${c[1]}, ${c[2]}, ${alpha})`;

export const mix = (a, b, share) => a.map((v, i) => Math.round(v + (b[i] - v) * share));

// Stops of the cividis scale (Nunez, Anderton, Renslow 2018), dark to light.
const STOPS = [
  [0, 34, 78], [18, 53, 112], [59, 73, 108], [87, 93, 109], [112, 113, 115],
  [138, 134, 120], [166, 157, 117], [195, 182, 105], [225, 208, 83], [254, 232, 56],
];

const valueColor = (share) => {
  const at = share * (STOPS.length - 1);
  const low = Math.min(Math.floor(at), STOPS.length - 2);
  return mix(STOPS[low], STOPS[low + 1], at - low);
};

export const valueGradient = () => `linear-gradient(to right, ${STOPS.map((c) => rgb(c)).join(", ")})`;

/** A colour as a pixel of an image has it: a number, 0 for nothing. */
export const pixel = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

const STEPS = 255;

/** A function from a share between 0 and 1 to a pixel, of few colours that are mixed once: images have many cells. */
export function ramp(colorOf) {
  const pixels = Uint32Array.from({ length: STEPS + 1 }, (_, i) => pixel(colorOf(i / STEPS)));
  return (share) => pixels[Math.min(Math.max(Math.round(share * STEPS), 0), STEPS)];
}

export const valueRamp = ramp(valueColor);

/** An image of h by w pixels; `paint(i)` gives the pixel. */
export function image(h, w, paint) {
  const canvas = document.createElement("canvas");
  canvas.width = w;
  canvas.height = h;
  const context = canvas.getContext("2d");
  const data = context.createImageData(w, h);
  const pixels = new Uint32Array(data.data.buffer);
  for (let i = 0; i < pixels.length; i += 1) pixels[i] = paint(i);
  context.putImageData(data, 0, 0);
  return canvas;
}
