// Puts the page together and opens the first launch.

import { announce, byId, el, text } from "./dom.js";
import { ask, isFile, openStore } from "./store.js";
import { state, update } from "./state.js";
import { chooseArray, startArrays } from "./arrays.js";
import { startTime } from "./time.js";
import { startSource } from "./source.js";
import { startBlocks } from "./blocks.js";
import { startDetails } from "./details.js";
import { startNotes } from "./notes.js";
import { startKeys } from "./keys.js";

const STORED_THEME = "cutile-sim-theme";

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  byId("theme").textContent = name === "dark" ? "Light" : "Dark";
  byId("theme").setAttribute("aria-label", name === "dark" ? "Switch to light colours" : "Switch to dark colours");
  update({ theme: name });
}

function startTheme() {
  const wanted = matchMedia("(prefers-color-scheme: dark)");
  let kept = null;
  try { kept = localStorage.getItem(STORED_THEME); } catch { /* a file may have no storage */ }
  setTheme(kept ?? (wanted.matches ? "dark" : "light"));
  wanted.addEventListener("change", (event) => { if (!kept) setTheme(event.matches ? "dark" : "light"); });
  const toggle = () => {
    kept = state.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem(STORED_THEME, kept); } catch { /* as above */ }
    setTheme(kept);
  };
  byId("theme").addEventListener("click", toggle);
  return toggle;
}

function startWidening() {
  for (const panel of document.querySelectorAll(".panel")) {
    const name = panel.querySelector("h2").textContent;
    const button = el("button", { type: "button", class: "widen", "aria-pressed": "false", "aria-label": `Widen: ${name}`, title: "Widen", on: { click: () => {
      const wide = panel.classList.toggle("wide");
      document.body.classList.toggle("wide", wide);
      panel.closest(".column").classList.toggle("holds", wide);
      button.setAttribute("aria-pressed", String(wide));
    } } }, "⤢");
    panel.querySelector(".head").append(button);
  }
}

function tell(words) {
  byId("notice").textContent = words;
  byId("notice").hidden = !words;
}

async function openLaunch(number) {
  let launch;
  try {
    launch = await ask("launch", { launch: number });
  } catch (error) {
    tell(error.message);
    return;
  }
  if (!launch) { tell("This file does not hold that launch: open the trace with cutile-sim view."); return; }
  document.title = `${launch.kernel} · cutile-sim trace`;
  byId("title").textContent = launch.kernel;
  byId("facts").textContent =
    `grid ${launch.grid.map(text).join(" × ")}, ${text(launch.blocks)} blocks, ${text(launch.records)} records${launch.recorded ? `; recorded: ${launch.recorded}` : ""}`;
  tell(launch.error ? `Stopped: ${launch.error.message}` : "");
  update({ launch, array: null, block: null, other: null, hovered: null, element: null, line: null, touching: [], when: "after", time: launch.records });
  if (launch.arrays.length) chooseArray(0);
  announce(`Launch ${launch.kernel}`);
}

async function start() {
  openStore();
  const theme = startTheme();
  startArrays();
  startTime();
  startSource();
  startBlocks();
  startDetails();
  startNotes();
  startWidening();
  startKeys(theme);
  try {
    const trace = await ask("trace");
    update({ trace });
    const choose = byId("launch");
    choose.append(...trace.launches.map((l) => el("option", { value: l.number }, `${l.number}: ${l.kernel}, ${l.grid.join("×")}${l.error ? ", stopped" : ""}`)));
    choose.addEventListener("change", () => openLaunch(Number(choose.value)));
    byId("launch-label").hidden = trace.launches.length < 2;
    if (isFile() && trace.left_out.length) byId("facts").title = `Not in this file: ${trace.left_out.join("; ")}`;
    if (trace.launches.length) await openLaunch(trace.launches[0].number);
    else tell("There are no launches in this trace.");
  } catch (error) {
    tell(error.message);
  }
  document.documentElement.dataset.ready = "true";
}

start();
