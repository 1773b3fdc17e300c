/**
 * Rows of tables outside the view that name a cell: the row at the pointer, or the focused one, lights its cell. The arrow
 * keys move from row to row. A row has `data-node`, the folded layer, `data-slice`, and `data-layer`, which became the slice.
 */

import { picturesOf } from "../parts/state.js";

/** @import { Picture } from "../picture/types.js" */

/** @typedef {{node: number, slice: number, layer: number}} Named */

/**
 * The box and the cell that a row names: the layer, or after folding its slice.
 * @param {readonly Picture[]} pictures @param {Named} named @returns {{hover: string, cell: number}}
 */
export function cellNamed(pictures, { node, slice, layer }) {
  for (const box of pictures.flatMap(({ boxes }) => boxes)) {
    const cell = box.plate ? box.plate.cells.indexOf(layer) : -1;
    if (cell >= 0) return { hover: box.id, cell };
    if (box.ids.includes(layer)) return { hover: box.id, cell: -1 };
    if (box.ids.includes(node)) return { hover: box.id, cell: box.plate ? slice : -1 };
  }
  return { hover: "", cell: -1 };
}

/** `pointerover` would not leave the shadow root in which the pointer stays, and neither does `focusin` for the focus. */
const POINTED = ["pointermove", "focusin"];

/** The row of an event; it may be in a shadow root. @param {any} event */
const rowOf = (event) =>
  event.composedPath().find((/** @type {any} */ part) => part.getAttribute && part.getAttribute("data-slice") !== null);

/** @param {import("../graph.js").Page} page @returns {() => void} ends it */
export function makeRowLighting({ ui: { doc, guard }, store }) {
  const { state } = store;
  let isLit = false;

  /** @param {any} row */
  function light(row) {
    if (state.options.main !== true || (!row && !isLit)) return;
    isLit = Boolean(row);
    /** @param {string} name */
    const number = (name) => Number(row.getAttribute(`data-${name}`));
    const named = row && { node: number("node"), slice: number("slice"), layer: number("layer") };
    store.set(named ? cellNamed(picturesOf(state), named) : { hover: "", cell: -1 });
  }

  /** @param {any} event */
  function move(event) {
    const row = event.key === "ArrowDown" || event.key === "ArrowUp" ? rowOf(event) : null;
    const next = row && (event.key === "ArrowDown" ? row.nextElementSibling : row.previousElementSibling);
    if (!row) return;
    event.preventDefault();
    event.stopPropagation();
    if (!next) return;
    next.focus();
    light(next);
  }

  const [lit, moved] = [guard((/** @type {any} */ event) => light(rowOf(event))), guard(move)];
  for (const type of POINTED) doc.addEventListener(type, lit);
  doc.addEventListener("keydown", moved, true);
  return () => {
    for (const type of POINTED) doc.removeEventListener(type, lit);
    doc.removeEventListener("keydown", moved, true);
  };
}
