/**
 * How cells move from one picture to the next: a cell that is in both moves; cells that a rewrite replaces move into the
 * one that replaces them, and backwards they come out of it.
 */

/** @import { Area, Cell } from "./cells.js" */

/**
 * @typedef {{cell: Cell, from: Area, fades: boolean}} Moving  `fades`: it has no place in the picture before
 * @typedef {{cell: Cell, to: Area}} Leaving
 */

/** A rectangle of more than this many times the area of the cells in it is no longer seen as these cells. */
const MAX_AROUND = 8;

/** @param {Area} area */
const sizeOf = ({ w, h }) => w * h;

/** The rectangle around two. @param {Area} a @param {Area} b @returns {Area} */
function around(a, b) {
  const [x, y] = [Math.min(a.x, b.x), Math.min(a.y, b.y)];
  return { x, y, w: Math.max(a.x + a.w, b.x + b.w) - x, h: Math.max(a.y + a.h, b.y + b.h) - y };
}

/**
 * Which cell replaces which, in both directions.
 * @param {number[][]} origins @returns {number[][]} by layer
 */
function relatives(origins) {
  /** @type {number[][]} */
  const found = [];
  /** @param {number} one @param {number} other */
  const add = (one, other) => {
    if (found[one]) found[one].push(other);
    else found[one] = [other];
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
  // Lists by layer: a Map of 30,000 cells takes 20 ms.
  /** @type {Area[]} */
  const was = [];
  /** @type {Area[]} */
  const is = [];
  for (const { cell, area } of before) if (cell.layer >= 0) was[cell.layer] = area;
  for (const { layer, area } of cells) if (layer >= 0) is[layer] = area;
  const kin = relatives(origins);
  /**
   * Where a layer comes from or goes to: the rectangle around its relatives, or its own place if they are far apart; null
   * without relatives.
   * @param {number} layer @param {Area[]} places of the relatives @param {Area} own
   */
  function placeOf(layer, places, own) {
    /** @type {Area | null} */
    let found = null;
    let size = 0;
    for (const other of kin[layer] || []) {
      const area = places[other];
      if (!area) continue;
      found = found ? around(found, area) : area;
      size += sizeOf(area);
    }
    return found && sizeOf(found) > MAX_AROUND * size ? own : found;
  }
  const moving = cells.map((cell) => {
    const known = was[cell.layer];
    return { cell, from: known || placeOf(cell.layer, was, cell.area) || cell.area, fades: !known };
  });
  /** @type {Leaving[]} */
  const leaving = [];
  for (const { cell, area } of before) {
    const to = is[cell.layer] ? null : placeOf(cell.layer, is, area);
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
