/** The observed pixels of an image: which are observed, and their values. All channels of a pixel change together. */

/** @typedef {{x: number[], observed: boolean[]}} Evidence */

/** The positions of a pixel in all channels. @param {number[]} shape @param {number} column @param {number} row */
function places([channels, height, width], column, row) {
  const at = row * width + column;
  return Array.from({ length: channels }, (_, channel) => channel * height * width + at);
}

/** Whether there is such a pixel. @param {number[]} shape @param {number} column @param {number} row */
export const isInside = ([, height, width], column, row) => column >= 0 && row >= 0 && column < width && row < height;

/**
 * Observe a pixel with a value, or, without one, no longer observe it.
 * @param {Evidence} evidence @param {number[]} shape @param {number} column @param {number} row @param {number | null} value
 */
export function paint({ x, observed }, shape, column, row, value) {
  if (!isInside(shape, column, row)) return;
  for (const at of places(shape, column, row)) {
    observed[at] = value !== null;
    x[at] = value ?? 0;
  }
}

/**
 * The same without the pixels of an area, given as shares of the height and the width from which on they are erased.
 * @param {Evidence} evidence @param {number[]} shape @param {{top?: number, left?: number}} from
 * @returns {Evidence}
 */
export function erase(evidence, shape, { top = 0, left = 0 }) {
  const [, height, width] = shape;
  const kept = { x: [...evidence.x], observed: [...evidence.observed] };
  for (let row = Math.floor(height * top); row < height; row += 1)
    for (let column = Math.floor(width * left); column < width; column += 1) paint(kept, shape, column, row, null);
  return kept;
}

/** The mean of a pixel over its channels; null if it is not observed. @param {Evidence} evidence @param {number[]} shape @param {number} column @param {number} row */
export function valueAt({ x, observed }, shape, column, row) {
  const found = places(shape, column, row);
  if (!found.every((at) => observed[at])) return null;
  return found.reduce((sum, at) => sum + (x[at] || 0), 0) / found.length;
}

/** How many pixels are observed, in words, or how to observe some. @param {Evidence} evidence @param {number[]} shape */
export function countWords(evidence, shape) {
  const [, height, width] = shape;
  let count = 0;
  for (let row = 0; row < height; row += 1)
    for (let column = 0; column < width; column += 1) if (valueAt(evidence, shape, column, row) !== null) count += 1;
  if (!count) return "Drag on the square to observe pixels.";
  const all = count === height * width;
  return `${count} of ${height * width} pixels observed${all ? "" : ", the rest hatched"}`;
}
