/** The time line: what PyTorch runs, one call after the other, before and after the step. */

import { isAsking } from "./state.js";

/**
 * @typedef {import("./state.js").Changed} Changed
 * @typedef {import("../picture/types.js").Frame} Frame
 */

const WIDTH = 1000;
const HEIGHT = 14;
/** Calls narrower than this are drawn without gaps between them. */
const MIN_CALL = 2.5;

/** @param {import("./ui.js").Ui} ui @param {import("./state.js").Store} store */
export function makeTimeline({ make }, { state }) {
  const { h, s } = make;
  const rows = h("div", { class: "ce-runs" });
  const element = h("div", { class: "ce-timeline", role: "group", "aria-label": "Time line", hidden: true }, rows);

  /** The frame of the step, or else the last one before it, and the one before that. @returns {Frame[]} */
  function framesShown() {
    const frames = state.steps.slice(0, state.step + 1).flatMap((step) => step.frame ?? []);
    const current = frames[frames.length - 1];
    if (!current) return [];
    return current.step === state.step && frames.length > 1 ? frames.slice(-2) : [current];
  }

  /** @param {Frame} frame @param {string} label @param {number} whole length of the longest row @param {boolean} timed */
  function row(frame, label, whole, timed) {
    let x = 0;
    const blocks = partsOf(frame, timed).flatMap(({ kind, calls, length }) => {
      const size = (WIDTH * length) / whole;
      const d = blocksPath(x, size, calls);
      x += size;
      return s("path", { d, fill: state.palette.roles[kind] || state.palette.roles.operator });
    });
    const words = `${frame.calls.toLocaleString("en-US")} ${frame.calls === 1 ? "call" : "calls"}`;
    const time = frame.times.cpu === undefined ? "" : `, ${frame.times.cpu.toPrecision(3)} ms on the CPU`;
    const view = {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: "none",
      class: "ce-run",
      "aria-hidden": "true",
    };
    return [
      h("span", { class: "ce-run-name", text: label }),
      s("svg", view, blocks),
      h("span", { text: words + time }),
    ];
  }

  return {
    element,
    reads: /** @type {const} */ (["steps", "step", "options", "palette"]),
    draw() {
      const shown = framesShown();
      const drawn = shown.length > 0 && shown.every((frame) => frame.plates.length);
      element.hidden = !drawn || state.options.film === false || state.options.stepper === false || isAsking(state);
      if (element.hidden) return;
      const timed = shown.every((frame) => frame.times.cpu !== undefined); // rows are compared: one unit for both
      const whole = Math.max(...shown.map((frame) => lengthOf(frame, timed)));
      const labels = shown.length > 1 ? ["before", "after"] : ["runs"];
      rows.replaceChildren(...shown.flatMap((frame, at) => row(frame, labels[at], whole, timed)));
    },
  };
}

/** How long a frame runs: measured, or else one for each call. @param {Frame} frame @param {boolean} timed */
const lengthOf = (frame, timed) => (timed ? frame.times.cpu : frame.calls);

/**
 * The plates in the order in which they run, with their lengths: their measured times if all are known; not told apart if
 * only the whole was measured; or else one for each call.
 * @param {Frame} frame @param {boolean} timed @returns {{kind: string, calls: number, length: number}[]}
 */
function partsOf(frame, timed) {
  const whole = frame.times.cpu;
  if (!timed) return frame.plates.map(({ kind, calls }) => ({ kind, calls, length: calls }));
  const sum = frame.plates.reduce((total, { ms }) => total + (ms ?? NaN), 0);
  if (!(sum > 0)) return [{ kind: "operator", calls: 1, length: whole }];
  return frame.plates.map(({ kind, calls, ms }) => ({ kind, calls, length: ((ms ?? 0) * whole) / sum }));
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
.ce-timeline{flex:none;padding:5px 12px;border-top:1px solid var(--ce-line);background:var(--ce-panel)}
.ce-runs{display:grid;grid-template-columns:auto 1fr auto;gap:3px 10px;align-items:center;font-size:12.5px}
.ce-run{display:block;width:100%;height:14px}
.ce-run-name{color:var(--ce-muted)}
`;
