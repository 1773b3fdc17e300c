/** The marks of a score, and where they are for a camera. */

import { list, number, record, text, texts } from "../shared/reading.js";

/**
 * @typedef {{shape: string, key: string, at: number[], was: string, fill: string, stroke: string, width: number,
 *   dash: number[], radius: number, thick: number, words: string[], ink: string, size: number, bold: boolean,
 *   start: boolean, fixed: boolean, box: string, tip: string, zooms: boolean, pair: string[], lights: string[]}} Mark
 * @typedef {{left: number, marks: Mark[]}} Score  `left`: where the row begins
 * @typedef {{left: number, top: number, width: number, height: number}} Area
 * @typedef {{k: number, x: number, width: number, down: number}} Lens  `down`: how much heights are stretched
 */

/** @param {any} value @returns {Score | null} */
export const readScore = (value) =>
  value ? { left: number(value.left), marks: list(value.marks).map((mark) => readMark(record(mark))) } : null;

/** @param {Record<string, any>} mark @returns {Mark} */
function readMark(mark) {
  const { shape, key, at, was, fill, stroke, width, dash, radius, thick, words, ink, size, box, tip, pair, lights } =
    mark;
  const numbers = list(at).map((item) => number(item));
  return {
    shape: text(shape),
    key: text(key),
    at: [0, 1, 2, 3].map((index) => numbers[index] ?? 0),
    was: text(was),
    fill: text(fill),
    stroke: text(stroke),
    width: number(width, 1),
    dash: list(dash).map((item) => number(item)),
    radius: number(radius),
    thick: number(thick, 4),
    words: texts(words),
    ink: text(ink),
    size: number(size, 12),
    bold: mark.bold === true,
    start: mark.start === true,
    fixed: mark.fixed === true,
    box: text(box),
    tip: text(tip),
    zooms: mark.zooms === true,
    pair: texts(pair),
    lights: texts(lights),
  };
}

/** A mark on the screen. @param {Mark} mark @param {Lens} lens @param {number[]} [at] @returns {Area} */
export function areaOf(mark, { k, x, width, down }, at = mark.at) {
  const [left, top, wide, high] = at;
  if (mark.fixed) return { left, top: top * down, width: wide, height: high * down };
  const round = mark.shape === "dot" ? 1 : down;
  return { left: width / 2 + k * (left - x), top: top * down, width: wide * k, height: high * round };
}
