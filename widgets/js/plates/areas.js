/** Rectangles of words, and whether two meet. */

import { textWidth } from "../shared/measuring.js";
import { PLATES } from "./look.js";

/** @typedef {import("../picture/types.js").Rect} Rect */

/** @param {Rect} a @param {Rect} b */
export const meet = (a, b) => a.l < b.r && b.l < a.r && a.t < b.b && b.t < a.b;

/** Where a text of a plate is. @param {any} text @returns {Rect} */
export function areaOf(text) {
  const [x, y, size] = ["x", "y", "font-size"].map((name) => Number(text.getAttribute(name)));
  const half = textWidth(text.textContent, size, true) / 2;
  return { l: x - half, t: y - PLATES.ascent * size, r: x + half, b: y + (1 - PLATES.ascent) * size };
}
