/** Rectangles of words at plates, and the room of a title: at a small scale it takes the room that neighbours do not need. */

import { textWidth } from "../shared/measuring.js";
import { PLATES } from "./look.js";
import { short } from "../picture/shapes.js";

/**
 * @import { Box, Picture, Rect } from "../picture/types.js"
 * @import { DrawnHull } from "../scenes/svg.js"
 * @import { Label } from "./labels.js"
 */

const TITLE = PLATES.title;
/** Least distance of a title from another one, as a share of its size. */
const APART = 0.5;

/** The baseline of the title of a plate. @param {Box} box */
export const baselineOf = (box) => box.y - box.h / 2 - (box.plate?.gap === 0 ? TITLE.above_sheets : TITLE.above);

/**
 * Where the whole title of a plate would be: in the middle, but not further to the left than the words of all plates.
 * @param {Box} box @param {number} size @param {number} from @returns {Rect}
 */
function wholeTitle(box, size, from) {
  const [width, bottom] = [textWidth(box.title, size, true), baselineOf(box)];
  const left = Math.max(from, box.x - width / 2);
  return { l: left, t: bottom - size, r: left + width, b: bottom };
}

/** The cells of a plate. @param {Box} box @returns {Rect} */
export const cellsArea = ({ x, y, w, h }) => ({ l: x - w / 2, t: y - h / 2, r: x + w / 2, b: y + h / 2 });

/** @param {Rect} rect @param {number} by */
const around = ({ l, t, r, b }, by) => ({ l: l - by, t, r: r + by, b });

/**
 * The middle and the width of the title of each plate: all that it needs, unless it would meet the title or the cells of
 * another plate.
 * @param {readonly Box[]} boxes of the picture @param {number} size of the titles @returns {{x: number, room: number}[]}
 */
export function titleRooms(boxes, size) {
  const from = Math.min(...boxes.map(({ x, w, plate }) => x - Math.max(w, plate?.room ?? 0) / 2));
  const all = boxes.map((box) => ({ box, title: wholeTitle(box, size, from), cells: cellsArea(box) }));
  return all.map(({ box, title: { l, t, r, b } }) => {
    const room = box.plate?.room ?? 0;
    if (r - l <= room) return { x: box.x, room };
    const area = around({ l, t, r, b }, size * APART);
    const isFree = all.every(
      ({ box: other, title, cells }) => other === box || !(meet(area, title) || meet(area, cells)),
    );
    return isFree ? { x: (l + r) / 2, room: area.r - area.l } : { x: box.x, room };
  });
}

/**
 * The width for the calls below each plate: all that they need, unless they would meet the calls, the title or the cells of
 * another plate: "4 ca…" says nothing.
 * @param {readonly Box[]} boxes of the picture @param {number} size of the words @param {number} title size of the titles
 * @returns {number[]}
 */
export function callRooms(boxes, size, title) {
  const all = boxes.map((box) => {
    const [half, t] = [textWidth(box.plate?.calls ?? "", size, true) / 2, box.y + box.h / 2 + PLATES.lines.below];
    const calls = { l: box.x - half, t, r: box.x + half, b: t + size };
    return { box, calls, title: wholeTitle(box, title, -Infinity), cells: cellsArea(box) };
  });
  return all.map(({ box, calls }) => {
    const [room, width] = [box.plate?.room ?? 0, calls.r - calls.l];
    if (width <= room) return room;
    const area = around(calls, size * APART);
    const isFree = all.every(
      (other) => other.box === box || ![other.calls, other.title, other.cells].some((rect) => meet(area, rect)),
    );
    return isFree ? width + 1 : room;
  });
}

/** The parts of the lines that pass plates, and of those between plates that were nearly folded. @param {Picture} picture @returns {Rect[]} */
export const passingLines = ({ edges, links }) =>
  [...edges.map(({ bends }) => bends), ...links.map(({ points }) => points)].flatMap((points) =>
    points.slice(1).map((end, at) => ({
      l: Math.min(points[at].x, end.x),
      t: Math.min(points[at].y, end.y),
      r: Math.max(points[at].x, end.x),
      b: Math.max(points[at].y, end.y),
    })),
  );

/** @param {Rect} a @param {Rect} b */
export const meet = (a, b) => a.l < b.r && b.l < a.r && a.t < b.b && b.t < a.b;

/** Where a text of a plate is. @param {any} text @returns {Rect} */
export function areaOf(text) {
  const [x, y, size] = ["x", "y", "font-size"].map((name) => Number(text.getAttribute(name)));
  const half = textWidth(text.textContent, size, true) / 2;
  return { l: x - half, t: y - PLATES.ascent * size, r: x + half, b: y + (1 - PLATES.ascent) * size };
}

const { height: HEIGHT, sign: SIGN_WIDTH } = PLATES.tag;

/**
 * Place the tags of hulls, short ones first: what has no room is only a sign, or hidden. Words of plates below a tag, other
 * than titles, are hidden.
 * @param {DrawnHull[]} hulls @param {Box[]} boxes of the picture @param {Label[]} labels that are shown
 * @param {number} size of a tag, 1 for that of a graph
 */
export function layTags(hulls, boxes, labels, size) {
  const right = Math.max(...boxes.map((box) => box.x + box.w / 2)) + SIGN_WIDTH;
  const titles = labels.map(({ texts }) => areaOf(texts[0]));
  /** @type {Rect[]} */
  const kept = [];
  const tagged = hulls.flatMap(({ tag, at }) => (tag && at ? [{ tag, at, width: at.r - at.l }] : []));
  for (const { tag, at, width } of tagged.sort((a, b) => a.width - b.width)) {
    const area = { l: Math.max(0, Math.min(at.l, right - width * size)), t: at.t, r: 0, b: at.t + HEIGHT * size };
    const whole = { ...area, r: area.l + width * size };
    const sign = { ...area, l: at.l, r: at.l + SIGN_WIDTH * size };
    const hasRoom = ![...kept, ...titles].some((other) => meet(whole, other));
    const isFree = ![...kept, ...titles].some((other) => meet(sign, other));
    const shown = hasRoom ? whole : isFree ? sign : null;
    tag.setAttribute("visibility", shown ? "visible" : "hidden");
    if (!shown) continue;
    kept.push(shown);
    tag.setAttribute("transform", `translate(${short(shown.l)} ${short(shown.t)}) scale(${short(size)})`);
    const [frame, , words] = tag.childNodes;
    frame.setAttribute("width", hasRoom ? width : SIGN_WIDTH);
    words.setAttribute("visibility", hasRoom ? "inherit" : "hidden");
  }
  for (const text of labels.flatMap(({ texts }) => texts.slice(1))) {
    const isCovered = text.textContent && kept.some((tag) => meet(tag, areaOf(text)));
    text.setAttribute("visibility", isCovered ? "hidden" : "inherit");
  }
}
