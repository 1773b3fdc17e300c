/** The line at a point of a picture, rows of boxes, and the box next to a box. */

/** @import { Box, Edge, Picture, Point } from "./types.js" */

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

/**
 * Rows of boxes that overlap vertically, from top to bottom; a single row if there are no clear gaps.
 * @param {Box[]} boxes @returns {{t: number, b: number, boxes: Box[]}[]}
 */
export function rowsOf(boxes) {
  /** @type {{t: number, b: number, boxes: Box[]}[]} */
  const rows = [];
  for (const box of [...boxes].sort((a, b) => a.y - a.h / 2 - (b.y - b.h / 2))) {
    const [t, b] = [box.y - box.h / 2, box.y + box.h / 2];
    const last = rows[rows.length - 1];
    if (last && t < last.b) {
      last.b = Math.max(last.b, b);
      last.boxes.push(box);
    } else rows.push({ t, b, boxes: [box] });
  }
  for (const row of rows) row.boxes.sort((a, b) => a.x - b.x);
  return rows;
}

/**
 * The next box in a direction; `previous` and `next` follow the rows in reading order.
 * @param {Picture} picture @param {string} id @param {"up" | "down" | "previous" | "next"} way
 * @returns {Box | undefined}
 */
export function beside(picture, id, way) {
  const rows = rowsOf(picture.boxes);
  const row = rows.findIndex((item) => item.boxes.some((box) => box.id === id));
  if (row < 0) return rows[0].boxes[0];
  const box = /** @type {Box} */ (picture.byId.get(id));
  if (way === "up" || way === "down") {
    const other = rows[row + (way === "up" ? -1 : 1)];
    return (
      other && other.boxes.reduce((best, item) => (Math.abs(item.x - box.x) < Math.abs(best.x - box.x) ? item : best))
    );
  }
  const order = rows.flatMap((item) => item.boxes);
  return order[order.indexOf(box) + (way === "previous" ? -1 : 1)];
}
