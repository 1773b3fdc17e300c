/** The three beats of a movement: matches are outlined, cells merge where they are, and the picture settles. */

import { ease } from "../shared/timing.js";

const [OUTLINE_MS, MERGE_MS, SETTLE_MS] = [300, 350, 300];

/** @param {number} share */
const eased = (share) => ease(Math.min(1, Math.max(0, share)));

/**
 * @param {boolean} outlines whether matches are outlined first @param {boolean} merges whether plates are not the same as before
 */
export function beatsOf(outlines, merges) {
  const [outline, merge] = [outlines ? OUTLINE_MS : 0, merges ? MERGE_MS : 0];
  const lasts = outline + merge + SETTLE_MS;
  /** @param {number} t */
  const settling = (t) => Math.max(0, t * lasts - outline - merge) / SETTLE_MS;
  return {
    /** All of them, in milliseconds. */
    lasts,
    /** Whether matches are outlined at progress `t` of all beats. @param {number} t */
    isOutlining: (t) => t * lasts < outline,
    /** How far cells have merged. @param {number} t */
    merged: (t) => (merge ? eased((t * lasts - outline) / merge) : 1),
    /** How far the picture has settled. @param {number} t */
    settled: (t) => eased(settling(t)),
    /** The same for the camera, which eases itself. @param {number} t */
    progress: settling,
  };
}
/** @typedef {ReturnType<typeof beatsOf>} Beats */
