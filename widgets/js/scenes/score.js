/** A picture as a score: marks on a canvas, words and what can be clicked as SVG elements above it. */

import { NO_MARKS } from "../picture/marks.js";
import { short } from "../picture/shapes.js";
import { describeBox } from "../picture/words.js";
import { between, flat, movement } from "../score/movement.js";
import { paintMark } from "../score/paint.js";
import { areaOf } from "../score/reading.js";
import { wordElement } from "../score/words.js";
import { makeSheet } from "../plates/sheet.js";
import { svgPen } from "../plates/svg_pen.js";
import { classes } from "../shared/elements.js";
import { textWidth } from "../shared/measuring.js";
import { ease, frameOf, unframe } from "../shared/timing.js";

/**
 * @typedef {import("../picture/types.js").Camera} Camera
 * @typedef {import("../picture/types.js").Picture} Picture
 * @typedef {import("../score/reading.js").Mark} Mark
 */

/** How long calls move, in milliseconds. */
const MOVE_MS = 650;
/** The picture is stretched to the height of the view within these limits. */
const [LEAST, MOST] = [0.66, 1.6];
/** Room for the buttons at the right of the headline, which is so high. */
const [RIGHT, HEAD] = [48, 60];
/** The first line of the headline: it begins behind the title of the view, if that has one of so many pixels a letter. */
const [FIRST, LETTER, AROUND] = [20, 7.2, 26];
/** The opaque share of seams while others are lit. */
const FAINT = 0.25;
/** The canvas shows what the screen does: it has a camera of its own. */
const UNMOVED = { k: 1, x: 0, y: 0 };
/** Reach of a click around a call, in pixels. */
const SLACK = 2;

/**
 * Each call is an option of a list box, so that screen readers and the keyboard can reach it.
 * @param {import("../shared/elements.js").Make} make @param {() => import("../shared/theme.js").Palette} palette
 * @returns {import("../picture/types.js").Scene}
 */
