/** The half bars below a plate: the measured time of its calls, a bar for each lane. */

import { laneClass } from "../shared/lanes.js";
import { PLATES } from "./look.js";

/** @typedef {import("../picture/types.js").Box} Box */

/** Bars and the gaps between them are at least as high on the screen as in the picture. */
const { length: LENGTH, off: OFF, thick: THICK, gap: GAP } = PLATES.bars;

/**
 * A track as long as the longest bar, and the bar of each lane.
 * @param {import("../shared/elements.js").Make["s"]} s @param {Box} box
 */
export const barsElement = (s, { plate }) =>
  (plate?.times || []).map(({ lane, share }) => ({
    share,
    track: s("rect", { class: "ce-lane-track" }),
    bar: s("rect", { class: laneClass(lane) }),
  }));

/**
 * Lay out the bars for a scale; returns the room that they take below the cells.
 * @param {ReturnType<typeof barsElement>} bars @param {Box} box @param {number} k
 */
export function layBars(bars, box, k) {
  const [thick, gap] = [THICK, GAP].map((size) => size / Math.min(1, k));
  bars.forEach(({ share, track, bar }, at) => {
    const y = box.y + box.h / 2 + OFF + at * (thick + gap);
    for (const [rect, width] of [
      [track, LENGTH],
      [bar, Math.max(share * LENGTH, 1 / k)],
    ]) {
      rect.setAttribute("x", box.x - LENGTH / 2);
      rect.setAttribute("y", y);
      rect.setAttribute("width", width);
      rect.setAttribute("height", thick);
    }
  });
  return bars.length ? OFF + bars.length * (thick + gap) : 0;
}
