/**
 * How cells move from one picture to the next: those of a plate gather in the middle of where they were, then all plates move
 * to their places. Cells that a rewrite replaces gather where the one does that replaces them; backwards they come out of it.
 */

/**
 * @import { Picture } from "../picture/types.js"
 * @import { Area, Cell } from "./cells.js"
 * @import { Shown } from "./paint.js"
 */

/**
 * @typedef {{cell: Cell, from: Area, middle: Area, fades: boolean, waits: boolean}} Moving  `middle`: where it is when its
 *   plate has gathered; `fades`: it has no place in the picture before; `waits`: until what it replaces has gathered
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
 * How far the middle of where the cells of each plate were is from its own.
 * @param {Pick<Moving, "cell" | "from">[]} moving
 */
function shifts(moving) {
  /** @type {Map<Cell["box"], {x: number, y: number, count: number}>} */
  const sums = new Map();
  for (const { cell, from } of moving) {
    const sum = sums.get(cell.box) || { x: 0, y: 0, count: 0 };
    if (!sum.count) sums.set(cell.box, sum);
    sum.x += from.x - cell.area.x + (from.w - cell.area.w) / 2;
    sum.y += from.y - cell.area.y + (from.h - cell.area.h) / 2;
    sum.count += 1;
  }
  return sums;
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
  /** Whether a layer takes the place of others that it alone replaces. @param {Cell} cell */
  const takesAll = ({ layer }) =>
    (kin[layer] || []).some((other) => was[other]) && kin[layer].every((other) => kin[other].length === 1);
  const starts = cells.map((cell) => {
    const known = was[cell.layer];
    return { cell, from: known || placeOf(cell.layer, was, cell.area) || cell.area, fades: !known };
  });
  const shift = shifts(starts);
  const moving = starts.map((one) => {
    const { area, box } = one.cell;
    const { x, y, count } = shift.get(box) || { x: 0, y: 0, count: 1 };
    const middle = { ...area, x: area.x + x / count, y: area.y + y / count };
    return { ...one, middle, waits: one.fades && takesAll(one.cell) };
  });
  for (const { cell, middle } of moving) if (cell.layer >= 0) is[cell.layer] = middle;
  /** @type {Leaving[]} */
  const leaving = [];
  for (const { cell, area } of before) {
    const to = is[cell.layer] ? null : placeOf(cell.layer, is, area);
    if (to) leaving.push({ cell: { ...cell, area }, to });
  }
  return { moving, leaving };
}

/**
 * The cells while they merge and settle. Colours are not blended: what is replaced is seen until it has merged.
 * @param {Moving[]} moving @param {number} merged @param {number} settled @returns {Shown[]}
 */
export const cellsAt = (moving, merged, settled) =>
  moving.map(({ cell, from, middle, fades, waits }) => ({
    cell,
    area: settled > 0 ? between(middle, cell.area, settled) : between(from, middle, merged),
    alpha: waits ? Number(merged >= 1) : fades && from === cell.area ? settled : 1,
  }));

/**
 * The cells that others replace, until they have merged.
 * @param {Leaving[]} leaving @param {number} merged @returns {Shown[]}
 */
export const leavingAt = (leaving, merged) =>
  merged >= 1 ? [] : leaving.map(({ cell, to }) => ({ cell, area: between(cell.area, to, merged), alpha: 1 }));

/** An area between two, at progress `e`. @param {Area} a @param {Area} b @param {number} e @returns {Area} */
export const between = (a, b, e) => ({
  x: a.x + (b.x - a.x) * e,
  y: a.y + (b.y - a.y) * e,
  w: a.w + (b.w - a.w) * e,
  h: a.h + (b.h - a.h) * e,
});

/**
 * The matches of a step on the plates of the picture before it, if that is what is drawn.
 * @param {Picture} before @param {Picture} shown
 */
export function docked(before, shown) {
  if (shown.step <= before.step) return [];
  return shown.matches.flatMap(({ nodes, ...match }) => {
    const boxes = nodes.flatMap((id) => before.byId.get(id) ?? []);
    return boxes.length === nodes.length ? [{ ...match, boxes, lens: null }] : [];
  });
}
