/** Rows of boxes, and the box next to a box: above, below, before or after it in reading order. */

/**
 * @typedef {import("./types.js").Box} Box
 * @typedef {import("./types.js").Picture} Picture
 */

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
