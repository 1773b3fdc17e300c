/**
 * The time line: what PyTorch runs, one call after the other, before and after the step; measured times are to scale, on
 * each device. Its button starts to measure, and the progress is beside it.
 */

import { isOfBackend, laneClass, laneName, lanesOf, timeWords } from "../shared/lanes.js";
import { guessOf, isAsking, isPresenting } from "./state.js";

/**
 * @import { Frame } from "../picture/types.js"
 * @import { Changed } from "./state.js"
 */

/**
 * The steps with times of backends, and the lanes that these have; nothing if the time line shows them all.
 * @param {Frame[]} frames of all steps @param {number} shown the step that the time line shows
 * @returns {{frames: Frame[], lanes: string[]}}
 */
export function backendsOf(frames, shown) {
  const found = frames.filter(({ times }) => Object.keys(times).some(isOfBackend));
  if (!found.some(({ step }) => step !== shown)) return { frames: [], lanes: [] };
  return { frames: found, lanes: lanesOf(Object.assign({}, ...found.map(({ times }) => times))) };
}

/** @param {import("./ui.js").Ui} ui @param {(step: number) => void} go */
export function makeBackendTable({ make: { h }, textButton }, go) {
  const element = h("table", { class: "ce-backends", hidden: true });

  /** @param {Frame} frame @param {string} lane @param {number} longest */
  function cell(frame, lane, longest) {
    const time = frame.times[lane];
    if (time === undefined) return h("td", { text: "–", title: "not measured" });
    const badge = frame.certified[lane];
    return h(
      "td",
      badge ? { title: badge } : {},
      h("span", { text: `${timeWords(time)}${badge?.startsWith("✓") ? " ✓" : ""}` }),
      h("i", { class: laneClass(lane), style: `width:${(100 * time) / longest}%`, "aria-hidden": "true" }),
    );
  }

  return {
    element,
    /** @param {Frame[]} all frames of all steps @param {number} shown */
    show(all, shown) {
      const { frames, lanes } = backendsOf(all, shown);
      element.hidden = !frames.length;
      element.replaceChildren();
      if (!frames.length) return;
      const longest = Math.max(...frames.flatMap(({ times }) => lanes.map((lane) => times[lane] ?? 0)));
      const head = ["step", ...lanes.map(laneName)].map((text) => h("th", { scope: "col", text }));
      const rows = frames.map((frame) => {
        const name = textButton(frame.label, () => go(frame.step));
        const known = frame.step === shown ? { scope: "row", "aria-current": "step" } : { scope: "row" };
        return h("tr", {}, h("th", known, name), ...lanes.map((lane) => cell(frame, lane, longest)));
      });
      element.replaceChildren(
        h("caption", { text: "Backends of all measured steps; ✓ all rows certified" }),
        h("tr", {}, ...head),
        ...rows,
      );
    },
  };
}

const BACKENDS = `
.ce-backends{flex:1 0 100%;border-collapse:collapse;font-size:12.5px}
.ce-backends caption{text-align:left;color:var(--ce-muted);padding:2px 0}
.ce-backends :is(th,td){padding:1px 10px 1px 0;text-align:left;font-weight:400;white-space:nowrap}
.ce-backends tr:first-of-type th{color:var(--ce-muted)}
.ce-backends th[aria-current] button{font-weight:600}
.ce-backends td i{display:block;height:4px;min-width:1px}
`;

/** @typedef {{name: string, frame: Frame, lane: string, length: number}} Row  without lane, its length is in calls */

const WIDTH = 1000;
const HEIGHT = 14;
/** Calls narrower than this are drawn without gaps between them. */
const MIN_CALL = 2.5;

/**
 * The rows that compare the frame of a step with the one before it. All are in one unit: milliseconds if a device has
 * times of each frame, or if backends were timed after the step, or else calls.
 * @param {Frame[]} frames @returns {Row[]}
 */
export function rowsOf(frames) {
  const last = frames[frames.length - 1];
  /** @param {string} lane */
  const isInBoth = (lane) => frames.every(({ times }) => lane in times);
  const lanes = last ? lanesOf(last.times).filter((lane) => isInBoth(lane) || isOfBackend(lane)) : [];
  const names = frames.length > 1 ? ["before", "after"] : ["runs"];
  if (!lanes.length) return frames.map((frame, at) => ({ name: names[at], frame, lane: "", length: frame.calls }));
  return lanes.flatMap((lane) =>
    isInBoth(lane)
      ? frames.map((frame, at) => ({ name: `${laneName(lane)} ${names[at]}`, frame, lane, length: frame.times[lane] }))
      : [{ name: laneName(lane), frame: last, lane, length: last.times[lane] }],
  );
}

