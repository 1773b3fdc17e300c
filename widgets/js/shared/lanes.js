/** Lanes: whose times are shown side by side, the devices of this machine and of one with a recorded run. */

import { text } from "./reading.js";

/** Their names, in the order in which they are shown. @type {Record<string, string>} */
export const LANES = {
  cpu: "CPU",
  cuda: "CUDA",
  "recorded-cpu": "CPU (recorded)",
  "recorded-cuda": "CUDA (recorded)",
};

/** @param {string} lane */
export const laneName = (lane) => LANES[lane] || lane;

/** The lanes among the keys, in the order in which they are shown. @param {Record<string, unknown>} times */
export const lanesOf = (times) => Object.keys(LANES).filter((lane) => lane in times);

/** The class of a bar: the device determines its colour, and a recorded run has an outline only. @param {string} lane */
export const laneClass = (lane) =>
  `ce-lane ce-lane-${text(lane).replace("recorded-", "")}${lane.startsWith("recorded-") ? " ce-lane-recorded" : ""}`;

/** @param {number} ms */
export const timeWords = (ms) =>
  ms >= 1000
    ? `${(ms / 1000).toPrecision(3)} s`
    : ms >= 1
      ? `${ms.toPrecision(3)} ms`
      : `${(1000 * ms).toPrecision(3)} µs`;

export const STYLE = `
.ce-root .ce-lane-track{fill:var(--ce-line)}
.ce-root .ce-lane-cpu{fill:var(--ce-viewLine);stroke:var(--ce-viewLine);background:var(--ce-viewLine);border-color:var(--ce-viewLine)}
.ce-root .ce-lane-cuda{fill:var(--ce-copyLine);stroke:var(--ce-copyLine);background:var(--ce-copyLine);border-color:var(--ce-copyLine)}
.ce-root .ce-lane-recorded{fill-opacity:.35}
`;
