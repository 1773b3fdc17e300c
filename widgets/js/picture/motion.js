/** Paths of lines, and places of boxes and lines while the picture moves from one step to the next. */

import { short } from "./shapes.js";

/** @import { Box, Edge, Point } from "./types.js" */

/**
 * Where the animation of a box starts: its old position, else the centre of the boxes it came from, else its position.
 * @param {Box} box @param {Map<string, Point>} from @returns {{at: Point, grown: boolean}}
 */
export function startOf(box, from) {
  const was = from.get(box.id);
  if (was) return { at: was, grown: true };
  const origins = /** @type {Point[]} */ (box.cameFrom.map((id) => from.get(id)).filter(Boolean));
  if (!origins.length) return { at: { x: box.x, y: box.y }, grown: false };
  const sum = origins.reduce((total, at) => ({ x: total.x + at.x, y: total.y + at.y }), { x: 0, y: 0 });
  return { at: { x: sum.x / origins.length, y: sum.y / origins.length }, grown: false };
}

/** The points of an edge whose ends are moved to `a` and `b`. @param {Edge} edge @param {Point} a @param {Point} b */
export function moved(edge, a, b) {
  const last = edge.points.length - 1;
  return edge.points.map((point, index) => ({
    ...point,
    x: point.x + a.x + ((b.x - a.x) * index) / last,
    y: point.y + a.y + ((b.y - a.y) * index) / last,
  }));
}

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
