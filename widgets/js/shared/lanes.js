/** Lanes: whose times are shown side by side, the devices of this machine and of one with a recorded run. */

import themes from "../../explorer_widgets/theme.json" with { type: "json" };
import { text } from "./reading.js";

/**
 * Their names and colours, in the order in which they are shown.
 * @type {Record<string, {words: string, line: string, recorded: boolean, backend: string}>}
 */
const LANES = themes.lanes;

/** @param {string} lane */
export const laneName = (lane) => LANES[lane]?.words || lane;

/** Whether its times are those of a backend, not of the layers. @param {string} lane */
export const isOfBackend = (lane) => Boolean(LANES[lane]?.backend);

/** Whether its times were recorded on another machine. @param {string} lane */
export const isRecorded = (lane) => Boolean(LANES[lane]?.recorded);

/** The lanes among the keys, in the order in which they are shown. @param {Record<string, unknown>} times */
export const lanesOf = (times) => Object.keys(LANES).filter((lane) => lane in times);

/** The class of a bar: the device determines its colour, and a recorded run has an outline only. @param {string} lane */
export const laneClass = (lane) => `ce-lane ce-lane-${text(lane)}${LANES[lane]?.recorded ? " ce-lane-recorded" : ""}`;

/** @param {number} ms */
export const timeWords = (ms) =>
  ms >= 1000
    ? `${(ms / 1000).toPrecision(3)} s`
    : ms >= 1
      ? `${ms.toPrecision(3)} ms`
      : `${(1000 * ms).toPrecision(3)} µs`;

export const STYLE = `
.ce-root .ce-lane-track{fill:var(--ce-line)}
${Object.entries(LANES)
  .map(
    ([lane, { line }]) =>
      `.ce-root .ce-lane-${lane}{fill:var(--ce-${line});stroke:var(--ce-${line});background:var(--ce-${line});border-color:var(--ce-${line})}\n`,
  )
  .join("")}.ce-root .ce-lane-recorded{fill-opacity:${themes.plates.bars.recorded}}
`;
