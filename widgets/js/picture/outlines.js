/** The outline of a hull: one line around its boxes, which excludes the boxes between them. */

import { MAX_HULLS } from "./limits.js";
import { around, meets, short } from "./shapes.js";

/**
 * @typedef {import("./types.js").Box} Box
 * @typedef {import("./types.js").Point} Point
 * @typedef {import("./types.js").Rect} Rect
 */

/**
 * Rectangles that together surround the boxes: one around each, and corridors between neighbours through the free rows.
 * @param {Box[]} boxes @param {number} pad @returns {Rect[]}
 */
export function cover(boxes, pad) {
  const rects = boxes.map((box) => around(box, pad));
  if (boxes.length > MAX_HULLS) return rects;
  const corridors = [];
  const joined = [0];
  const open = rects.map((_, index) => index).slice(1);
  while (open.length) {
    let best = { gap: Infinity, from: 0, to: 0, place: 0 };
    for (const from of joined) {
      open.forEach((to, place) => {
        const [a, b] = [rects[from], rects[to]];
        const dx = Math.max(0, b.l - a.r, a.l - b.r);
        const dy = Math.max(0, b.t - a.b, a.t - b.b);
        const gap = dy + 1.2 * dx;
        if (gap < best.gap) best = { gap, from, to, place };
      });
    }
    open.splice(best.place, 1);
    joined.push(best.to);
    corridors.push(...corridor(rects[best.from], rects[best.to]));
  }
  return [...rects, ...corridors];
}

/** @param {Rect} a @param {Rect} b @returns {Rect[]} */
function corridor(a, b) {
  const half = 9;
  if (meets(a, b)) return [];
  const [up, down] = a.t < b.t ? [a, b] : [b, a];
  if (up.b < down.t) {
    const [l, r] = [Math.max(up.l, down.l), Math.min(up.r, down.r)];
    if (r - l >= 2 * half) {
      const [middle, width] = [(l + r) / 2, Math.min(r - l, 44) / 2];
      return [{ l: middle - width, t: up.b - 1, r: middle + width, b: down.t + 1 }];
    }
    const right = (down.l + down.r) / 2 > (up.l + up.r) / 2;
    const from = right ? Math.max((up.l + up.r) / 2, up.r - 30) : Math.min((up.l + up.r) / 2, up.l + 30);
    const to = right ? Math.min((down.l + down.r) / 2, down.l + 30) : Math.max((down.l + down.r) / 2, down.r - 30);
    const middle = (up.b + down.t) / 2;
    return [
      { l: from - half, t: up.b - 1, r: from + half, b: middle + half },
      { l: Math.min(from, to) - half, t: middle - half, r: Math.max(from, to) + half, b: middle + half },
      { l: to - half, t: middle - half, r: to + half, b: down.t + 1 },
    ];
  }
  const [left, right] = a.l < b.l ? [a, b] : [b, a];
  const [t, d] = [Math.max(left.t, right.t), Math.min(left.b, right.b)];
  const middle = (t + d) / 2;
  return [{ l: left.r - 1, t: middle - half, r: right.l + 1, b: middle + half }];
}

/**
 * The outline of a union of rectangles, with rounded corners, traced along the grid that their sides span.
 * @param {Rect[]} rects @param {number} [radius]
 */
export function outline(rects, radius = 9) {
  const xs = [...new Set(rects.flatMap((rect) => [rect.l, rect.r]))].sort((a, b) => a - b);
  const ys = [...new Set(rects.flatMap((rect) => [rect.t, rect.b]))].sort((a, b) => a - b);
  const [columns, lines] = [xs.length - 1, ys.length - 1];
  const filled = new Uint8Array(Math.max(0, columns * lines));
  for (const rect of rects) {
    const [c0, c1] = [xs.indexOf(rect.l), xs.indexOf(rect.r)];
    const [r0, r1] = [ys.indexOf(rect.t), ys.indexOf(rect.b)];
    for (let row = r0; row < r1; row += 1) filled.fill(1, row * columns + c0, row * columns + c1);
  }
  /** @param {number} c @param {number} r */
  const at = (c, r) => c >= 0 && r >= 0 && c < columns && r < lines && filled[r * columns + c] === 1;
  /** Sides of the union, clockwise, keyed by the corner where they start. @type {Map<string, [number, number][]>} */
  const sides = new Map();
  /** @param {number} c0 @param {number} r0 @param {number} c1 @param {number} r1 */
  const side = (c0, r0, c1, r1) => {
    const key = `${c0} ${r0}`;
    const ends = sides.get(key);
    if (ends) ends.push([c1, r1]);
    else sides.set(key, [[c1, r1]]);
  };
  for (let r = 0; r < lines; r += 1) {
    for (let c = 0; c < columns; c += 1) {
      if (!at(c, r)) continue;
      if (!at(c, r - 1)) side(c, r, c + 1, r);
      if (!at(c + 1, r)) side(c + 1, r, c + 1, r + 1);
      if (!at(c, r + 1)) side(c + 1, r + 1, c, r + 1);
      if (!at(c - 1, r)) side(c, r + 1, c, r);
    }
  }
  let d = "";
  while (sides.size) {
    const [first] = sides.keys();
    let [c, r] = first.split(" ").map(Number);
    /** @type {Point[]} */
    const corners = [];
    for (;;) {
      const key = `${c} ${r}`;
      const ends = sides.get(key);
      if (!ends) break;
      const next = /** @type {[number, number]} */ (ends.pop());
      if (!ends.length) sides.delete(key);
      corners.push({ x: xs[c], y: ys[r] });
      [c, r] = next;
    }
    d += rounded(
      corners.filter((corner, index) => {
        const [p, q] = [corners[(index + corners.length - 1) % corners.length], corners[(index + 1) % corners.length]];
        return !((p.x === corner.x && corner.x === q.x) || (p.y === corner.y && corner.y === q.y));
      }),
      radius,
    );
  }
  return d;
}

/** @param {Point[]} corners @param {number} radius */
function rounded(corners, radius) {
  let d = "";
  corners.forEach((corner, index) => {
    const p = corners[(index + corners.length - 1) % corners.length];
    const q = corners[(index + 1) % corners.length];
    const before = Math.abs(p.x - corner.x) + Math.abs(p.y - corner.y);
    const after = Math.abs(q.x - corner.x) + Math.abs(q.y - corner.y);
    const by = Math.min(radius, before / 2, after / 2);
    const from = { x: corner.x + Math.sign(p.x - corner.x) * by, y: corner.y + Math.sign(p.y - corner.y) * by };
    const to = { x: corner.x + Math.sign(q.x - corner.x) * by, y: corner.y + Math.sign(q.y - corner.y) * by };
    const at = (/** @type {Point} */ { x, y }) => `${short(x)} ${short(y)}`;
    d += `${index ? "L" : "M"}${at(from)}Q${at(corner)} ${at(to)}`;
  });
  return `${d}Z`;
}
