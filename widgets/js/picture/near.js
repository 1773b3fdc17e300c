/** Which line of a picture is at a point. */

/**
 * @typedef {import("./types.js").Edge} Edge
 * @typedef {import("./types.js").Picture} Picture
 * @typedef {import("./types.js").Point} Point
 */

/** Distance of a point from the segment between two others. @param {Point} p @param {Point} a @param {Point} b */
function distance(p, a, b) {
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const along = ((p.x - a.x) * dx + (p.y - a.y) * dy) / (dx * dx + dy * dy || 1);
  const t = Math.min(1, Math.max(0, along));
  return Math.hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

/**
 * The line nearest to a point of the picture, if it is within reach.
 * @param {Picture} picture @param {Point} at @param {number} reach
 */
export function edgeAt({ edges }, at, reach) {
  /** @type {Edge | null} */
  let nearest = null;
  let least = reach;
  for (const edge of edges) {
    for (let index = 1; index < edge.points.length; index += 1) {
      const far = distance(at, edge.points[index - 1], edge.points[index]);
      if (far <= least) [nearest, least] = [edge, far];
    }
  }
  return nearest;
}
