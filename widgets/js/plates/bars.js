/** The half bars below a plate: the measured time of its calls, a bar for each lane. */

import { laneClass } from "../shared/lanes.js";

/** @typedef {import("../picture/types.js").Box} Box */

/** The length of the longest bar of a picture, in its pixels. */
const LENGTH = 84;
/** Distance from the cells, and height of a bar and of a gap between two, on the screen if that is larger. */
const [OFF, THICK, GAP] = [6, 5, 1.5];

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
