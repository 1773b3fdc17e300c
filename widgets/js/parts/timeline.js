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

  /** @param {Frame} frame @param {string} label @param {number} whole length of the longest row */
  function row(frame, label, whole) {
    const measured = frame.times.cpu !== undefined;
    const length = (WIDTH * lengthOf(frame)) / whole;
    const call = length / Math.max(1, frame.calls);
    const gap = call > MIN_CALL ? Math.min(2, call / 4) : 0;
    let x = 0;
    const blocks = frame.plates.map(({ kind, calls }) => {
      let d = "";
      if (gap)
        for (let i = 0; i < calls; i += 1)
          d += `M${(x + i * call).toFixed(2)} 0h${(call - gap).toFixed(2)}v${HEIGHT}H${(x + i * call).toFixed(2)}z`;
      else d = `M${x.toFixed(2)} 0h${(calls * call).toFixed(2)}v${HEIGHT}H${x.toFixed(2)}z`;
      x += calls * call;
      return s("path", { d, fill: state.palette.roles[kind] || state.palette.roles.operator });
    });
    const words = `${frame.calls.toLocaleString("en-US")} ${frame.calls === 1 ? "call" : "calls"}`;
    const time = measured ? `, ${frame.times.cpu.toPrecision(3)} ms on the CPU` : "";
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
      const whole = Math.max(...shown.map(lengthOf));
      const labels = shown.length > 1 ? ["before", "after"] : ["runs"];
      rows.replaceChildren(...shown.flatMap((frame, at) => row(frame, labels[at], whole)));
    },
  };
}

/** How long a frame runs: measured, or else one for each call. @param {Frame} frame */
const lengthOf = (frame) => frame.times.cpu ?? frame.calls;

export const STYLE = `
.ce-timeline{flex:none;padding:5px 12px;border-top:1px solid var(--ce-line);background:var(--ce-panel)}
.ce-runs{display:grid;grid-template-columns:auto 1fr auto;gap:3px 10px;align-items:center;font-size:12.5px}
.ce-run{display:block;width:100%;height:14px}
.ce-run-name{color:var(--ce-muted)}
`;
