/** The data of a query, as the pad and the images read it. */

import { list, number, record, text } from "../shared/reading.js";
import { checkVersion, parseJson } from "../shared/contract.js";

/**
 * @typedef {{label: string, x: number[]}} Image
 * @typedef {{shape: number[], most: number, step: number, examples: Image[], x: number[], observed: boolean[],
 *   n: number, answers: Image[], note: string, chosen: number}} Query
 */

/** @param {any} value */
const numbers = (value) => list(value).map((item) => number(item));

/** @param {any} value @returns {Image} */
const readImage = (value) => ({ label: text(record(value).label), x: numbers(record(value).x) });

/** The query, or null if there is nothing to paint. @param {any} json @returns {Query | null} */
export function readQuery(json) {
  if (!json) return null;
  const raw = record(parseJson("The query is", json));
  checkVersion("The query has", raw.version);
  const shape = numbers(raw.image);
  if (shape.length !== 3) return null;
  return {
    shape,
    most: number(raw.most),
    step: number(raw.step) || 1,
    examples: list(raw.examples).map(readImage),
    x: numbers(raw.x),
    observed: numbers(raw.observed).map(Boolean),
    n: number(raw.n),
    answers: list(raw.answers).map(readImage),
    note: text(raw.note),
    chosen: number(raw.chosen),
  };
}
