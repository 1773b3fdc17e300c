/** The words at a plate, as SVG elements; they stay legible at every scale. */

import { describeBox } from "../picture/words.js";
import { laneClass } from "../shared/lanes.js";
import { clip, textWidth } from "../shared/measuring.js";
import { areaOf, baselineOf, callRooms, cellsArea, meet, titleRooms } from "./titles.js";
import { PLATES, WORDS, wordStyle } from "./look.js";

/**
 * @import { Box, Rect } from "../picture/types.js"
 * @import { Make } from "../shared/elements.js"
 */

const LINES = PLATES.lines;
/** Below these scales the third and the second line are dropped. */
const [THREE, TWO] = [0.66, 0.5];

/** @param {string} kind */
const isBold = (kind) => WORDS[kind].weight > 400;

/**
 * The lines of text below a plate: one that does not fit goes on in the next line, if there may be one. Shape and reads are
 * whole, in short or left out: "view, no" would say something else than "view, no copy". Names may be cut.
 * @param {{kind: string, text: string, short?: string, isCut?: boolean}[]} below @param {number} most
 * @param {(kind: string, text: string) => boolean} fits
 */
export function wordLines(below, most, fits) {
  /** @type {{kind: string, text: string}[]} */
  const lines = [];
  /** Add a text; returns whether there is room for it. @param {string} kind @param {string} text @param {boolean} isCut */
  function add(kind, text, isCut) {
    let end = text.length;
    while (end > 0 && !fits(kind, text.slice(0, end))) end = text.lastIndexOf(" ", end - 1);
    const isBroken = end > 0 && end < text.length && lines.length + 1 < most;
    const parts = isBroken ? [text.slice(0, end), text.slice(end + 1)] : [text];
    const hasRoom = kind !== "line" || isCut || parts.every((part) => fits(kind, part));
    if (hasRoom) lines.push(...parts.map((part) => ({ kind, text: part })));
    return hasRoom;
  }
  for (const { kind, text, short, isCut = false } of below) {
    if (text && lines.length < most && !add(kind, text, isCut) && short) add(kind, short, isCut);
  }
  return lines;
}

/**
 * The group of a plate: the ring of the selection, and once they are laid out its words and its name for screen readers.
 * @param {Make} make @param {Box} box
 */
export function labelElement({ s }, box) {
  const ring = s("rect", { class: "ce-ring", rx: 6 });
  const area = { x: box.x - box.w / 2, y: box.y - box.h / 2, width: box.w, height: box.h };
  const face = s("rect", { class: "ce-plate-face", ...area });
  const attributes = { role: "option", "aria-selected": "false", tabindex: "-1", "data-id": box.id };
  const bars = barsElement(s, box);
  const look = s("g", { "aria-hidden": "true" }, ring, face, ...bars.flatMap(({ track, bar }) => [track, bar]));
  const group = s("g", { class: "ce-box ce-plate", ...attributes }, look);
  /** @type {any[]} */
  const texts = [];
  const addTexts = () => {
    for (const kind of ["title", "calls", "line", "line"]) texts.push(s("text", { class: `ce-plate-${kind}` }));
    for (const text of texts) look.appendChild(text);
    group.appendChild(s("text", { class: "ce-name", x: box.x, y: box.y, text: describeBox(box) }));
  };
  return { box, group, ring, bars, texts, addTexts };
}
/** @typedef {ReturnType<typeof labelElement>} Label */

/**
 * Lay out the words of all plates for a scale.
 * @param {readonly Label[]} labels @param {number} k @param {number} least size of the text on the screen, in pixels
 * @param {readonly Rect[]} lines that pass plates, part by part
 */
export function layLabels(labels, k, least, lines = []) {
  const boxes = labels.map(({ box }) => box);
  const rooms = titleRooms(boxes, titleSize(k, least));
  const calls = callRooms(boxes, lineSize(k, least), titleSize(k, least));
  labels.forEach((label, at) => layLabel(label, rooms[at], calls[at], k, least));
  hideCovered(labels, lines);
}

/**
 * Leave out the words below plates where the title of another one is, and shapes and reads where a line is: at a small
 * scale there is no room for both.
 * @param {readonly Label[]} labels @param {readonly Rect[]} lines
 */
function hideCovered(labels, lines) {
  const titles = labels.flatMap(({ texts }) => (texts.length ? [{ title: texts[0], area: areaOf(texts[0]) }] : []));
  for (const { texts } of labels) {
    for (const text of texts.slice(1)) {
      if (!text.textContent) continue;
      const area = areaOf(text);
      const isStruck = text.getAttribute("class") === "ce-plate-line" && lines.some((line) => meet(area, line));
      if (isStruck || titles.some(({ title, area: other }) => title !== texts[0] && meet(area, other)))
        text.textContent = "";
    }
  }
}

