/** The data of a query, as the pad and the images read it. */

import { checkVersion, parseJson } from "../shared/contract.js";
import { like, record } from "../shared/reading.js";

/** @typedef {ReturnType<typeof readImage>} Image */
const readImage = like({ label: "", x: [0] });
/** @typedef {ReturnType<typeof readAll>} Query */
const readAll = like({
  image: [0],
  most: 0,
  step: 1,
  examples: [readImage],
  x: [0],
  observed: [Boolean],
  n: 0,
  answers: [readImage],
  note: "",
  chosen: 0,
});

/** The query, or null if there is nothing to paint. @param {any} json @returns {Query | null} */
export function readQuery(json) {
  if (!json) return null;
  const raw = record(parseJson("The query is", json));
  checkVersion("The query has", raw.version);
  const query = readAll(raw);
  return query.image.length === 3 ? query : null;
}
