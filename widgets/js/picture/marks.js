/** What is marked in a picture at first: nothing. */

import { NO_LENS } from "../plates/lens.js";

/** @type {import("./types.js").Marks} */
export const NO_MARKS = {
  selected: new Set(),
  found: null,
  hull: "",
  hover: "",
  focus: "",
  cell: -1,
  values: null,
  lens: NO_LENS,
  layers: [],
  pins: { tried: "", shut: false, hidden: false },
  beliefs: null,
};