/** @param {import("../graph.js").Page} page */
export function makeTimeline({ ui, store: { state }, timing, stepping: { goTo } }) {
  const { make, textButton } = ui;
  const { h, s } = make;
  const backends = makeBackendTable(ui, goTo);
  const rows = h("div", { class: "ce-runs" });
  const bar = h("progress", { max: 1, "aria-label": "Progress of the measurement" });
  const words = h("span", { role: "status" });
  const running = h("div", { class: "ce-timing", hidden: true }, words, bar, textButton("Cancel", timing.cancel));
  const missing = h("div", { class: "ce-run-missing" });
  const element = h(
    "div",
    { class: "ce-timeline", role: "group", "aria-label": "Time line", hidden: true },
    rows,
    h("div", { class: "ce-run-side" }, running),
    missing,
    backends.element,
  );

  /** The frame of the step, or else the last one before it, and the one before that. @returns {Frame[]} */
  function framesShown() {
    const frames = state.steps.slice(0, state.step + 1).flatMap((step) => step.frame ?? []);
    const current = frames[frames.length - 1];
    if (!current) return [];
    if (state.view.slides === "clock") return [frames[0], current];
    if (state.view.slides && state.view.mode === "before") return frames.slice(-2, -1);
    return current.step === state.step && frames.length > 1 ? frames.slice(-2) : [current];
  }

  /** @param {Row} row @param {number} whole length of the longest row */
  function rowElements({ name, frame, lane, length }, whole) {
    let x = 0;
    const blocks = partsOf(frame, lane).flatMap(({ kind, calls, length: own }) => {
      const size = (WIDTH * own) / whole;
      const d = blocksPath(x, size, calls);
      x += size;
      return s("path", { d, fill: state.palette.roles[kind] || state.palette.roles.operator });
    });
    const count = `${frame.calls.toLocaleString("en-US")} ${frame.calls === 1 ? "call" : "calls"}`;
    const badge = frame.certified[lane];
    const words = !lane ? count : badge ? `${timeWords(length)} ` : `${timeWords(length)}, ${count}`;
    const view = {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: "none",
      class: "ce-run",
      "aria-hidden": "true",
    };
    return [
      h("span", { class: "ce-run-name", text: name }),
      s("svg", view, blocks),
      h("span", { text: words }, badge ? h("span", { class: "ce-certified", text: badge }) : null),
    ];
  }

  function drawProgress() {
    const { progress } = state;
    running.hidden = !progress;
    words.textContent = progress ? progress.text : "";
    if (progress && progress.share !== null) bar.setAttribute("value", progress.share);
    else bar.removeAttribute("value");
  }

  return {
    element,
    reads: /** @type {const} */ ([
      "steps",
      "step",
      "options",
      "palette",
      "progress",
      "view",
      "guess",
      "picture",
      "alive",
    ]),
    /** @param {unknown} _ @param {Changed} changed */
    draw(_, changed) {
      const shown = framesShown();
      const drawn = shown.length > 0 && shown.every((frame) => frame.plates.length);
      const undrawn = shown.find((frame) => frame.undrawn)?.undrawn || "";
      const isTimed = shown.some(({ times }) => Object.keys(times).length > 0) || Boolean(state.progress);
      element.hidden =
        (!drawn && !undrawn) ||
        (!isTimed && !undrawn && !isPresenting(state)) || // the film shows the calls
        (state.alive && !state.progress) || // what is believed has its room
        state.options.film === false ||
        state.options.stepper === false ||
        isAsking(state) ||
        Boolean(guessOf(state));
      drawProgress();
      if (element.hidden) return;
      if (changed.size === 1 && changed.has("progress")) return;
      const all = drawn ? rowsOf(shown) : [];
      const whole = Math.max(...all.map(({ length }) => length));
      rows.replaceChildren(...all.flatMap((row) => rowElements(row, whole)));
      const every = state.view.slides ? [] : state.steps.flatMap((step) => step.frame ?? []);
      backends.show(every, shown[shown.length - 1].step);
      const reasons = Object.entries(shown[shown.length - 1].missing);
      const untimed = reasons.map(([lane, why]) => `No times on ${laneName(lane)}: ${why}.`);
      missing.textContent = [undrawn, ...untimed].filter(Boolean).join(" ");
    },
  };
}

/**
 * The plates in the order in which they run, with their lengths: their measured times if all are known; not told apart if
 * only the whole was measured; or else one for each call.
 * @param {Frame} frame @param {string} lane @returns {{kind: string, calls: number, length: number}[]}
 */
function partsOf(frame, lane) {
  if (!lane) return frame.plates.map(({ kind, calls }) => ({ kind, calls, length: calls }));
  const whole = frame.times[lane];
  const called = frame.plates.filter(({ calls }) => calls > 0);
  const sum = called.reduce((total, { ms }) => total + (ms[lane] ?? NaN), 0);
  if (!(sum > 0)) return [{ kind: "operator", calls: 1, length: whole }];
  return called.map(({ kind, calls, ms }) => ({ kind, calls, length: (ms[lane] * whole) / sum }));
}

/** Calls one after the other. @param {number} x @param {number} size @param {number} calls */
function blocksPath(x, size, calls) {
  const call = size / Math.max(1, calls);
  if (call <= MIN_CALL) return `M${x.toFixed(2)} 0h${size.toFixed(2)}v${HEIGHT}H${x.toFixed(2)}z`;
  const width = call - Math.min(2, call / 4);
  let d = "";
  for (let i = 0; i < calls; i += 1) {
    const left = (x + i * call).toFixed(2);
    d += `M${left} 0h${width.toFixed(2)}v${HEIGHT}H${left}z`;
  }
  return d;
}

export const STYLE = `
.ce-timeline{flex:none;display:flex;flex-wrap:wrap;align-items:center;gap:3px 14px;padding:5px 12px;border-top:1px solid var(--ce-line);background:var(--ce-panel)}
.ce-runs{flex:1 1 480px;display:grid;grid-template-columns:auto 1fr auto;gap:3px 10px;align-items:center;font-size:12.5px}
.ce-run{display:block;width:100%;height:14px}
.ce-run-name{color:var(--ce-muted)}
.ce-certified{margin-left:4px;padding:0 7px;border:1px solid var(--ce-line);border-radius:8px;white-space:nowrap}
.ce-run-missing{flex:1 0 100%;color:var(--ce-muted);font-size:12.5px}
.ce-run-missing:empty{display:none}
.ce-timing{display:flex;align-items:center;gap:8px;font-size:12.5px}
.ce-timing progress{width:90px;accent-color:var(--ce-accent)}
${BACKENDS}`;
