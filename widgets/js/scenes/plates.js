/** A picture of plates: cells and lines on a canvas, words and outlines as SVG elements above it. */

import { classes, focusedIn, uniqueName } from "../shared/elements.js";
import { frameOf, unframe } from "../shared/timing.js";
import { NO_MARKS } from "../picture/marks.js";
import { short } from "../picture/shapes.js";
import { layHulls } from "../picture/tags.js";
import { beatsOf } from "../plates/beats.js";
import { allCells, byBox } from "../plates/cells.js";
import { PLATES } from "../plates/look.js";
import { makeDocking } from "../plates/docking.js";
import { labelElement, layLabels, wordAreas } from "../plates/labels.js";
import { doneBefore, lensHull } from "../plates/lens.js";
import { layLinks, linkElement } from "../plates/links.js";
import { cellsAt, docked, leavingAt, movement } from "../plates/movement.js";
import {
  areasByBox,
  countLines,
  paintCells,
  paintDepth,
  paintDone,
  paintFrame,
  paintLines,
  paintMarks,
  paintPicked,
  rewritten,
} from "../plates/paint.js";
import { makePins } from "../plates/pins.js";
import { nameOf, relativesOf } from "../plates/relatives.js";
import { layPorts, lightPorts, portElements } from "../plates/ports.js";
import { cellsArea, layTags, passingLines } from "../plates/titles.js";
import { makeSheet, makeStill } from "../plates/sheet.js";
import { svgPen } from "../plates/svg_pen.js";
import { hullElement } from "./svg.js";

/**
 * @import { Camera, Picture, Scene } from "../picture/types.js"
 * @import { Shown } from "../plates/paint.js"
 * @import { Make } from "../shared/elements.js"
 * @import { Palette } from "../shared/theme.js"
 */

/** Lines return when the picture has settled this far. */
const LINED = 0.5;
/** More lines than these return when the cells have arrived, as the words do. */
const MOVING_LINES = 1_500;
/** A picture of more cells or plates is large. */
const [MAX_CELLS, MAX_PLATES] = [4_000, 60];
/** A large picture is moved as an image, and painted again when the camera has rested so long. */
const REST_MS = 150;
/** Sheets, frames and marks are drawn so far around a plate, at most. */
const AROUND = 20;
/** No words are laid out for it. */
const NOT_LAID = { k: 0, x: 0, y: 0 };

/** @param {Camera} a @param {Camera} b */
const isSameCamera = (a, b) => a.k === b.k && a.x === b.x && a.y === b.y;

/** @template Made @param {() => Made} make @returns {() => Made} */
function lazily(make) {
  /** @type {Made | undefined} */
  let made;
  return () => (made ??= make());
}

/**
 * Each plate is an option of a list box, so that screen readers and the keyboard can reach it.
 * @param {Make} make @param {() => Palette} palette @returns {Scene}
 */
