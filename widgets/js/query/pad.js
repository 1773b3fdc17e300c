/** The pad on which the observed pixels of an image are painted, with the pointer or with the keyboard. */

import { drawEvidence } from "./drawing.js";
import { isInside, paint, valueAt } from "./evidence.js";

/** @import { Evidence } from "./evidence.js" */

/** The longest side of the pad in pixels. */
const SIDE = 224;
/** @type {Record<string, number[]>} */
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const LABEL = "Observed pixels: drag to paint; or arrow keys, space to paint, Delete to erase";

/**
 * @param {import("../shared/elements.js").Make} make
 * @param {{ink(): number | null, done(): void, say(words: string): void}} page `ink`: the value to paint, null erases pixels;
 *   `done` is called after each stroke
 */
export function makePad({ h }, { ink, done, say }) {
  /** @type {Evidence} */
  let evidence = { x: [], observed: [] };
  /** @type {number[]} */
  let image = [1, 1, 1];
  let most = 1;
  /** @type {Record<string, string>} */
  let roles = {};
  let cursor = [0, 0];
  let focused = false;
  /** The pixel before in the stroke, if there is one. @type {number[] | null} */
  let last = null;
  const canvas = h("canvas", {
    class: "ceg-pad",
    tabindex: "0",
    role: "application",
    "aria-label": LABEL,
    title: LABEL,
    onpointerdown: start,
    onpointermove: move,
    onpointerup: lift,
    onpointercancel: lift, // the browser takes the pointer, to scroll for example
    onkeydown: press,
    onfocus: () => focus(true),
    onblur: () => focus(false),
  });

  const redraw = () => drawEvidence(canvas, evidence, image, most, SIDE, roles, focused ? cursor : null);

  /** @param {boolean} now */
  function focus(now) {
    focused = now && canvas.matches?.(":focus-visible") !== false;
    redraw();
  }

  /** The pixel at the pointer. @param {any} event */
  function pixel(event) {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    return [
      Math.floor(((event.clientX - left) / width) * image[2]),
      Math.floor(((event.clientY - top) / height) * image[1]),
    ];
  }

  /** @param {any} event */
  function start(event) {
    last = pixel(event);
    canvas.setPointerCapture?.(event.pointerId);
    paint(evidence, image, last[0], last[1], ink());
    redraw();
  }

  /** Paint all pixels on the way: a fast pointer skips some. @param {any} event */
  function move(event) {
    if (!last) return;
    const to = pixel(event);
    const from = last;
    const count = Math.max(1, Math.abs(to[0] - from[0]), Math.abs(to[1] - from[1]));
    for (let i = 1; i <= count; i += 1) {
      const [column, row] = [0, 1].map((side) => Math.round(from[side] + ((to[side] - from[side]) * i) / count));
      paint(evidence, image, column, row, ink());
    }
    last = to;
    redraw();
  }

  function lift() {
    if (last) done();
    last = null;
  }

  /** @param {any} event */
  function press(event) {
    const by = ARROWS[event.key];
    const erases = event.key === "Delete" || event.key === "Backspace";
    if (!by && !erases && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    focused = true;
    if (by) {
      const to = [cursor[0] + by[0], cursor[1] + by[1]];
      if (isInside(image, to[0], to[1])) cursor = to;
    } else {
      paint(evidence, image, cursor[0], cursor[1], erases ? null : ink());
      done();
    }
    const value = valueAt(evidence, image, cursor[0], cursor[1]);
    say(`row ${cursor[1] + 1}, column ${cursor[0] + 1}: ${value === null ? "not observed" : value}`);
    redraw();
  }

  return {
    element: canvas,
    /** What is observed now. */
    evidence: () => evidence,
    /** @param {Evidence} next @param {number[]} of image @param {number} largest @param {Record<string, string>} palette */
    show(next, of, largest, palette) {
      if (of.join() !== image.join()) cursor = [Math.floor(of[2] / 2), Math.floor(of[1] / 2)];
      [evidence, image, most, roles] = [{ x: [...next.x], observed: [...next.observed] }, of, largest, palette];
      redraw();
    },
  };
}
