/** The words of a drawing of a circuit: titles above plates and numbers below them, wherever there is room. */

import { textWidth } from "../shared/measuring.js";

/**
 * @typedef {import("./reading.js").Drawn} Drawn
 * @typedef {{words: string, x: number, y: number}} Written the middle of the baseline
 */

/** The room around a word, and how far it may stand out of the drawing on the left and right, in heights of a line. */
const [ROOM, OUT] = [0.15, 1];

/** @param {number[]} one @param {number[]} other left, top, right and bottom */
const touch = (one, other) => one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];

/**
 * Place the numbers, then the titles; a word without room is left out.
 * @param {Drawn} drawn @param {number} line the height of a line, in the units of the drawing
 * @param {number} size of the font, in pixels
 * @returns {Written[]}
 */
export function placeWords({ plates, width, height }, line, size) {
  const taken = plates.map(({ at: [left, top, wide, high] }) => [left, top, left + wide, top + high]);
  const numbers = plates.map(({ units, at }) => ({ words: units, at, y: at[1] + at[3] + 1.1 * line }));
  const titles = plates.map(({ title, at }) => ({ words: title, at, y: at[1] - line / 2 }));
  return [...numbers, ...titles].flatMap(({ words, at: [left, , wide], y }) => {
    const x = left + wide / 2;
    const half = (textWidth(words, size, true) / size / 2 + ROOM) * line;
    const box = [x - half, y - 0.9 * line, x + half, y + ROOM * line];
    const isInside = box[0] >= -OUT * line && box[1] >= 0 && box[2] <= width + OUT * line && box[3] <= height;
    if (!isInside || taken.some((other) => touch(box, other))) return [];
    taken.push(box);
    return [{ words, x, y }];
  });
}
