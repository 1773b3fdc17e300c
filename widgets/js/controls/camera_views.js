/** Where the camera must be to show a rectangle, a picture, or the part of it that matters. */

import { around } from "../picture/shapes.js";

/** @import { Box, Camera, Picture, Rect } from "../picture/types.js" */

/**
 * @typedef {{width: number, height: number, panes: number, inset: number, maxFit: number, row?: number}} Viewport
 * `width`, `height`: of one pane; `inset`: height of the titles and buttons at its top; `maxFit`: scale to which pictures
 * are enlarged at most; `row`: where the row of a score begins, or 0: it is only as wide as the camera wants
 */

/** Margin around the boxes of a picture, in its pixels, as in `layout.py`. */
const MARGIN = 24;
/** Margin around its lines. */
const LINE_MARGIN = 4;
/** In a viewport narrower than this, in pixels, the zoom buttons get their own margin. */
const [NARROW, ZOOM_WIDTH] = [640, 44];
const MIN_SCALE = 0.005;
/** Above this scale all of a picture is legible, and its boxes are large enough to be clicked. */
const LEGIBLE = 0.36;
/** Below the first scale plates are scrolled, not shrunk, but drawn at the second one, if they are not too wide. */
const [SHRUNK_PLATES, LEGIBLE_PLATES] = [0.28, 0.45];
/** Of plates that are shown with a close-up below them, the whole is of interest, down to this scale. */
const MIN_PLATES = 0.25;
/** Of more boxes than this the whole is of interest, down to this scale. */
const [MANY, MANY_SCALE] = [80, 0.12];
/** Where the whole would be illegible, the part of it that matters is shown at least at this scale. */
const PART_SCALE = 0.5;
/** Limits of the height of a picture that follows what it shows, in pixels. */
const [LEAST_HEIGHT, MOST_HEIGHT] = [240, 680];
/** Room for the words below a plate. */
const BELOW = 40;
/** Pixels around a box that stays in view. */
const KEPT_PAD = 8;

/** @param {Viewport} viewport */
const isNarrow = ({ width, panes }) => width * panes < NARROW;

/** The camera that shows a rectangle of the picture. @param {Rect} rect @param {Viewport} viewport @returns {Camera} */
export function showing(rect, viewport) {
  const { width, height, inset, maxFit, row } = viewport;
  if (row) return alongRow(rect, row, width);
  const right = isNarrow(viewport) ? ZOOM_WIDTH : 0; // on a small screen the zoom buttons would cover boxes
  const across = (width - right - 28) / Math.max(1, rect.r - rect.l);
  const down = (height - inset - 20) / Math.max(1, rect.b - rect.t);
  const k = Math.max(MIN_SCALE, Math.min(across, down, maxFit));
  return { k, x: (rect.l + rect.r) / 2 + right / 2 / k, y: (rect.t + rect.b) / 2 - inset / 2 / k };
}

/** The camera that shows a part of a row between its names and the zoom buttons. @param {Rect} rect @param {number} row @param {number} width @returns {Camera} */
function alongRow({ l, r }, row, width) {
  const k = Math.max(MIN_SCALE, (width - row - ZOOM_WIDTH - 8) / Math.max(1, r - l));
  return { k, x: l + (width / 2 - row) / k, y: 0 };
}

/** @param {Rect[]} rects @returns {Rect} */
export const unionOf = (rects) => ({
  l: Math.min(...rects.map((rect) => rect.l)),
  t: Math.min(...rects.map((rect) => rect.t)),
  r: Math.max(...rects.map((rect) => rect.r)),
  b: Math.max(...rects.map((rect) => rect.b)),
});

/** The extent of the picture, or of both. @param {Picture[]} pictures @returns {Rect} */
function extentOf(pictures) {
  const [r, b] = [
    Math.max(1, ...pictures.map((item) => item.width)),
    Math.max(1, ...pictures.map((item) => item.height)),
  ];
  if (pictures[0]?.score) return { l: pictures[0].score.left, t: 0, r, b };
  const extents = pictures.flatMap(({ extent: [l, t, r, b] }) => (b > t ? [{ l, t, r, b }] : []));
  if (extents.length) return unionOf(extents);
  // Coordinates are shared by all steps: most of the picture of a late step may be empty.
  const boxes = pictures.flatMap((item) => item.boxes);
  if (!boxes.length) return { l: 0, t: 0, r, b };
  const l = boxes.reduce((least, { x, w }) => Math.min(least, x - w / 2), Infinity);
  const top = boxes.reduce((least, box) => Math.min(least, box.y - box.h / 2), Infinity);
  const bends = pictures.flatMap((item) => item.edges.flatMap((edge) => edge.bends));
  const t = bends.reduce((least, { y }) => Math.min(least, y - LINE_MARGIN), top - MARGIN); // lines around boxes
  return { l: Math.max(0, l - MARGIN), t: Math.max(0, t), r, b };
}

