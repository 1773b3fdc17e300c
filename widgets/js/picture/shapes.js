/** The outline and the symbol of a box by its kind, and the space that it takes. */

import { KINDS } from "../shared/theme.js";

/**
 * @typedef {import("./types.js").Box} Box
 * @typedef {import("./types.js").Rect} Rect
 */

/** @param {number} value */
export const short = (value) => String(Math.round(value * 10) / 10);

/** The outline of a box of a kind, centred at (0, 0). @param {string} kind @param {number} w @param {number} h */
export function boxPath(kind, w, h) {
  const [l, t, r, b] = [-w / 2, -h / 2, w / 2, h / 2];
  if (kind === "product") {
    const c = Math.min(10, h / 4);
    return `M${l + c} ${t}H${r - c}L${r} ${t + c}V${b - c}L${r - c} ${b}H${l + c}L${l} ${b - c}V${t + c}Z`;
  }
  const radius = Math.min(
    w / 2,
    kind === "input" || kind === "leaf" ? h / 2 : ["matmul", "view", "operator"].includes(kind) ? 2 : 8,
  );
  const arc = `a${radius} ${radius} 0 0 1 `;
  return (
    `M${l + radius} ${t}H${r - radius}${arc}${radius} ${radius}V${b - radius}${arc}${-radius} ${radius}` +
    `H${l + radius}${arc}${-radius} ${-radius}V${t + radius}${arc}${radius} ${-radius}Z`
  );
}

/** The symbol of a kind, as strokes in a square of 16. @param {string} kind */
export const symbolOf = (kind) => (KINDS[kind] || KINDS.operator).symbol;

/** Whether a role of the legend is a kind of box. @param {string} role */
export const isKind = (role) => role in KINDS;

/** The middle of the symbol, left in its box. @param {Box} box */
export const symbolCentre = (box) => -box.w / 2 + (box.kind === "input" || box.kind === "leaf" ? 19 : 16);

/** Offsets of the cards of a stack. */
export const STACK = [8, 4];

/** How far a stack extends beyond its box. @param {Box} box */
export const rise = (box) => (box.folds > 1 ? STACK[0] : 0);

/** @param {Box} box @param {number} pad @returns {Rect} */
export const around = (box, pad) => ({
  l: box.x - box.w / 2 - pad,
  t: box.y - box.h / 2 - pad - rise(box),
  r: box.x + box.w / 2 + pad + rise(box),
  b: box.y + box.h / 2 + pad,
});

/**
 * A line between the facing sides of two boxes, for edges without points.
 * @param {Box} source @param {Box} target @returns {import("./types.js").Point[]}
 */
export function facing(source, target) {
  const flat = Math.abs(target.y - source.y) < (source.h + target.h) / 2;
  const way = Math.sign(flat ? target.x - source.x : target.y - source.y) || 1;
  return /** @type {[Box, number][]} */ ([
    [source, way],
    [target, -way],
  ]).map(([box, side]) => ({
    x: box.x + (flat ? side * (box.w / 2 + (side > 0 ? rise(box) : 0)) : 0),
    y: box.y + (flat ? 0 : side * (box.h / 2 + (side < 0 ? rise(box) : 0))),
    flat,
  }));
}
