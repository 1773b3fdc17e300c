/** The close-up of a plate from its JSON. */

import { like, maybe, numberOrNull } from "../shared/reading.js";

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
