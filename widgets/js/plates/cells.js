/** Where the cells of plates are, and what colour they have. */

/** @import { Box, Picture } from "../picture/types.js" */

/**
 * @typedef {{x: number, y: number, w: number, h: number}} Area  x, y: the corner
 * @typedef {{layer: number, box: Box, index: number, area: Area, closed: boolean}} Cell
 */

/** The cells of a box in order. @param {Box} box @returns {Cell[]} */
export function cellsOf(box) {
  const plate = box.plate;
  if (!plate) return [];
  const [left, top] = [box.x - box.w / 2, box.y - box.h / 2];
  const { cells, places, unit, gap } = plate;
  return cells.map((layer, index) => {
    const at = 4 * index; // column, row, width and height
    const area = {
      x: left + places[at] * unit[0] + gap / 2,
      y: top + places[at + 1] * unit[1] + gap / 2,
      w: places[at + 2] * unit[0] - gap,
      h: places[at + 3] * unit[1] - gap,
    };
    return { layer, box, index, area, closed: gap === 0 };
  });
}

/** All cells of a picture, plate by plate. @param {Picture} picture */
export const allCells = (picture) => picture.boxes.flatMap(cellsOf);

/** The cell at a point of the picture, or in half of the gap around it. @param {Box} box @param {number} x @param {number} y */
export function cellAt(box, x, y) {
  const pad = (box.plate?.gap ?? 0) / 2;
  const holds = (/** @type {number} */ at, /** @type {number} */ from, /** @type {number} */ size) =>
    at >= from - pad && at <= from + size + pad;
  return cellsOf(box).find(({ area }) => holds(x, area.x, area.w) && holds(y, area.y, area.h)) || null;
}

/** The cells of each box. @param {import("./paint.js").Shown[]} cells */
export function byBox(cells) {
  /** @type {Map<Box, import("./paint.js").Shown[]>} */
  const found = new Map();
  let [box, own] = [cells[0]?.cell.box, /** @type {import("./paint.js").Shown[]} */ ([])]; // most cells are in the box of the one before
  if (box) found.set(box, own);
  for (const shown of cells) {
    if (shown.cell.box !== box) {
      box = shown.cell.box;
      own = found.get(box) || [];
      found.set(box, own);
    }
    own.push(shown);
  }
  return found;
}