export function platesScene(make, palette) {
  const { h, s } = make;
  const name = uniqueName("ce");
  const canvas = h("canvas", { class: "ce-canvas", "aria-hidden": "true" });
  const sheet = makeSheet(canvas);
  const { pen } = sheet;
  const defs = s("defs");
  const labelLayer = s("g", { class: "ce-boxes", role: "presentation" });
  const [hullLayer, tagLayer] = ["ce-hulls", "ce-tags"].map((layer) => s("g", { class: layer, "aria-hidden": "true" }));
  const lens = makeDocking(make);
  const [formerLayer, linkLayer, portLayer] = ["former", "link", "port"].map((layer) =>
    s("g", { "aria-hidden": "true", class: `ce-${layer}-layer` }),
  );
  const pins = makePins(make, palette, { later: () => later(), labels: () => labels, ports: () => ports.circles });
  defs.appendChild(pins.cover);
  const world = s("g", { role: "presentation" });
  for (const layer of [
    ...[formerLayer, pins.under, hullLayer, lens.lines, labelLayer],
    ...[linkLayer, portLayer, tagLayer, pins.held, pins.over, lens.element],
  ])
    world.appendChild(layer);
  const overlay = s("svg", { class: "ce-stage", role: "listbox", "aria-multiselectable": "true" }, defs, world);
  const stage = h("div", { class: "ce-stage ce-plates" }, canvas, overlay, pins.keys);
  const still = makeStill([canvas, overlay]);
  /** @type {Picture | null} */
  let picture = null;
  /** @type {import("../plates/labels.js").Label[]} */
  let labels = [];
  /** @type {import("../plates/links.js").DrawnLink[]} */
  let links = [];
  /** @type {import("../plates/ports.js").DrawnPorts} */
  let ports = { ports: [], circles: [] };
  /** The parts of lines that pass plates. @type {import("../picture/types.js").Rect[]} */
  let passing = [];
  /** The areas of words, which reasons of links and tags of the lens must not cover. @type {import("../picture/types.js").Rect[]} */
  let words = [];
  /** @type {import("./svg.js").DrawnHull[]} */
  let hulls = [];
  /** How cells move, once that is needed: to find it takes longer than a frame if there are many. */
  let plan = lazily(() => movement([], [], []));
  let isLarge = false;
  /** The cells where they are when they have moved, once they are drawn there. @type {Shown[] | null} */
  let arrived = null;
  let beats = beatsOf(false, false);
  let marks = NO_MARKS;
  /** @type {Camera} */
  let camera = { k: 1, x: 0, y: 0 };
  let [width, height, t] = [0, 0, 1];
  /** The least size of text on the screen, in pixels. */
  let text = 12;
  /** The picture with the matches on the plates before the step, while they are shown. @type {Picture | null} */
  let docking = null;
  let waiting = 0;
  let closed = false;
  /** Paints a picture that was moved as an image. @type {any} */
  let resting = 0;
  /** The camera for which cells are painted. */
  let painted = NOT_LAID;
  /** The camera for which words and lines are laid out. */
  let laid = NOT_LAID;

  /** Lay out the words for the camera and paint the cells in the next frame, however often this is asked for until then. */
  function later() {
    clearTimeout(resting);
    still.forget();
    if (!waiting && !closed) waiting = frameOf(paint);
  }

  /** Whether words wait until the cells have arrived: to lay them out in each frame would make the movement jerk. */
  const isWordless = () => t < 1 && isLarge;
  const state = () => ({ palette: palette(), k: camera.k, text });

  /** The cells as they are drawn now. @returns {Shown[]} */
  function shownCells() {
    if (t < 1) return cellsAt(plan().moving, beats.merged(t), beats.settled(t));
    return (arrived ??= plan().moving.map(({ cell }) => ({ cell, area: cell.area, alpha: 1 })));
  }

  /** Whether a plate is in sight. @param {import("../picture/types.js").Box} box */
  function isSeen({ x, y, w, h }) {
    const [reachX, reachY] = [(w + width / camera.k) / 2 + AROUND, (h + height / camera.k) / 2 + AROUND];
    return Math.abs(x - camera.x) < reachX && Math.abs(y - camera.y) < reachY;
  }

  function paint() {
    waiting = 0;
    if (closed) return;
    layAll();
    if (!pen || !picture) return;
    // Before the first movement cells are where they are painted already.
    if (t < 1 && (t === 0 || beats.isOutlining(t)) && isSameCamera(painted, camera)) {
      sheet.fit(width, height);
      if (t > 0) plan();
      return;
    }
    sheet.begin(camera, width, height);
    draw(pen, picture, isSeen);
    painted = camera;
    if (t >= 1 && isLarge) still.keep(camera);
  }

  /**
   * Draw cells and lines.
   * @param {any} pen of the canvas, or one that writes SVG @param {Picture} shown
   * @param {(box: import("../picture/types.js").Box) => boolean} isWanted if the cells of a plate are to be drawn at rest
   */
  function draw(pen, shown, isWanted) {
    // Where reads of cells are not known (too many, or folded before the trace), nothing may look unrelated.
    const known = shown.edges.every(({ pairs }) => pairs.length);
    const isOpen = known && !lensHull(shown, marks.hull);
    const lit = isOpen && t >= 1 && marks.hover && !marks.beliefs ? relativesOf(shown, marks.hover, marks.cell) : null;
    const ink = { ...state(), pen, picture: pins.lines(shown), lit, values: marks.values, beliefs: marks.beliefs };
    const done = layersDone(shown);
    const cells = done ? rewritten(shownCells(), done) : pins.cells(shownCells());
    const settled = t < 1 ? beats.settled(t) : 1;
    if (settled >= 1 || (settled > LINED && countLines(shown) <= MOVING_LINES))
      paintLines(ink, () => areasByBox(cells, done));
    if (t < 1) {
      const leaving = leavingAt(plan().leaving, beats.merged(t));
      for (const [box, own] of byBox(leaving)) paintCells({ ...ink, lit: null }, box, own);
    }
    for (const [still, own] of byBox(cells)) {
      const box = pins.box(still);
      if (t >= 1 && !isWanted(box)) continue;
      const isOne = box.plate?.gap === 0;
      if (isOne) paintDepth(ink, box, settled);
      paintCells(ink, box, own);
      if (done) paintDone(ink, box, own, done);
      if (isOne) paintFrame(ink, box, settled);
      if (t >= 1) paintMarks(ink, box, own);
      if (t >= 1 && marks.selected.has(box.id) && own.length > 1) paintPicked(ink, own, marks.layers);
      if (t >= 1 && marks.beliefs && marks.hover === box.id)
        paintPicked(ink, own, [box.plate?.cells[marks.cell] ?? -1]);
    }
  }

  /** The layers that the matches before the lit one have replaced, if they are asked for. @param {Picture} shown */
  function layersDone(shown) {
    const hull = marks.lens.done ? lensHull(shown, marks.hull) : null;
    return hull && doneBefore(shown, hull, marks.lens.match).layers;
  }

  /** The lit match docks from the side where its rule is described. */
  function layLens() {
    const { k, x, y } = camera;
    lens.draw(picture, lensHull(picture, marks.hull), marks.lens, { k, home: { x: x + (0.42 * width) / k, y }, words });
  }

  /** @param {Picture} shown */
  function drawHulls(shown) {
    hulls = layHulls(shown).map((item) => hullElement(make, item, palette(), (hatch) => `url(#${name}-${hatch})`));
    hullLayer.replaceChildren(...hulls.map(({ group }) => group));
    tagLayer.replaceChildren(...hulls.map(({ tag }) => tag).filter(Boolean));
    laid = NOT_LAID;
  }

  /** Lay out the words of plates and, as large as them on the screen, those of tags. */
  function layWords() {
    const shown = isWordless() ? [] : labels;
    const boxes = labels.map(({ box }) => box);
    layLabels(shown, camera.k, text, passing);
    // The rule lens hides all tags, and then they hide no words.
    layTags(
      lensHull(picture, marks.hull) ? [] : hulls,
      boxes,
      shown,
      Math.max(PLATES.tag.size, text / camera.k) / PLATES.tag.drawn,
    );
    words = wordAreas(shown);
  }

  /** Move the layer of words and lines to where the camera sees it; at another scale, lay them out again. */
  function layAll() {
    if (laid === camera) return;
    const { k, x, y } = camera;
    const corner = `${short(width / 2 - k * x)} ${short(height / 2 - k * y)}`;
    world.setAttribute("transform", `translate(${corner}) scale(${Math.round(k * 1e4) / 1e4})`);
    if (k !== laid.k) {
      layWords();
      layReasons();
      layPorts(ports, k, text);
      layLens();
      pins.lay(k, text, [...labels.map(({ box }) => cellsArea(box)), ...words]);
    }
    pins.place(camera, width, height);
    laid = camera;
  }

  /** Links are lit if one of their plates is at the pointer or selected. */
  function layReasons() {
    const isLit = (/** @type {string} */ id) => id === marks.hover || marks.selected.has(id);
    const pin = picture?.pins.find(({ id }) => id === marks.pins.tried);
    if (links.length)
      layLinks(links, camera.k, text, isLit, pin, [...labels.map(({ box }) => cellsArea(box)), ...words]);
  }

  return {
    stage,
    list: overlay,
    recolour() {
      if (picture) for (const draw of [drawHulls, pins.show]) draw(picture);
      painted = NOT_LAID;
      later();
    },
    show(shown) {
      const before = picture ? shownCells() : [];
      const docks = picture ? docked(picture, shown) : [];
      const origins = [...(picture?.origins || []), ...shown.origins];
      const isSame =
        picture?.boxes.length === shown.boxes.length && shown.boxes.every(({ id }) => picture?.byId.has(id));
      formerLayer.replaceChildren(...labels.flatMap(({ texts }) => texts));
      picture = shown;
      plan = lazily(() => movement(allCells(shown), before, origins));
      arrived = null;
      const count = shown.boxes.reduce((sum, { plate }) => sum + (plate?.cells.length ?? 0), 0);
      isLarge = count > MAX_CELLS || shown.boxes.length > MAX_PLATES;
      passing = passingLines(shown);
      labels = shown.boxes.map((box) => labelElement(make, box));
      labelLayer.replaceChildren(...labels.map(({ group }) => group));
      links = shown.links.map((link) => linkElement(make, link));
      linkLayer.replaceChildren(...links.map(({ group }) => group));
      pins.show(shown);
      ports = portElements(make, shown);
      portLayer.replaceChildren(...ports.ports.map(({ group }) => group));
      beats = beatsOf(docks.length > 0, !isSame);
      docking = docks.length ? { ...shown, hulls: docks } : null;
      drawHulls(docking || shown);
      t = 1;
      later();
      return beats.lasts;
    },
    frame(at) {
      const moves = t < 1 || at < 1 || docking;
      const wasWordless = isWordless();
      t = at;
      if (wasWordless !== isWordless()) laid = NOT_LAID;
      if (docking && picture && !beats.isOutlining(t)) {
        docking = null;
        drawHulls(picture);
      }
      const settled = t < 1 ? beats.settled(t) : 1;
      const seen = short(settled ** 2);
      if (settled > 0) formerLayer.replaceChildren();
      labelLayer.setAttribute("opacity", seen);
      for (const layer of [linkLayer, portLayer, pins.under, pins.over]) layer.setAttribute("opacity", seen);
      for (const layer of [hullLayer, tagLayer]) layer.setAttribute("opacity", docking ? "1" : seen);
      if (moves) later();
    },
    progress: (at) => beats.progress(at),
    look(next, w, h, least = 12) {
      const isSame = w === width && h === height && least === text;
      camera = next;
      if (isSame && still.move(next, w, h)) {
        clearTimeout(resting);
        resting = setTimeout(later, REST_MS);
        return;
      }
      if (!isSame) laid = NOT_LAID;
      text = least;
      [width, height] = [w, h];
      overlay.setAttribute("width", w);
      overlay.setAttribute("height", h);
      overlay.setAttribute("viewBox", `0 0 ${w} ${h}`);
      later();
    },
    mark(next) {
      if (lensHull(picture, next.hull) !== lensHull(picture, marks.hull)) laid = NOT_LAID;
      marks = next;
      const { selected, found, hull, hover, focus } = next;
      const isLens = Boolean(lensHull(picture, hull));
      const tried = pins.mark(picture, { ...next.pins, hidden: next.pins.hidden || isLens });
      const lit = picture && hull ? picture.stops.find((item) => item.id === hull) : null;
      const members = lit ? new Set(lit.boxes.map((box) => box.id)) : tried && new Set(tried.nodes);
      const stop = picture?.byId.has(focus) ? focus : picture?.boxes[0]?.id;
      for (const { box, group } of labels) {
        const dim = (members && !members.has(box.id)) || (found && !found.has(box.id));
        const on = selected.has(box.id);
        const own = [on && "ce-selected", dim && "ce-dim", found?.has(box.id) && "ce-found"];
        group.setAttribute("class", classes("ce-box ce-plate", box.id === hover && "ce-hover", ...own));
        group.setAttribute("aria-selected", String(on));
        group.setAttribute("tabindex", box.id === stop ? "0" : "-1");
      }
      for (const { hull: item, group, tag } of hulls) {
        const own = [item === lit && "ce-lit", lit && item !== lit && (lit.lens ? "ce-hidden" : "ce-dim")];
        group.setAttribute("class", classes("ce-hull", `ce-hull-${item.kind}`, ...own));
        // The rule lens says what the tag of the lit match would.
        if (tag) tag.setAttribute("class", classes("ce-tag", `ce-tag-${item.kind}`, lit?.lens && "ce-hidden", ...own));
      }
      layReasons();
      const focused = focusedIn(stage)?.getAttribute?.("data-id");
      lightPorts(ports, (id) => id === hover || id === focused || selected.has(id));
      layLens();
      later();
    },
    tipAt: (_, target) => {
      const tip = target?.parentNode?.getAttribute?.("data-tip");
      return tip ? [tip] : null;
    },
    focus(id) {
      labels.find(({ box }) => box.id === id)?.group.focus({ preventScroll: true });
    },
    canvasSvg() {
      layAll();
      const writer = svgPen();
      const { k, x, y } = camera;
      writer.setTransform(k, 0, 0, k, width / 2 - k * x, height / 2 - k * y);
      if (picture) draw(writer, picture, () => true);
      return writer.element();
    },
    places: () => new Map(picture?.boxes.map((box) => [box.id, { x: box.x, y: box.y }])),
    close() {
      closed = true;
      pins.close();
      clearTimeout(resting);
      if (waiting) unframe(waiting);
      stage.remove();
    },
  };
}
