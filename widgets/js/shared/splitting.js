/**
 * A bar between two parts of a page, which makes the second one larger or smaller: by dragging, by keys, or by its buttons.
 * The browser remembers the size.
 */

import { scrollerOf } from "./elements.js";

/** The height of the lower part, or the width of the right one, in percent of the window. */
const [LEAST, MOST, NORMAL] = [15, 75, 36];
/** What a key or a button adds. */
const [KEY, BUTTON] = [2, 8];
/** The width of a part at the right until the reader has chosen one, in pixels. */
const SIDE = 380;
/** Arrow keys say where the bar goes: up makes the part below higher. @type {Record<string, (size: number) => number>} */
const KEYS = {
  ArrowUp: (size) => size + KEY,
  ArrowDown: (size) => size - KEY,
  ArrowLeft: (size) => size + KEY,
  ArrowRight: (size) => size - KEY,
  PageUp: (size) => size + BUTTON,
  PageDown: (size) => size - BUTTON,
  Home: () => MOST,
  End: () => LEAST,
};

/**
 * @param {import("./elements.js").Make} make
 * @param {{name: string, words: string, across?: boolean, part(): any, apply(size: string): void}} split `name`: under
 *   which the size is remembered; `words`: the part whose size it is; `across`: its width; `part`: its element, which is
 *   measured until the reader has chosen a size, or null; `apply` receives the size for CSS, once the reader has chosen one
 */
export function makeSplit({ doc, h }, { name, words, across = false, part, apply }) {
  const key = `circuit-explorer-${name}`;
  const window = doc.defaultView;
  /** @type {{at: number, size: number} | null} */
  let drag = null;
  let size = NORMAL;
  let isChosen = false;
  const grip = h("div", {
    class: "ce-split-grip",
    role: "separator",
    tabindex: "0",
    "aria-label": `${across ? "Width" : "Height"} of ${words}`,
    "aria-orientation": across ? "vertical" : "horizontal",
    "aria-valuemin": LEAST,
    "aria-valuemax": MOST,
  });
  const smaller = h("button", { type: "button", text: "−", "aria-label": `Make ${words} smaller` });
  const larger = h("button", { type: "button", text: "+", "aria-label": `Make ${words} larger` });
  const element = h("div", { class: across ? "ce-split ce-split-across" : "ce-split" }, grip, smaller, larger);
  /** @param {any} event */
  const positionOf = (event) => (across ? event.clientX : event.clientY);
  const whole = () => (across ? window.innerWidth : window.innerHeight);

  /** @param {number} wanted */
  function set(wanted) {
    size = Math.round(Math.max(LEAST, Math.min(MOST, wanted)));
    grip.setAttribute("aria-valuenow", size);
    grip.setAttribute("aria-valuetext", `${size} percent of the window`);
    smaller.disabled = size === LEAST;
    larger.disabled = size === MOST;
  }

  /** @param {number} wanted */
  function choose(wanted) {
    isChosen = true;
    set(wanted);
    apply(`${size}${across ? "vw" : "vh"}`);
    try {
      window.localStorage.setItem(key, String(size));
    } catch {
      // The browser forbids it: the size ends with the page.
    }
  }

  /** The size from which the reader moves the bar: until they have chosen one, it is that of the contents. */
  function current() {
    const rect = isChosen ? null : part()?.getBoundingClientRect?.();
    const pixels = rect ? (across ? rect.width : rect.height) : across && !isChosen ? SIDE : 0;
    if (pixels) set((100 * pixels) / whole());
    return size;
  }

  grip.addEventListener("focus", current);
  grip.addEventListener("keydown", (/** @type {any} */ event) => {
    const next = KEYS[event.key];
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    choose(next(current()));
  });
  grip.addEventListener("pointerdown", (/** @type {any} */ event) => {
    drag = { at: positionOf(event), size: current() };
    grip.setPointerCapture?.(event.pointerId);
  });
  grip.addEventListener("pointermove", (/** @type {any} */ event) => {
    if (!drag) return;
    choose(drag.size + (100 * (drag.at - positionOf(event))) / whole());
    if (across) return;
    // Where the part above is as low as it may be, the page scrolls instead.
    const { top, height: own } = grip.getBoundingClientRect();
    scrollerOf(grip)?.scrollBy(0, top + own / 2 - event.clientY);
  });
  for (const type of ["pointerup", "pointercancel"]) grip.addEventListener(type, () => (drag = null));
  smaller.addEventListener("click", () => choose(current() - BUTTON));
  larger.addEventListener("click", () => choose(current() + BUTTON));

  set(NORMAL);
  try {
    const known = Number(window.localStorage.getItem(key));
    if (known) choose(known);
  } catch {
    // No memory: the size is the normal one.
  }
  return { element };
}

export const STYLE = `
.ce-split{display:flex;flex:none;align-items:center;gap:4px;height:24px;padding:0 6px;background:var(--ce-panel)}
.ce-split-grip{flex:1;height:24px;cursor:ns-resize;touch-action:none;background:linear-gradient(var(--ce-control),var(--ce-control)) center/44px 4px no-repeat}
.ce-split-grip:hover{background-color:var(--ce-soft)}
.ce-root .ce-split button{height:24px;min-width:26px;padding:0}
.ce-split-across{position:relative;flex-direction:column;justify-content:center;width:10px;height:auto;padding:0;border-left:1px solid var(--ce-line)}
.ce-split-across .ce-split-grip{position:absolute;inset:0;height:auto;cursor:ew-resize;background-size:4px 44px}
.ce-root .ce-split-across button{position:relative;z-index:4;top:52px;left:-9px;opacity:0}
.ce-split-across:is(:hover,:focus-within) button{opacity:1!important}
@media (hover:none){.ce-root .ce-split-across button{opacity:1}}
@media (forced-colors:active){.ce-split-grip{border-top:2px solid ButtonText}}
`;
