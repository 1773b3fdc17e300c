/** Where boxes and lines are while the picture moves from one step to the next. */

/**
 * @typedef {import("./types.js").Box} Box
 * @typedef {import("./types.js").Edge} Edge
 * @typedef {import("./types.js").Point} Point
 */

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
