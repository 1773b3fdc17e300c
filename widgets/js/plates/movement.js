/**
 * How cells move from one picture to the next: a cell that is in both moves; cells that a rewrite replaces move into the
 * one that replaces them, and backwards they come out of it.
 */

/**
 * @typedef {import("./cells.js").Area} Area
 * @typedef {import("./cells.js").Cell} Cell
 * @typedef {{cell: Cell, from: Area, fades: boolean}} Moving  `fades`: it has no place in the picture before
 * @typedef {{cell: Cell, to: Area}} Leaving
 */

/** The rectangle around two. @param {Area} a @param {Area} b @returns {Area} */
function around(a, b) {
  const [x, y] = [Math.min(a.x, b.x), Math.min(a.y, b.y)];
  return { x, y, w: Math.max(a.x + a.w, b.x + b.w) - x, h: Math.max(a.y + a.h, b.y + b.h) - y };
}

/**
 * Which cell replaces which, in both directions.
 * @param {number[][]} origins @returns {Map<number, number[]>}
 */
function relatives(origins) {
  /** @type {Map<number, number[]>} */
  const found = new Map();
  /** @param {number} one @param {number} other */
  const add = (one, other) => {
    const others = found.get(one);
    if (others) others.push(other);
    else found.set(one, [other]);
  };
  for (const [made, ...replaced] of origins) {
    for (const old of replaced) {
      add(made, old);
      add(old, made);
    }
  }
  return found;
}

/**
 * @param {Cell[]} cells of the next picture
 * @param {{cell: Cell, area: Area}[]} before the cells as they are drawn now
 * @param {number[][]} origins for each layer that one of the two steps made: the layer, then those that it replaces
 * @returns {{moving: Moving[], leaving: Leaving[]}}
 */
export function movement(cells, before, origins) {
  /** @type {Map<number, Area>} */
  const was = new Map();
  /** @type {Map<number, Area>} */
  const is = new Map();
  for (const { cell, area } of before) if (cell.layer >= 0) was.set(cell.layer, area);
  for (const { layer, area } of cells) if (layer >= 0) is.set(layer, area);
  const kin = relatives(origins);
  /** The rectangle around the relatives of a layer. @param {number} layer @param {Map<number, Area>} places */
  function placeOf(layer, places) {
    /** @type {Area | null} */
    let found = null;
    for (const other of kin.get(layer) || []) {
      const area = places.get(other);
      if (area) found = found ? around(found, area) : area;
    }
    return found;
  }
  const moving = cells.map((cell) => {
    const known = was.get(cell.layer);
    return { cell, from: known || placeOf(cell.layer, was) || cell.area, fades: !known };
  });
  /** @type {Leaving[]} */
  const leaving = [];
  for (const { cell, area } of before) {
    const to = is.has(cell.layer) ? null : placeOf(cell.layer, is);
    if (to) leaving.push({ cell: { ...cell, area }, to });
  }
  return { moving, leaving };
}

/** An area between two, at progress `e`. @param {Area} a @param {Area} b @param {number} e @returns {Area} */
export const between = (a, b, e) => ({
  x: a.x + (b.x - a.x) * e,
  y: a.y + (b.y - a.y) * e,
  w: a.w + (b.w - a.w) * e,
  h: a.h + (b.h - a.h) * e,
});
