/** The values of a run from their JSON, and which of them the cells show. */

import { asDict, dictOf, like } from "../shared/reading.js";

/** By layer, or `node/slice`: the logarithm of its value, and its place on the scale. @typedef {Map<string, number[]>} Cells */

/** @param {any} value @returns {Cells} */
const readCells = (value) => new Map(Object.entries(dictOf([0])(value)));
const readRun = like({ label: "", x: [0], outputs: dictOf(""), same: "", cells: readCells });
/** `picked`: the run that the host has picked, or -1. */
const readAll = like({
  missing: "",
  image: [0],
  most: 1,
  paints: false,
  runs: [readRun],
  steps: [[""]],
  scale: [""],
  note: "",
  picked: -1,
});
/** @typedef {ReturnType<typeof readRun>} Run */
/** @typedef {ReturnType<typeof readAll>} Values */

/** @param {any} value @returns {Values | null} */
export function readValues(value) {
  const raw = asDict(value);
  return Object.keys(raw).length ? readAll(raw) : null;
}

/**
 * The value of a cell; undefined if it is not known.
 * @param {Cells} cells @param {import("../picture/types.js").Box} box @param {number} index
 */
export function valueOf(cells, box, index) {
  const layer = box.plate?.cells[index] ?? -1;
  return cells.get(layer >= 0 ? String(layer) : `${box.ids[0]}/${index}`);
}
