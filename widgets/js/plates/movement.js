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

/** The rectangle around several. @param {Area[]} areas @returns {Area} */
function around(areas) {
  const x = Math.min(...areas.map((area) => area.x));
  const y = Math.min(...areas.map((area) => area.y));
  const right = Math.max(...areas.map((area) => area.x + area.w));
  const bottom = Math.max(...areas.map((area) => area.y + area.h));
  return { x, y, w: right - x, h: bottom - y };
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

/** @param {{cell: Cell, area: Area}[]} cells @returns {Map<number, Area>} */
function areasByLayer(cells) {
  const found = new Map();
  for (const { cell, area } of cells) if (cell.layer >= 0) found.set(cell.layer, area);
  return found;
}

/**
 * @param {Cell[]} cells of the next picture
 * @param {{cell: Cell, area: Area}[]} before the cells as they are drawn now
 * @param {number[][]} origins for each layer that one of the two steps made: the layer, then those that it replaces
 * @returns {{moving: Moving[], leaving: Leaving[]}}
 */
export function movement(cells, before, origins) {
  const was = areasByLayer(before);
  const is = areasByLayer(cells.map((cell) => ({ cell, area: cell.area })));
  const kin = relatives(origins);
  /** @param {number} layer @param {Map<number, Area>} places @returns {Area[]} */
  const placesOf = (layer, places) => (kin.get(layer) || []).flatMap((other) => places.get(other) ?? []);
  const moving = cells.map((cell) => {
    const known = was.get(cell.layer);
    if (known) return { cell, from: known, fades: false };
    const parents = placesOf(cell.layer, was);
    return { cell, from: parents.length ? around(parents) : cell.area, fades: true };
  });
  const leaving = before.flatMap(({ cell, area }) => {
    if (is.has(cell.layer)) return [];
    const heirs = placesOf(cell.layer, is);
    return heirs.length ? [{ cell: { ...cell, area }, to: around(heirs) }] : [];
  });
  return { moving, leaving };
}

/** An area between two, at progress `e`. @param {Area} a @param {Area} b @param {number} e @returns {Area} */
export const between = (a, b, e) => ({
  x: a.x + (b.x - a.x) * e,
  y: a.y + (b.y - a.y) * e,
  w: a.w + (b.w - a.w) * e,
  h: a.h + (b.h - a.h) * e,
});