export function scoreScene(make, palette) {
  const { h, s } = make;
  const canvas = h("canvas", { class: "ce-canvas", "aria-hidden": "true" });
  const sheet = makeSheet(canvas);
  const boxLayer = s("g", { class: "ce-boxes", role: "presentation" });
  const [hitLayer, rowWords, laneWords] = [0, 1, 2].map(() => s("g", { "aria-hidden": "true" }));
  const overlay = s(
    "svg",
    { class: "ce-stage", role: "listbox", "aria-multiselectable": "true" },
    boxLayer,
    hitLayer,
    rowWords,
    laneWords,
  );
  const stage = h("div", { class: "ce-stage ce-score" }, canvas, overlay);
  /** @type {Picture | null} */
  let picture = null;
  let indent = 0;
  /** @type {{box: import("../picture/types.js").Box, group: any, name: any, ring: any, face: any}[]} */
  let options = [];
  /** @type {{mark: Mark, element: any}[]} */
  let hits = [];
  let plan = movement([], new Map());
  /** @type {Camera} */
  let camera = UNMOVED;
  let [width, height, t] = [0, 0, 1];
  let marks = NO_MARKS;
  /** The marks that the line of words at the pointer is about. @type {ReadonlySet<string>} */
  let lit = new Set();
  let waiting = 0;
  let closed = false;

  const left = () => picture?.score?.left ?? 0;
  const lens = () => {
    const down = picture ? Math.min(MOST, Math.max(LEAST, (height - 6) / picture.height)) : 1;
    return { k: camera.k, x: camera.x, width, down };
  };

  function later() {
    if (!waiting && !closed) waiting = frameOf(paint);
  }

  /** The marks where they are now, the opaque share of each, those that disappear first. */
  function shown() {
    const e = ease(t);
    if (t >= 1) return plan.moving.map(({ mark }) => ({ mark, at: mark.at, alpha: 1 }));
    const moving = plan.moving.map(({ mark, from }) => ({
      mark,
      at: from ? between(from, mark.at, e) : between(flat(mark, mark.at), mark.at, e),
      alpha: from ? 1 : e * e,
    }));
    const leaving = plan.leaving.map(({ mark, at }) => ({
      mark,
      at: between(at, flat(mark, at), e),
      alpha: (1 - e) ** 2,
    }));
    return [...leaving, ...moving];
  }

  /** An arc between calls apart is drawn if one of them is selected. @param {Mark} mark */
  const isDrawn = ({ shape, pair, key }) =>
    shape !== "arc" || !pair.length || lit.has(key) || pair.some((id) => marks.selected.has(id));

  /** @param {any} pen */
  function draw(pen) {
    const view = lens();
    for (const { mark, at, alpha } of shown()) {
      if (mark.shape === "text" || !isDrawn(mark)) continue;
      const area = areaOf(mark, view, at);
      if (area.left > width || area.left + area.width < left() - 20) continue;
      const isLit = lit.has(mark.key);
      pen.globalAlpha = lit.size && mark.pair.length && !isLit ? alpha * FAINT : alpha;
      paintMark(pen, mark, area, palette(), isLit || marks.selected.has(mark.box));
    }
    pen.globalAlpha = 1;
  }

  function paint() {
    waiting = 0;
    if (closed || !picture) return;
    rowWords.setAttribute("opacity", t >= 1 ? "1" : "0");
    layWords(laneWords, true);
    if (t >= 1) lay();
    const { pen } = sheet;
    if (!pen) return;
    sheet.begin({ k: 1, x: width / 2, y: height / 2 }, width, height);
    pen.save();
    pen.beginPath();
    pen.rect(left() - 6, 0, width, height);
    pen.clip();
    draw(pen);
    pen.restore();
  }

  /** @param {any} layer @param {boolean} fixed whether those of the lanes are laid out, or those of the row */
  function layWords(layer, fixed) {
    const view = lens();
    const [from, end] = [left() - 4, width - 4];
    const elements = (picture?.score?.marks ?? []).flatMap((mark) => {
      if (mark.fixed !== fixed) return [];
      const until = fixed && mark.at[1] < HEAD ? width - RIGHT : end;
      const area = areaOf(mark, view);
      if (fixed && mark.at[1] < FIRST) area.left += indent;
      return wordElement(make, mark, area, palette(), from, until) ?? [];
    });
    layer.replaceChildren(...elements);
  }

  /** Lay out the words of the row, and what can be clicked. */
  function lay() {
    const view = lens();
    layWords(rowWords, false);
    for (const { mark, element } of hits) {
      if (mark.shape === "arc") element.setAttribute("display", isDrawn(mark) ? "inline" : "none");
      layHit(mark, element, areaOf(mark, view));
    }
    for (const { box, name, ring, face } of options) {
      const area = {
        left: width / 2 + camera.k * (box.x - box.w / 2 - camera.x),
        top: (box.y - box.h / 2) * view.down,
      };
      const [wide, high] = [Math.max(1, box.w * camera.k), box.h * view.down];
      name.setAttribute("x", short(area.left));
      name.setAttribute("y", short(area.top + high / 2));
      for (const [rect, by] of /** @type {[any, number][]} */ ([
        [ring, 3],
        [face, 0],
      ])) {
        rect.setAttribute("x", short(area.left - by));
        rect.setAttribute("y", short(area.top - by));
        rect.setAttribute("width", short(wide + 2 * by));
        rect.setAttribute("height", short(high + 2 * by));
      }
    }
  }

  /** @param {Mark} mark @param {any} element @param {import("../score/reading.js").Area} area */
  function layHit(mark, element, area) {
    if (mark.shape === "arc") {
      const bend = area.top - (area.height * 4) / 3;
      const [x, y, to] = [area.left, area.top, area.left + area.width].map(short);
      element.setAttribute("d", `M${x} ${y}C${x} ${short(bend)} ${to} ${short(bend)} ${to} ${y}`);
      return;
    }
    const round =
      mark.shape === "dot"
        ? { left: area.left - 12, top: area.top - 12, width: 24, height: 24 }
        : mark.shape === "text"
          ? { ...area, top: area.top - 8, width: textWidth(mark.words[0], mark.size), height: 16 }
          : area;
    const from = Math.max(left() - 6, round.left);
    element.setAttribute("x", short(from));
    element.setAttribute("y", short(round.top));
    element.setAttribute("width", short(Math.max(0, round.left + round.width - from)));
    element.setAttribute("height", short(round.height));
  }

  /** @param {import("../picture/types.js").Box} box */
  function optionOf(box) {
    const ring = s("rect", { class: "ce-ring", rx: 5 });
    const face = s("rect", { class: "ce-plate-face" });
    const name = s("text", { class: "ce-name", text: describeBox(box) });
    const look = s("g", { "aria-hidden": "true" }, ring, face);
    const attributes = { role: "option", "aria-selected": "false", tabindex: "-1", "data-id": box.id };
    return { box, name, ring, face, group: s("g", { class: "ce-box", ...attributes }, name, look) };
  }

  /** @param {Mark} mark */
  function hitOf(mark) {
    const isLine = mark.shape === "arc";
    const look = {
      class: "ce-score-hit",
      fill: "none",
      "stroke-width": 9,
      "pointer-events": isLine ? "stroke" : "all",
    };
    return { mark, element: s(isLine ? "path" : "rect", look) };
  }

  return {
    stage,
    list: overlay,
    recolour: later,
    show(next, _from, title) {
      indent = title ? AROUND + LETTER * title.length : 0;
      const before = new Map(picture ? shown().map(({ mark, at }) => [mark.key, { mark, at }]) : []);
      picture = next;
      const all = next.score?.marks ?? [];
      plan = movement(all, before);
      options = next.boxes.map(optionOf);
      boxLayer.replaceChildren(...options.map(({ group }) => group));
      hits = all.filter(({ tip, zooms, pair, shape }) => tip && (zooms || pair.length || shape === "arc")).map(hitOf);
      hitLayer.replaceChildren(...hits.map(({ element }) => element));
      t = 1;
      later();
      return MOVE_MS;
    },
    frame(at) {
      if (t < 1 || at < 1) later();
      t = at;
    },
    look(next, w, high) {
      camera = next;
      [width, height] = [w, high];
      overlay.setAttribute("width", w);
      overlay.setAttribute("height", high);
      overlay.setAttribute("viewBox", `0 0 ${w} ${high}`);
      later();
    },
    mark(next) {
      marks = next;
      const { selected, found, hover, focus } = next;
      const stop = picture?.byId.has(focus) ? focus : picture?.boxes[0]?.id;
      for (const { box, group } of options) {
        const on = selected.has(box.id);
        const own = [on && "ce-selected", found && !found.has(box.id) && "ce-dim", found?.has(box.id) && "ce-found"];
        group.setAttribute("class", classes("ce-box", box.id === hover && "ce-hover", ...own));
        group.setAttribute("aria-selected", String(on));
        group.setAttribute("tabindex", box.id === stop ? "0" : "-1");
      }
      later();
    },
    focus(id) {
      options.find(({ box }) => box.id === id)?.group.focus({ preventScroll: true });
    },
    hit({ x, y }) {
      const { k, x: middle, down } = lens();
      const [at, high] = [middle + (x - width / 2) / k, y / down];
      const slack = SLACK / k;
      const isAt = (/** @type {import("../picture/types.js").Box} */ box) =>
        Math.abs(at - box.x) <= box.w / 2 + slack && Math.abs(high - box.y) <= box.h / 2;
      return x < left() ? null : (picture?.boxes.find(isAt) ?? null);
    },
    tipAt({ x, y }, target) {
      const found = hits.find(({ element }) => element === target)?.mark;
      const next = new Set(found?.lights);
      if (next.size || lit.size) later();
      lit = next;
      if (found) return found.tip.split("\n");
      if (x < left()) return null;
      const view = lens();
      /** @param {Mark} mark */
      const isAt = (mark) => {
        const area = areaOf(mark, view);
        const from = mark.shape === "body" ? area.left - area.width / 2 : area.left;
        return x >= from && x <= from + area.width && y >= area.top - 1 && y <= area.top + area.height + 1;
      };
      const at = (picture?.score?.marks ?? []).filter((mark) => mark.box && isAt(mark)).reverse();
      const told = at.find((mark) => mark.tip)?.tip.split("\n");
      const operator = at.find((mark) => !mark.tip && mark.words.length)?.words[0];
      return told ? [...(operator && operator !== told[0] ? [operator] : []), ...told] : null;
    },
    actionOf(target) {
      const found = hits.find(({ element }) => element === target)?.mark;
      if (!found) return null;
      const [from, top, wide, high] = found.at;
      return { pair: found.pair, rect: found.zooms ? { l: from, t: top, r: from + wide, b: top + high } : null };
    },
    canvasSvg() {
      lay();
      layWords(laneWords, true);
      const writer = svgPen();
      writer.setTransform(1, 0, 0, 1, 0, 0);
      draw(writer);
      return writer.element();
    },
    places: () => new Map(picture?.boxes.map((box) => [box.id, { x: box.x, y: box.y }])),
    close() {
      closed = true;
      if (waiting) unframe(waiting);
      stage.remove();
    },
  };
}