/**
 * The height of a viewport that shows all of it as wide as it is, within limits; where that would be illegible, more.
 * @param {Picture[]} pictures @param {Viewport} viewport
 */
export function heightFor(pictures, { width, inset }) {
  const { l, t, r, b } = extentOf(pictures);
  if (pictures[0]?.score) return Math.min(MOST_HEIGHT, b + inset);
  const least = pictures[0]?.groupBy === "plates" ? LEGIBLE_PLATES : PART_SCALE;
  const k = Math.min(1, Math.max(least, (width - ZOOM_WIDTH - 28) / (r - l)));
  return Math.min(MOST_HEIGHT, Math.max(LEAST_HEIGHT, Math.ceil((b - t) * k) + inset + 20));
}

/** All of it. @param {Picture[]} pictures @param {Viewport} viewport @returns {Camera} */
export const whole = (pictures, viewport) => showing(extentOf(pictures), viewport);

/** Whether a camera shows all of some boxes, plates with their words and beside the zoom buttons. @param {Camera} camera @param {Viewport} viewport @param {Box[]} boxes */
export const showsAll = ({ k, x, y }, { width, height, inset }, boxes) =>
  boxes.every((box) => {
    const { l, t, r, b } = around(box, 0);
    const [left, up, down] = [width / 2 / k, (height / 2 - inset) / k, height / 2 / k];
    const right = box.plate ? left - ZOOM_WIDTH / k : left; // beside the zoom buttons
    return l >= x - left && r <= x + right && t >= y - up && b + (box.plate ? BELOW : 0) <= y + down;
  });

/**
 * All of it, or, if that would be illegible, the changed part at a legible size, unless that lacks one of `wanted`.
 * @param {Picture[]} pictures @param {Viewport} viewport @param {boolean} asking @param {Box[]} [wanted]
 * @returns {Camera}
 */
export function automatic(pictures, viewport, asking, wanted = []) {
  if (viewport.row) return whole(pictures, viewport);
  const camera = legibly(pictures, viewport, asking);
  const arePlates = pictures[0]?.groupBy === "plates";
  const kept = arePlates && wanted.length ? pictures[0].boxes : wanted; // plates are few: the next one can be selected
  if (showsAll(camera, viewport, kept)) return camera;
  const boxes = pictures.flatMap((picture) => picture.boxes);
  const all = arePlates ? whole(pictures, viewport) : showing(unionOf(boxes.map((box) => around(box, 12))), viewport);
  return all.k >= (arePlates ? MIN_PLATES : MANY_SCALE) ? all : camera;
}

/** @param {Picture[]} pictures @param {Viewport} viewport @param {boolean} asking @returns {Camera} */
function legibly(pictures, viewport, asking) {
  const arePlates = pictures[0]?.groupBy === "plates";
  const aside = !isNarrow(viewport) && (arePlates || isUnderButtons(pictures, viewport));
  const all = aside ? besideButtons((room) => whole(pictures, room), viewport) : whole(pictures, viewport);
  if (arePlates) return all.k < SHRUNK_PLATES ? besideButtons((room) => legible(all, pictures, room), viewport) : all;
  if (!pictures.length || all.k >= LEGIBLE) return all;
  const [picture] = pictures;
  const many = picture.boxes.length > MANY;
  if (many ? all.k > MANY_SCALE : asking) return all;
  const seen = extentOf(pictures);
  const { width, height } = viewport;
  // A wide and flat picture of many boxes: its whole height and the centre of its width; the map shows the rest.
  const flat = Math.min(0.45, Math.max(all.k, MANY_SCALE, (height - 40) / (seen.b - seen.t)));
  const k = many ? flat : Math.min(0.62, Math.max(all.k, PART_SCALE));
  const news = many ? [] : picture.boxes.filter((box) => box.matched || box.change !== "kept");
  const rect = unionOf((news.length ? news : picture.boxes).map((box) => around(box, 12)));
  const left = rect.r - rect.l > width / k && !many;
  const x = left ? rect.l + width / k / 2 : (rect.l + rect.r) / 2;
  const y = rect.b - rect.t > height / k ? rect.b - height / k / 2 : (rect.t + rect.b) / 2;
  return { k, x: within(x, width / k / 2, seen.l, seen.r), y: within(y, height / k / 2, seen.t, seen.b) };
}

/**
 * Whether the zoom buttons would cover boxes of the whole picture.
 * @param {Picture[]} pictures @param {Viewport} viewport
 */
function isUnderButtons(pictures, viewport) {
  const { k, x } = whole(pictures, viewport);
  return (extentOf(pictures).r - MARGIN - x) * k + viewport.width / 2 > viewport.width - ZOOM_WIDTH;
}

/**
 * A camera that shows at the left what another one shows in the room that the zoom buttons leave.
 * @param {(room: Viewport) => Camera} cameraIn @param {Viewport} viewport @returns {Camera}
 */
