/** Images on a canvas: pixels in shades of grey, those that are not observed hatched, an outline around those that are. */

import { isInside, valueAt } from "./evidence.js";

/** @import { Evidence } from "./evidence.js" */

/** The hatch and the lines between pixels: pixels are shades of grey in both themes, so these are the same in both. */
const [HATCH, GRID] = ["#5b636d", "rgb(125 133 143 / 45%)"];
/** The smallest pixel that is large enough for lines between them. */
const MIN_GRID = 6;
/** The outline of observed pixels: a line on a wider one, so that it is seen on light and on dark pixels. */
const OUTLINE = [
  { role: "bg", width: 5 },
  { role: "accent", width: 2.5 },
];

/** The size of a pixel of an image of this shape. @param {number[]} shape @param {number} side the longest side in pixels */
export const scaleOf = ([, height, width], side) => Math.max(1, Math.floor(side / Math.max(width, height)));

/** @param {any} canvas @param {number[]} shape @param {number} side */
function penOf(canvas, shape, side) {
  const scale = scaleOf(shape, side);
  canvas.width = shape[2] * scale;
  canvas.height = shape[1] * scale;
  return { pen: typeof canvas.getContext === "function" ? canvas.getContext("2d") : null, scale };
}

/** @param {number} value @param {number} most */
function grey(value, most) {
  const shade = Math.round(255 * (1 - Math.min(1, Math.max(0, value / (most || 1)))));
  return `rgb(${shade} ${shade} ${shade})`;
}

/**
 * Draw what is observed; other pixels are hatched.
 * @param {any} canvas @param {Evidence} evidence @param {number[]} shape @param {number} most @param {number} side
 * @param {Record<string, string>} roles @param {number[] | null} cursor column and row
 */
export function drawEvidence(canvas, evidence, shape, most, side, roles, cursor) {
  const { pen, scale } = penOf(canvas, shape, side);
  if (!pen) return;
  const [, height, width] = shape;
  pen.fillStyle = roles.view;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.strokeStyle = HATCH;
  pen.lineWidth = 1;
  for (let row = 0; row < height; row += 1) {
    for (let column = 0; column < width; column += 1) {
      const value = valueAt(evidence, shape, column, row);
      const [left, top] = [column * scale, row * scale];
      if (value === null) {
        pen.beginPath();
        pen.moveTo(left, top + scale);
        pen.lineTo(left + scale, top);
        pen.stroke();
        continue;
      }
      pen.fillStyle = grey(value, most);
      pen.fillRect(left, top, scale, scale);
    }
  }
  drawGrid(pen, shape, scale);
  if (!cursor) return;
  pen.strokeStyle = roles.accent;
  pen.lineWidth = 3;
  pen.strokeRect(cursor[0] * scale + 1.5, cursor[1] * scale + 1.5, scale - 3, scale - 3);
}

/** Draw a line between two pixels, if there is room. @param {any} pen @param {number[]} shape @param {number} scale */
function drawGrid(pen, [, height, width], scale) {
  if (scale < MIN_GRID) return;
  pen.strokeStyle = GRID;
  pen.lineWidth = 1;
  pen.beginPath();
  for (let column = 1; column < width; column += 1) {
    pen.moveTo(column * scale + 0.5, 0);
    pen.lineTo(column * scale + 0.5, height * scale);
  }
  for (let row = 1; row < height; row += 1) {
    pen.moveTo(0, row * scale + 0.5);
    pen.lineTo(width * scale, row * scale + 0.5);
  }
  pen.stroke();
}

/**
 * Draw an image, with an outline around what was observed.
 * @param {any} canvas @param {number[]} x @param {Evidence | null} evidence @param {number[]} shape @param {number} most
 * @param {number} side @param {Record<string, string>} roles
 */
export function drawAnswer(canvas, x, evidence, shape, most, side, roles) {
  const { pen, scale } = penOf(canvas, shape, side);
  if (!pen) return;
  const [, height, width] = shape;
  const all = { x, observed: x.map(() => true) };
  for (let row = 0; row < height; row += 1) {
    for (let column = 0; column < width; column += 1) {
      pen.fillStyle = grey(valueAt(all, shape, column, row) ?? 0, most);
      pen.fillRect(column * scale, row * scale, scale, scale);
    }
  }
  if (!evidence) return;
  pen.beginPath();
  /** @param {number} column @param {number} row */
  const isSeen = (column, row) => isInside(shape, column, row) && valueAt(evidence, shape, column, row) !== null;
  for (let row = 0; row <= height; row += 1) {
    for (let column = 0; column <= width; column += 1) {
      const [left, top] = [column * scale, row * scale];
      if (isSeen(column, row) !== isSeen(column, row - 1)) {
        pen.moveTo(left, top);
        pen.lineTo(left + scale, top);
      }
      if (isSeen(column, row) !== isSeen(column - 1, row)) {
        pen.moveTo(left, top);
        pen.lineTo(left, top + scale);
      }
    }
  }
  for (const { role, width } of OUTLINE) {
    pen.strokeStyle = roles[role];
    pen.lineWidth = width;
    pen.stroke();
  }
}
