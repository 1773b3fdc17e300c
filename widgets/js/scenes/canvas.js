/** A picture on a canvas. */

import { uniqueName } from "../shared/elements.js";
import { ease, frameOf, unframe } from "../shared/timing.js";
import { startOf } from "../picture/motion.js";
import { layHulls } from "../picture/tags.js";
import { describeBox } from "../picture/words.js";
import { makeBrush, paintBox } from "./canvas_box.js";
import { paintEdges, paintHulls, paintTags } from "./canvas_lines.js";
import { NO_MARKS } from "../picture/marks.js";

/**
 * @typedef {import("../shared/elements.js").Make} Make
 * @typedef {import("../shared/theme.js").Palette} Palette
 * @typedef {import("../picture/types.js").Box} Box
 * @typedef {import("../picture/types.js").Camera} Camera
 * @typedef {import("../picture/types.js").Marks} Marks
 * @typedef {import("../picture/types.js").Picture} Picture
 * @typedef {import("../picture/types.js").Point} Point
 * @typedef {import("../picture/types.js").Rect} Rect
 * @typedef {import("../picture/types.js").Scene} Scene
 */

/** Words are drawn above this scale, and if fewer boxes than this are in sight. */
const [LEGIBLE, MAX_WORDED] = [0.45, 1500];
const TAGGED = 0.3;

/**
 * The same appearance as in SVG, for pictures of more than about a thousand boxes: less detail when zoomed out, and
 * nothing drawn outside the viewport. The keyboard reaches the boxes one at a time through a hidden option.
 * @param {Make} make @param {() => Palette} palette @returns {Scene}
 */
export function canvasScene(make, palette) {
  const { h } = make;
  const name = uniqueName("ce");
  const canvas = h("canvas", { class: "ce-canvas", "aria-hidden": "true" });
  const option = h("div", { role: "option", id: `${name}-option`, "aria-selected": "false", class: "ce-said" });
  const listbox = { role: "listbox", tabindex: "0", "aria-multiselectable": "true" };
  const stage = h("div", { class: "ce-stage", ...listbox, "aria-activedescendant": `${name}-option` }, canvas, option);
  const pen = typeof canvas.getContext === "function" ? canvas.getContext("2d") : null;
  const brush = makeBrush(make, pen);
  /** @type {Picture | null} */
  let picture = null;
  /** @type {Map<string, Point>} */
  let starts = new Map();
  /** @type {Map<string, Point>} */
  let now = new Map();
  let [width, height, t] = [0, 0, 1];
  /** @type {Camera} */
  let camera = { k: 1, x: 0, y: 0 };
  let marks = NO_MARKS;
  /** @type {import("../picture/tags.js").LaidHull[]} */
  let hulls = [];
  let waiting = 0;
  let closed = false;

  const later = () => {
    if (!waiting && !closed) waiting = frameOf(paint);
  };

  /** Clear the canvas and put the pen into the picture; returns what is in sight. @returns {Rect} */
  function begin() {
    const sharp = globalThis.devicePixelRatio || 1;
    const { k, x, y } = camera;
    if (canvas.width !== Math.round(width * sharp)) canvas.width = Math.round(width * sharp);
    if (canvas.height !== Math.round(height * sharp)) canvas.height = Math.round(height * sharp);
    pen.setTransform(sharp, 0, 0, sharp, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.setTransform(sharp * k, 0, 0, sharp * k, sharp * (width / 2 - k * x), sharp * (height / 2 - k * y));
    const [across, down] = [width / 2 / k + 80, height / 2 / k + 60];
    return { l: x - across, t: y - down, r: x + across, b: y + down };
  }

  /** @param {Box} box @returns {Point} */
  function placeOf(box) {
    if (t >= 1) return box;
    const { at } = startOf(box, starts);
    const e = ease(t);
    return { x: at.x + (box.x - at.x) * e, y: at.y + (box.y - at.y) * e };
  }

  function paint() {
    waiting = 0;
    if (!pen || !picture || closed) return;
    const shown = picture;
    const colours = palette();
    const sight = begin();
    const { k } = camera;
    now = new Map(shown.boxes.map((box) => [box.id, placeOf(box)]));
    const lit = (marks.hull && shown.hulls.find((item) => item.id === marks.hull)) || null;
    const members = lit ? new Set(lit.boxes.map((box) => box.id)) : null;
    if (t >= 1) paintHulls(brush, hulls, lit, colours, k);
    paintEdges(brush, shown, colours, marks, k, sight, now);
    const seen = shown.boxes.filter((box) => {
      const { x, y } = now.get(box.id) || box;
      return x + box.w / 2 > sight.l && x - box.w / 2 < sight.r && y + box.h / 2 > sight.t && y - box.h / 2 < sight.b;
    });
    const words = k > LEGIBLE && seen.length < MAX_WORDED;
    for (const box of seen) {
      const { x, y } = now.get(box.id) || box;
      const faint = (members && !members.has(box.id)) || (marks.found && !marks.found.has(box.id));
      pen.globalAlpha = faint ? 0.3 : 1;
      pen.translate(x, y);
      paintBox(brush, box, colours, marks, k, words);
      pen.translate(-x, -y);
    }
    pen.globalAlpha = 1;
    if (t >= 1 && k > TAGGED) paintTags(brush, hulls, colours);
  }

  return {
    stage,
    list: stage,
    recolour() {
      brush.recolour();
      later();
    },
    show(shown, from) {
      picture = shown;
      starts = from;
      hulls = layHulls(shown);
      now = new Map(shown.boxes.map((box) => [box.id, box]));
      later();
    },
    frame(at) {
      t = at;
      later();
    },
    look(next, w, h) {
      camera = next;
      [width, height] = [w, h];
      later();
    },
    mark(next) {
      marks = next;
      const box = picture && (picture.byId.get(next.focus) || picture.boxes[0]);
      option.textContent = box ? describeBox(box) : "";
      option.setAttribute("aria-selected", String(Boolean(box && next.selected.has(box.id))));
      option.setAttribute("data-id", box ? box.id : "");
      later();
    },
    focus() {
      stage.focus({ preventScroll: true });
    },
    places: () => new Map(now),
    close() {
      closed = true;
      if (waiting) unframe(waiting);
      stage.remove();
    },
  };
}
