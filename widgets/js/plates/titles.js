/** How wide the title of a plate may be: at a small scale it takes the room of neighbours that do not need theirs. */

import { textWidth } from "../shared/measuring.js";
import { PLATES } from "./look.js";

/**
 * @typedef {import("../picture/types.js").Box} Box
 * @typedef {import("../picture/types.js").Rect} Rect
 */

const TITLE = PLATES.title;
/** Least distance of a title from another one, as a share of its size. */
const APART = 0.5;

/** The baseline of the title of a plate. @param {Box} box */
export const baselineOf = (box) => box.y - box.h / 2 - (box.plate?.gap === 0 ? TITLE.above_sheets : TITLE.above);

/** Where the whole title of a plate would be. @param {Box} box @param {number} size @param {number} [off] around it @returns {Rect} */
function wholeTitle(box, size, off = 0) {
  const [half, bottom] = [textWidth(box.title, size, true) / 2 + off, baselineOf(box)];
  return { l: box.x - half, t: bottom - size, r: box.x + half, b: bottom };
}

/** @param {Rect} a @param {Rect} b */
const meet = (a, b) => a.l < b.r && b.l < a.r && a.t < b.b && b.t < a.b;

/** The cells of a plate. @param {Box} box @returns {Rect} */
const cellsArea = ({ x, y, w, h }) => ({ l: x - w / 2, t: y - h / 2, r: x + w / 2, b: y + h / 2 });

/**
 * The width for the title of each plate: all that it needs, unless it would meet the title or the cells of another plate.
 * @param {readonly Box[]} boxes of the picture @param {number} size of the titles
 */
export function titleRooms(boxes, size) {
  const around = boxes.map((box) => ({ box, title: wholeTitle(box, size), cells: cellsArea(box) }));
  return boxes.map((box) => {
    const room = box.plate?.room ?? 0;
    if (textWidth(box.title, size, true) <= room) return room;
    const area = wholeTitle(box, size, size * APART);
    const isFree = around.every(
      ({ box: other, title, cells }) => other === box || !(meet(area, title) || meet(area, cells)),
    );
    return isFree ? area.r - area.l : room;
  });
}
