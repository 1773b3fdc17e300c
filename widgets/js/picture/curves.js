/** The path of a line through its points. */

import { short } from "./shapes.js";

/**
 * @typedef {import("./types.js").Edge} Edge
 * @typedef {import("./types.js").Point} Point
 */

/** A smooth line through the points of an edge. @param {Point[]} points @param {"v" | "h"} run */
export function curve(points, run) {
  const at = (/** @type {number} */ x, /** @type {number} */ y) => `${short(x)} ${short(y)}`;
  let d = `M${at(points[0].x, points[0].y)}`;
  for (let index = 1; index < points.length; index += 1) {
    const [p, q] = [points[index - 1], points[index]];
    if (p.side || q.side) {
      // A corner between a horizontal segment at the box and a vertical one in the lane.
      const [corner, r] = [p.side ? { x: q.x, y: p.y } : { x: p.x, y: q.y }, 8];
      const from = p.side
        ? { x: corner.x - Math.sign(q.x - p.x) * r, y: p.y }
        : { x: p.x, y: corner.y - Math.sign(q.y - p.y) * r };
      const to = p.side
        ? { x: q.x, y: corner.y + Math.sign(q.y - p.y) * r }
        : { x: corner.x + Math.sign(q.x - p.x) * r, y: q.y };
      d += `L${at(from.x, from.y)}Q${at(corner.x, corner.y)} ${at(to.x, to.y)}L${at(q.x, q.y)}`;
      continue;
    }
    const straight = Math.abs(run === "v" ? p.x - q.x : p.y - q.y) < 0.5;
    const [a, b] =
      run === "v"
        ? [at(p.x, (p.y + q.y) / 2), at(q.x, (p.y + q.y) / 2)]
        : [at((p.x + q.x) / 2, p.y), at((p.x + q.x) / 2, q.y)];
    d += straight ? `L${at(q.x, q.y)}` : `C${a} ${b} ${at(q.x, q.y)}`;
  }
  return d;
}

/** The head of an arrow that ends at the last point. @param {Point[]} points @param {"v" | "h"} run */
export function head(points, run) {
  const [before, tip] = [points[points.length - 2], points[points.length - 1]];
  const level = run === "h" || tip.side;
  const s = Math.sign(level ? tip.x - before.x : tip.y - before.y) || 1;
  return `M${short(tip.x)} ${short(tip.y)}${level ? `l${-7 * s} -4v8Z` : `l-4 ${-7 * s}h8Z`}`;
}

/**
 * The point at fraction `t` of an edge's middle segment, by default its centre.
 * @param {Edge} edge @param {number} t @returns {Point}
 */
export function along(edge, t) {
  const parts = edge.points.length - 1;
  const part = Math.min(parts - 1, Math.floor(t * parts));
  const u = t * parts - part;
  const [p, q] = [edge.points[part], edge.points[part + 1]];
  const smooth = 3 * u * u * (1 - u) + u * u * u;
  const even = 1.5 * u * (1 - u) * (1 - u) + 1.5 * u * u * (1 - u) + u * u * u;
  return edge.run === "v"
    ? { x: p.x + (q.x - p.x) * smooth, y: p.y + (q.y - p.y) * even }
    : { x: p.x + (q.x - p.x) * even, y: p.y + (q.y - p.y) * smooth };
}