/** The areas of the words of plates. @param {readonly Label[]} labels */
export const wordAreas = (labels) =>
  labels.flatMap(({ texts }) =>
    texts.filter((text) => text.textContent && text.getAttribute("visibility") !== "hidden").map(areaOf),
  );

/** @param {number} k @param {number} least */
const titleSize = (k, least) => Math.max(WORDS.title.size, least / k);
/** @param {number} k @param {number} least */
const lineSize = (k, least) => Math.max(WORDS.line.size, least / k);

/** @param {Label} label @param {{x: number, room: number}} title @param {number} calls width for them @param {number} k @param {number} least */
function layLabel({ box, ring, bars, texts, addTexts }, title, calls, k, least) {
  const plate = box.plate;
  if (!plate) return;
  if (!texts.length) addTexts();
  const [size, small] = [titleSize(k, least), lineSize(k, least)];
  const top = box.y - box.h / 2;
  const baseline = baselineOf(box);
  const columns = { kind: "line", text: plate.columns, isCut: true };
  const isSmall = k < THREE; // inputs of one kind are told apart by their columns
  const below = [
    ...(isSmall ? [columns] : []),
    { kind: "calls", text: plate.calls },
    { kind: "news", text: plate.news },
    ...(isSmall ? [] : [columns]),
    { kind: "line", text: plate.shape },
    { kind: "line", text: plate.reads, short: plate.copies },
  ];
  /** @param {string} kind @param {string} text */
  const fits = (kind, text) => textWidth(text, small, isBold(kind)) <= roomOf(kind);
  const roomOf = (/** @type {string} */ kind) => (kind === "calls" ? calls : plate.room);
  const shown = wordLines(below, k < TWO ? 1 : k < THREE ? 2 : LINES.most, fits);
  const gap = layBars(bars, box, k) || LINES.below;
  const height = size + (top - baseline) + box.h + 2 + gap + shown.length * small * LINES.height;
  const words = [{ kind: "title", text: box.title }, ...shown];
  texts.forEach((/** @type {any} */ text, /** @type {number} */ at) => {
    const font = at < 1 ? size : small;
    const { kind, text: line } = words[at] || { kind: "line", text: "" };
    text.textContent = clip(line, font, at < 1 ? title.room : roomOf(kind), isBold(kind));
    text.setAttribute("x", at < 1 ? title.x : box.x);
    text.setAttribute("y", at < 1 ? baseline : top + box.h + gap + small + (at - 1) * small * LINES.height);
    text.setAttribute("font-size", font.toFixed(2));
    text.setAttribute("class", `ce-plate-${kind}`);
  });
  const widths = shown.map(({ kind, text }) => Math.min(roomOf(kind), textWidth(text, small, isBold(kind))));
  const wide = Math.max(box.w, Math.min(title.room, textWidth(box.title, size, true)), ...widths) + 12;
  for (const [name, value] of [
    ["x", box.x - wide / 2],
    ["y", baseline - size],
    ["width", wide],
    ["height", height],
  ]) {
    ring.setAttribute(name, value);
  }
}

const WORD_STYLE = Object.entries(WORDS).map(([kind, look]) => wordStyle(`.ce-stage text.ce-plate-${kind}`, look));

export const STYLE = `
${WORD_STYLE.join("")}.ce-plates .ce-hull .ce-tint,.ce-plates .ce-hull.ce-lit .ce-tint{opacity:${PLATES.tint}}
.ce-plate-face{fill:transparent;pointer-events:all}
.ce-plate .ce-ring{vector-effect:non-scaling-stroke}
`;

/** Bars and the gaps between them are at least as high on the screen as in the picture. */
const { length: LENGTH, off: OFF, thick: THICK, gap: GAP } = PLATES.bars;

/**
 * A track as long as the longest bar, and the bar of each lane.
 * @param {import("../shared/elements.js").Make["s"]} s @param {Box} box
 */
export const barsElement = (s, { plate }) =>
  (plate?.times || []).map(({ lane, share }) => ({
    share,
    track: s("rect", { class: "ce-lane-track" }),
    bar: s("rect", { class: laneClass(lane) }),
  }));

/**
 * Lay out the bars for a scale; returns the room that they take below the cells.
 * @param {ReturnType<typeof barsElement>} bars @param {Box} box @param {number} k
 */
export function layBars(bars, box, k) {
  const [thick, gap] = [THICK, GAP].map((size) => size / Math.min(1, k));
  bars.forEach(({ share, track, bar }, at) => {
    const y = box.y + box.h / 2 + OFF + at * (thick + gap);
    for (const [rect, width] of [
      [track, LENGTH],
      [bar, Math.max(share * LENGTH, 1 / k)],
    ]) {
      rect.setAttribute("x", box.x - LENGTH / 2);
      rect.setAttribute("y", y);
      rect.setAttribute("width", width);
      rect.setAttribute("height", thick);
    }
  });
  return bars.length ? OFF + bars.length * (thick + gap) : 0;
}
