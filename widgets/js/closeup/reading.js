/** The close-up of a plate from its JSON. */

import themes from "../../explorer_widgets/theme.json" with { type: "json" };
import { readLook } from "../picture/reading.js";
import { asDict, dictOf, like, maybe, numberOrNull } from "../shared/reading.js";

/** @import { Box, Look } from "../picture/types.js" */

/** @typedef {ReturnType<typeof readStrip>} Strip */
const readStrip = like({ title: "", kind: "operator", count: 0, prefix: "", suffix: "", numbers: [0], apart: false });

/** @typedef {ReturnType<typeof readMemory>} Memory */
const readMemory = like({
  sentence: "",
  line: "edge",
  sources: [readStrip],
  own: readStrip,
  arity: 0,
  reads: [0],
  copy: "",
  cut: "",
});

/** @typedef {ReturnType<typeof readSheet>} Sheet */
const readSheet = like({ title: "", shape: "", rows: 0, columns: 0, values: [numberOrNull], scale: [""] });

/** @typedef {ReturnType<typeof readParameters>} Parameters */
const readParameters = like({
  lines: [""],
  slice: 0,
  count: 0,
  of: "",
  sheets: [readSheet],
  overview: [readSheet],
  missing: "",
});

/** @typedef {ReturnType<typeof readCode>} Code */
const readCode = like({ lines: [""], formula: "", shapes: "", source: "", where: "", note: "" });

/** @typedef {NonNullable<ReturnType<typeof readCloseup>>} Closeup */
export const readCloseup = maybe({
  title: "",
  memory: maybe(readMemory),
  parameters: maybe(readParameters),
  code: maybe(readCode),
});

/** By layer, or `node/slice`: the logarithm of its value, and the position of its look. @typedef {Map<string, number[]>} Cells */
/** What cells show in place of their kind. @typedef {{cells: Cells, looks: Look[]}} CellValues */

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
  looks: [readLook],
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
 * @param {Cells} cells @param {Box} box @param {number} index
 */
export function valueOf(cells, box, index) {
  const layer = box.plate?.cells[index] ?? -1;
  return cells.get(layer >= 0 ? String(layer) : `${box.ids[0]}/${index}`);
}

/** The words on the buttons by name, in order. @type {Record<string, string>} */
export const PARTS = themes.closeup;
/** The part that is shown at first. */
export const FIRST = Object.keys(PARTS)[0];

/** The look of a cell by its value. @param {CellValues} values @param {Box} box @param {number} index @returns {Look} */
export function lookOf({ cells, looks }, box, index) {
  return looks[valueOf(cells, box, index)?.[1] ?? looks.length - 1] ?? box.look;
}