function besideButtons(cameraIn, viewport) {
  const { k, x, y } = cameraIn({ ...viewport, width: viewport.width - ZOOM_WIDTH });
  return { k, x: x + ZOOM_WIDTH / 2 / k, y };
}

/**
 * The first lines of plates at a legible size, if all of them would be too small.
 * @param {Camera} all @param {Picture[]} pictures @param {Viewport} viewport @returns {Camera}
 */
function legible(all, pictures, { width, height, inset }) {
  const { l, t, r } = extentOf(pictures);
  const k = Math.max(all.k, Math.min(LEGIBLE_PLATES, width / (r - l + 28)));
  return { k, x: (l + r) / 2, y: t + (height - inset) / 2 / k - (inset + 10) / k };
}

/**
 * `middle`, moved so that a view of half size `half` shows nothing beyond the picture.
 * @param {number} middle @param {number} half @param {number} from @param {number} to
 */
const within = (middle, half, from, to) =>
  2 * half >= to - from + 28 ? (from + to) / 2 : Math.min(to + 14 - half, Math.max(from + half - 14, middle));

/**
 * The camera that has a box in view; null if it already is.
 * @param {Box} box @param {Camera} camera @param {Viewport} viewport @returns {Camera | null}
 */
export function revealing(box, camera, { width, height }) {
  const k = camera.k < 0.36 ? 0.7 : camera.k;
  const [reachX, reachY] = [width / 2 / k - box.w / 2 - 30, height / 2 / k - box.h / 2 - 30];
  const [farX, farY] = [Math.abs(box.x - camera.x) > reachX, Math.abs(box.y - camera.y) > reachY];
  const zoomed = k !== camera.k;
  if (!zoomed && !farX && !farY) return null;
  return { k, x: farX || zoomed ? box.x : camera.x, y: farY || zoomed ? box.y : camera.y };
}

/**
 * The camera under which a picture stays where it is on the screen while the viewport is resized at its right and lower
 * edges. If that hides the middle of the box, it moves just so far that all of the box is in view, beside the zoom buttons.
 * @param {Camera} camera @param {{width: number, height: number}} before the size of the viewport
 * @param {Viewport} viewport @param {Box | undefined} box @returns {Camera}
 */
export function staying({ k, x, y }, before, { width, height, inset }, box) {
  const [halfWidth, halfHeight] = [width / 2 / k, height / 2 / k];
  const still = { k, x: x + halfWidth - before.width / 2 / k, y: y + halfHeight - before.height / 2 / k };
  if (!box) return still;
  const [right, down] = [box.x - still.x, box.y - still.y];
  if (Math.abs(right) < halfWidth && down > inset / k - halfHeight && down < halfHeight) return still;
  const { l, t, r, b } = around(box, KEPT_PAD / k);
  const bottom = b + (box.plate ? BELOW : 0);
  return {
    k,
    x: clamp(still.x, r + ZOOM_WIDTH / k - halfWidth, l + halfWidth),
    y: clamp(still.y, bottom - halfHeight, t + halfHeight - inset / k),
  };
}

/** The nearest number between two; `high` if they leave no room. @param {number} value @param {number} low @param {number} high */
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

/**
 * The camera between two, at progress `e`.
 * @param {Camera} start @param {Camera} target @param {number} e @returns {Camera}
 */
export const between = (start, target, e) => ({
  k: start.k * (target.k / start.k) ** e,
  x: start.x + (target.x - start.x) * e,
  y: start.y + (target.y - start.y) * e,
});

/**
 * The camera zoomed to scale `k` around a point of the viewport.
 * @param {Camera} camera @param {number} k @param {{x: number, y: number}} at @param {Viewport} viewport
 * @returns {Camera}
 */
export function zoomedTo(camera, k, at, { width, height }) {
  const [dx, dy] = [at.x - width / 2, at.y - height / 2];
  return { k, x: camera.x + dx / camera.k - dx / k, y: camera.y + dy / camera.k - dy / k };
}

/**
 * A point of the viewport in the picture.
 * @param {Camera} camera @param {{x: number, y: number}} at @param {Viewport} viewport
 */
export const pointOf = (camera, at, { width, height }) => ({
  x: camera.x + (at.x - width / 2) / camera.k,
  y: camera.y + (at.y - height / 2) / camera.k,
});

/**
 * The box at a point of the viewport.
 * @param {Picture} picture @param {Camera} camera @param {{x: number, y: number}} at @param {Viewport} viewport
 * @returns {Box | null}
 */
export function boxAt({ boxes }, camera, at, viewport) {
  const { x, y } = pointOf(camera, at, viewport);
  const slack = Math.min(12, 2 / camera.k);
  for (let index = boxes.length - 1; index >= 0; index -= 1) {
    const box = boxes[index];
    if (Math.abs(x - box.x) <= box.w / 2 + slack && Math.abs(y - box.y) <= box.h / 2 + slack) return box;
  }
  return null;
}
