/** The path of a line through its points; `explorer/views/lines/drawing.py` draws the same for images. */

import { short } from "./shapes.js";

/** @typedef {import("./types.js").Point} Point */

/** Radius of a corner between a horizontal and a vertical part. */
const CORNER = 8;

/** A smooth line through points. @param {Point[]} points */
export function curve(points) {
  let d = `M${at(points[0].x, points[0].y)}`;
  for (let index = 1; index < points.length; index += 1) d += part(points[index - 1], points[index]);
  return d;
}

/** @param {number} x @param {number} y */
const at = (x, y) => `${short(x)} ${short(y)}`;

/** @param {Point} p @param {Point} q */
function part(p, q) {
  if (Boolean(p.flat) !== Boolean(q.flat)) return corner(p, q);
  if (Math.abs(p.flat ? p.y - q.y : p.x - q.x) < 0.5) return `L${at(q.x, q.y)}`;
  const [x, y] = [(p.x + q.x) / 2, (p.y + q.y) / 2];
  const [a, b] = p.flat ? [at(x, p.y), at(x, q.y)] : [at(p.x, y), at(q.x, y)];
  return `C${a} ${b} ${at(q.x, q.y)}`;
}

/** A horizontal and a vertical part with a round corner between them. @param {Point} p @param {Point} q */
function corner(p, q) {
  const [x, y] = p.flat ? [q.x, p.y] : [p.x, q.y];
  const [across, down] = [CORNER * Math.sign(q.x - p.x), CORNER * Math.sign(q.y - p.y)];
  const [from, to] = p.flat ? [at(x - across, y), at(x, y + down)] : [at(x, y - down), at(x + across, y)];
  return `L${from}Q${at(x, y)} ${to}L${at(q.x, q.y)}`;
}

/** The head of an arrow that ends at the last point. @param {Point[]} points */
export function head(points) {
  const [before, tip] = [points[points.length - 2], points[points.length - 1]];
  const back = -7 * (Math.sign(tip.flat ? tip.x - before.x : tip.y - before.y) || 1);
  return `M${at(tip.x, tip.y)}${tip.flat ? `l${back} -4v8Z` : `l-4 ${back}h8Z`}`;
}
