/** Pins: drawn notes outside the plates that say why their layers are not fewer; each has a button above it. */

import { markElements } from "../shared/marks.js";
import { makeAttempt } from "./attempt.js";
import { meet } from "./titles.js";
import { short } from "../picture/shapes.js";

/**
 * @import { Camera, Picture, Pin, Rect } from "../picture/types.js"
 * @import { Make } from "../shared/elements.js"
 * @import { Palette } from "../shared/theme.js"
 */

/** The least size of the words of a pin in the picture, in pixels. */
const SIZE = 12;
/** The least side of a button on the screen, in pixels. */
const TARGET = 24;
/** A pin is so far from words and cells, or moves up or down, at most so far, in pixels of the screen. */
const [CLEAR, MOVES] = [2, [0, -3, 3, -6, 6, -9, 9, -12, 12]];
/** How far a sign moves to the right and down, the nearest first. */
const SPOTS = MOVES.flatMap((by) => MOVES.map((down) => [by, down])).sort(
  (a, b) => Math.hypot(...a) - Math.hypot(...b),
);

/**
 * @param {Make} make @param {() => Palette} palette
 * @param {Parameters<typeof makeAttempt>[1]} scene  `later`: paint the cells again
 */
export function makePins(make, palette, scene) {
  const { h, s } = make;
  const attempt = makeAttempt(make, scene);
  /** Lines below the words of plates. */
  const under = s("g", { class: "ce-pin-lines", "aria-hidden": "true" });
  const over = s("g", { class: "ce-pins", "aria-hidden": "true" });
  const keys = h("div", { class: "ce-pin-keys" });
  /** @type {{pin: Pin, note: any, small: any, group: any, lines: any, key: any, x: number, y: number, half: [number, number]}[]} */
  let drawn = [];
  /** The left and the right side of the picture, its top and its bottom. */
  let sides = [-Infinity, Infinity, -Infinity, Infinity];

  /** @param {Pin} pin */
  function draw(pin) {
    const note = s("g", {}, markElements(make, pin.marks, palette()));
    const small = s("g", {}, markElements(make, pin.small, palette()));
    const group = s("g", { class: `ce-pin ce-pin-${pin.kind}` }, note, small);
    const leader = s("g", {}, markElements(make, pin.leader, palette()));
    const strokes = s(
      "g",
      { class: "ce-pin-strokes", mask: attempt.cover.url },
      markElements(make, pin.strokes, palette()),
    );
    const lines = s("g", {}, strokes, leader);
    const key = h("button", {
      type: "button",
      class: "ce-pin-key",
      "data-pin": pin.id,
      title: pin.reason,
      "aria-label": `${pin.text}: show why`,
    });
    const half = /** @type {[number, number]} */ ([pin.w / 2, pin.h / 2]);
    return { pin, note, small, group, lines, key, x: pin.x, y: pin.y, half };
  }

  return {
    ...{ cells: attempt.cells, box: attempt.box, lines: attempt.lines, held: attempt.element, close: attempt.close },
    cover: attempt.cover.element,
    under,
    over,
    keys,
    /** @param {Picture} picture */
    show(picture) {
      const { pins, extent } = picture;
      const [left = -Infinity, top = -Infinity, right = Infinity, bottom = Infinity] = extent;
      attempt.show(picture);
      sides = [left, right, top, bottom];
      drawn = pins.map(draw);
      under.replaceChildren(...drawn.map(({ lines }) => lines));
      over.replaceChildren(...drawn.map(({ group }) => group));
      keys.replaceChildren(...drawn.map(({ key }) => key));
    },
    /**
     * Lay out the notes for a scale, at which they may be larger than the picture has room for: a note that would cover
     * words moves a little, or is only a sign.
     * @param {number} k @param {number} least size of its words on the screen, in pixels @param {readonly Rect[]} taken
     */
    lay(k, least, taken) {
      const scale = Math.max(1, least / (SIZE * k));
      /** @type {Rect[]} */
      const kept = [];
      for (const one of drawn) {
        const { w, h: high } = one.pin;
        const half = [(scale * w) / 2, (scale * high) / 2];
        const x = Math.max(sides[0] + half[0], Math.min(sides[1] - half[0], one.pin.x));
        const isClear = (/** @type {Rect} */ area) =>
          (area.t >= sides[2] || area.t >= one.pin.y - half[1]) &&
          (area.b <= sides[3] || area.b <= one.pin.y + half[1]) &&
          ![...taken, ...kept].some((other) => meet(area, other));
        const areaAt = (/** @type {number} */ y, by = 0) => ({
          l: x - half[0] - by,
          t: y - half[1] - by,
          r: x + half[0] + by,
          b: y + half[1] + by,
        });
        const free = MOVES.map((by) => one.pin.y + by / k).find((y) => isClear(areaAt(y, CLEAR / k)));
        const isWhole = free !== undefined;
        const side = Math.max(scale * 12, TARGET / 2 / k);
        const signAt = (/** @type {number[]} */ [by, down]) => {
          const [l, t] = [one.pin.x + by / k - side, one.pin.y + down / k - side];
          return { l, t, r: l + 2 * side, b: t + 2 * side };
        };
        const area = isWhole ? areaAt(free) : (SPOTS.map(signAt).find(isClear) ?? signAt([0, 0]));
        [one.x, one.y] = [(area.l + area.r) / 2, (area.t + area.b) / 2];
        one.half = isWhole ? [half[0], Math.max(half[1], TARGET / 2 / k)] : [side, side];
        one.note.setAttribute("visibility", isWhole ? "inherit" : "hidden");
        one.small.setAttribute("visibility", isWhole ? "hidden" : "inherit");
        one.group.setAttribute("transform", `translate(${short(one.x)} ${short(one.y)}) scale(${scale})`);
        kept.push(area);
      }
    },
    /** Put the buttons over the notes. @param {Camera} camera @param {number} width @param {number} height */
    place({ k, x, y }, width, height) {
      for (const { key, x: middle, y: centre, half } of drawn) {
        const [left, top] = [(middle - half[0] - x) * k + width / 2, (centre - half[1] - y) * k + height / 2];
        key.setAttribute("style", `left:${left}px;top:${top}px;width:${2 * half[0] * k}px;height:${2 * half[1] * k}px`);
      }
    },
    /**
     * Show the attempt of a pin; returns that pin.
     * @param {Picture | null} picture @param {{tried: string, shut: boolean, hidden: boolean}} marks  `hidden`: nothing may
     * tell an answer
     */
    mark(picture, { tried, shut, hidden }) {
      const shown = picture?.pins.find(({ id }) => id === tried) ?? null;
      attempt.play(picture, shown, shut);
      for (const { pin, key, lines, group } of drawn) {
        key.setAttribute("aria-pressed", String(pin.id === tried));
        const isOther = tried && pin.id !== tried;
        for (const element of [lines, group]) element.setAttribute("opacity", isOther ? "0.25" : "1");
        lines.setAttribute("visibility", pin.id === tried && pin.cells.length > 1 ? "hidden" : "inherit");
      }
      for (const layer of [under, over]) layer.setAttribute("visibility", hidden ? "hidden" : "inherit");
      keys.hidden = hidden;
      return shown;
    },
  };
}

export const STYLE = `
.ce-stage .ce-pin text{dominant-baseline:auto}
.ce-pin-keys{position:absolute;inset:0;overflow:hidden;pointer-events:none}
.ce-root .ce-pin-key{position:absolute;padding:0;margin:0;border:0;border-radius:12px;background:transparent;cursor:pointer;pointer-events:auto;min-width:0;min-height:0}
.ce-root .ce-pin-keys .ce-pin-key,.ce-root .ce-pin-keys .ce-pin-key:hover:not(:disabled),.ce-root .ce-pin-keys .ce-pin-key[aria-pressed=true]{background:none;border:0}
.ce-root .ce-pin-key:hover{box-shadow:0 0 0 2px var(--ce-accent)}
.ce-root .ce-pin-key:focus-visible{outline:3px solid var(--ce-accent);outline-offset:2px}
@media print{.ce-root :is(.ce-pin-keys,.ce-tried button){display:none}}
@media (prefers-reduced-motion:no-preference){
.ce-tug{animation:ce-tug .9s ease-in-out 1}
@keyframes ce-tug{0%{transform:none}25%{transform:translateX(-9px)}45%{transform:translateX(5px)}60%{transform:translateX(-3px)}100%{transform:none}}
}
`;
