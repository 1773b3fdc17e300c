/** The words at a plate, as SVG elements; they stay legible at every scale. */

import { clip } from "../shared/measuring.js";
import { describeBox } from "../picture/words.js";
import { barsElement, layBars } from "./bars.js";

/**
 * @typedef {import("../shared/elements.js").Make} Make
 * @typedef {import("../picture/types.js").Box} Box
 */

/** Sizes of the title and of the lines below, in pixels of the picture; on the screen they are never below
 * the `least` of `layLabel`. */
const [TITLE, LINE] = [14, 12.5];
/** Distance of the title from a separate plate, and from the sheets of a folded one; of the lines below from the cells. */
const [ABOVE, ABOVE_DEEP, BELOW] = [13, 18, 10];
/** The words of two plates are at least this far apart. */
const MARGIN = 30;
/** Below these scales the third and the second line are dropped. */
const [THREE, TWO] = [0.66, 0.5];

/**
 * The group of a plate: its name for screen readers, the ring of the selection, and its words.
 * @param {Make} make @param {Box} box
 */
export function labelElement({ s }, box) {
  const ring = s("rect", { class: "ce-ring", rx: 6 });
  const area = { x: box.x - box.w / 2, y: box.y - box.h / 2, width: box.w, height: box.h };
  const face = s("rect", { class: "ce-plate-face", ...area });
  const texts = ["ce-plate-title", "ce-plate-calls", "ce-plate-line", "ce-plate-line"].map((name) =>
    s("text", { class: name }),
  );
  const attributes = { role: "option", "aria-selected": "false", tabindex: "-1", "data-id": box.id };
  const bars = barsElement(s, box);
  const look = s("g", { "aria-hidden": "true" }, ring, face, ...bars.flatMap(({ track, bar }) => [track, bar]), texts);
  const name = s("text", { class: "ce-name", x: box.x, y: box.y, text: describeBox(box) });
  const group = s("g", { class: "ce-box ce-plate", ...attributes }, name, look);
  return { box, group, ring, bars, texts };
}
/** @typedef {ReturnType<typeof labelElement>} Label */

/**
 * Lay out the words for a scale.
 * @param {Label} label @param {number} k @param {number} least size of the text on the screen, in pixels
 */
export function layLabel({ box, ring, bars, texts }, k, least) {
  const plate = box.plate;
  if (!plate) return;
  const [size, small] = [Math.max(TITLE, least / k), Math.max(LINE, least / k)];
  const [left, top] = [box.x - box.w / 2, box.y - box.h / 2];
  const above = plate.gap === 0 ? ABOVE_DEEP : ABOVE;
  const below = [
    { kind: "calls", text: plate.calls },
    { kind: "news", text: plate.news },
    { kind: "line", text: plate.shape },
    { kind: "line", text: plate.reads },
  ];
  const shown = below.filter(({ text }) => text).slice(0, k < TWO ? 1 : k < THREE ? 2 : 3);
  const gap = layBars(bars, box, k) || BELOW;
  const height = size + above + box.h + 2 + gap + shown.length * small * 1.25;
  for (const [name, value] of [
    ["x", left - 6],
    ["y", top - above - size],
    ["width", box.w + 12],
    ["height", height],
  ]) {
    ring.setAttribute(name, value);
  }
  const words = [{ kind: "title", text: box.title }, ...shown];
  texts.forEach((/** @type {any} */ text, /** @type {number} */ at) => {
    const font = at < 1 ? size : small;
    const { kind, text: line } = words[at] || { kind: "line", text: "" };
    const isBold = kind === "title" || kind === "calls";
    text.textContent = clip(line, font, plate.room, isBold);
    text.setAttribute("x", box.x);
    text.setAttribute("y", at < 1 ? top - above : top + box.h + gap + small + (at - 1) * small * 1.25);
    text.setAttribute("font-size", font.toFixed(2));
    text.setAttribute("class", `ce-plate-${kind}`);
  });
}

export const STYLE = `
.ce-stage text.ce-plate-title,.ce-stage text.ce-plate-calls,.ce-stage text.ce-plate-line,.ce-stage text.ce-plate-news{dominant-baseline:auto;text-anchor:middle;fill:var(--ce-fg);paint-order:stroke;stroke:var(--ce-ground);stroke-width:3px;stroke-linejoin:round}
.ce-plate-title,.ce-plate-calls{font-weight:600}
.ce-stage text.ce-plate-line{fill:var(--ce-muted)}
.ce-stage text.ce-plate-news{font-style:italic}
.ce-plates .ce-hull .ce-tint,.ce-plates .ce-hull.ce-lit .ce-tint{opacity:.1}
.ce-plate-face{fill:transparent;pointer-events:all}
.ce-plate .ce-ring{vector-effect:non-scaling-stroke}
`;
