/** The outline, the symbol and the framed signs of a box, and the space that it takes. */

import { clip, textWidth } from "../shared/measuring.js";
import { inkOn, KINDS, roleColour } from "../shared/theme.js";

/** @import { Box, Rect } from "./types.js" */

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
  const flat = Math.abs(target.x - source.x) >= (source.w + target.w) / 2;
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

/**
 * @typedef {{name: string, x: number, y: number, w: number, h: number, r: number, fill: string, stroke: string, ink: string,
 *   words: string, font: string}} Corner  words in a frame of rounded corners around (x, y)
 */

/** Distances between the middles of two signs, and of two badges. */
const [SIGN_STEP, BADGE_STEP] = [18, 19];
const MAX_BADGES = 4;

/**
 * Signs at the upper left, the number of layers or folds at the upper right, badges at the lower right.
 * @param {Box} box @param {import("./types.js").Look} look in colours @param {import("../shared/theme.js").Palette} palette
 * @returns {Corner[]}
 */
export function cornersOf(box, look, palette) {
  const [right, bottom] = [box.w / 2, box.h / 2];
  const signs = look.signs.map(({ sign, ...colours }, index) => ({
    ...{ name: "ce-sign", x: -right + 3 + index * SIGN_STEP, y: -bottom, w: 16, h: 16, r: 8 },
    ...{ ...colours, words: sign, font: "700 12px" },
  }));
  const badges = box.badges.slice(0, MAX_BADGES).map((badge, index) => {
    const isLast = box.badges.length > MAX_BADGES && index === MAX_BADGES - 1;
    const words = isLast ? "…" : clip(badge.sign, 10, 24, true) || "!";
    const w = Math.max(17, 9 + textWidth(words, 10.5, true));
    const role = badge.tone in palette.roles ? badge.tone : "info";
    const [fill, ink, stroke] = [role, inkOn(role), "box"].map((one) => roleColour(one, palette));
    const x = right + 4 - index * BADGE_STEP - w / 2;
    return { name: "ce-badge", x, y: bottom, w, h: 17, r: 5, fill, stroke, ink, words, font: "700 10.5px" };
  });
  return [...signs, ...pillOf(box, palette.roles), ...badges];
}

/** @param {Box} box @param {Record<string, string>} roles @returns {Corner[]} */
function pillOf(box, { fg, panel }) {
  if (!box.pill) return [];
  const w = 13 + textWidth(box.pill, 11, true);
  const [fill, ink] = box.folds > 1 ? [fg, panel] : [panel, fg];
  const place = { x: box.w / 2 + 6 + rise(box) - w / 2, y: -box.h / 2 - rise(box), w, h: 18, r: 9 };
  return [{ name: "ce-pill", ...place, fill, stroke: fg, ink, words: box.pill, font: "600 11px" }];
}
