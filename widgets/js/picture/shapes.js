/** The outline and the symbol of a box by its kind, and the space that it takes. */

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

/** Symbols of the kinds, as strokes in a square of 16. @type {Record<string, string>} */
const SYMBOLS = {
  input: "M2 12.5c3.2 0 3-9 6-9s2.8 9 6 9",
  sum: "M8 3v10M3 8h10",
  product: "M4.2 4.2l7.600 7.600M11.8 4.2l-7.600 7.600",
  fused: "M3 3l5 5.5L13 3M8 8.5v5",
  matmul: "M3 3h10v10h-10zM3 8h10M8 3v10",
  view: "M2.5 8h11M5 5.500l-2.500 2.500 2.500 2.500M11 5.500l2.500 2.500-2.500 2.500",
  operator: "M11.5 3.200c-3.200-1-4 1-4 4.300s-.2 6.5-3.800 5.300M4.800 7.5h5.400",
  leaf: "M8 5.2a2.8 2.8 0 1 0 .01 0z",
};

/** @param {string} kind */
export const symbolOf = (kind) => SYMBOLS[kind] || SYMBOLS.operator;

/** Whether a role of the legend is a kind of box. @param {string} role */
export const isKind = (role) => role in SYMBOLS;

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

/** @param {Rect} a @param {Rect} b */
export const meets = (a, b) => a.l < b.r && b.l < a.r && a.t < b.b && b.t < a.b;
