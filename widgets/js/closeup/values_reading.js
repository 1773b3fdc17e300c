/** The values of a run from their JSON, and which of them the cells show. */

import { asDict, list, number, record, text, texts } from "../shared/reading.js";

/**
 * @typedef {Map<string, number[]>} Cells  by layer, or `node/slice`: the logarithm of its value, and its place on the scale
 * @typedef {{label: string, x: number[], outputs: Record<string, string>, same: string, cells: Cells}} Run
 * @typedef {{missing: string, image: number[], most: number, paints: boolean, runs: Run[], steps: string[][],
 *   scale: string[], note: string, picked: number}} Values  picked: the run that the host has picked, or -1
 */

/** @param {any} value @returns {Values | null} */
export function readValues(value) {
  const raw = asDict(value);
  if (!Object.keys(raw).length) return null;
  return {
    missing: text(raw.missing),
    image: numbers(raw.image),
    most: number(raw.most, 1),
    paints: raw.paints === true,
    runs: list(raw.runs).map((run) => readRun(record(run))),
    steps: list(raw.steps).map(texts),
    scale: texts(raw.scale),
    note: text(raw.note),
    picked: number(raw.picked, -1),
  };
}

/** @param {any} value */
const numbers = (value) => list(value).map((item) => number(item));

/** @param {Record<string, any>} value @returns {Run} */
const readRun = (value) => ({
  label: text(value.label),
  x: numbers(value.x),
  outputs: Object.fromEntries(Object.entries(record(value.outputs)).map(([step, output]) => [step, text(output)])),
  same: text(value.same),
  cells: new Map(Object.entries(record(value.cells)).map(([cell, pair]) => [cell, numbers(pair)])),
});

/**
 * The value of a cell; undefined if it is not known.
 * @param {Cells} cells @param {import("../picture/types.js").Box} box @param {number} index
 */
export function valueOf(cells, box, index) {
  const layer = box.plate?.cells[index] ?? -1;
  return cells.get(layer >= 0 ? String(layer) : `${box.ids[0]}/${index}`);
}
