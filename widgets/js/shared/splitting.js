/**
 * A bar between two parts of a page, which makes the lower one higher or lower: by dragging, by keys, or by its buttons.
 * The browser remembers the height.
 */

import { scrollerOf } from "./elements.js";

/** The height of the lower part, in percent of the window. */
const [LEAST, MOST, NORMAL] = [15, 75, 36];
/** What a key or a button adds. */
const [KEY, BUTTON] = [2, 8];
/** Arrow keys say where the bar goes: up makes the part below higher. @type {Record<string, (height: number) => number>} */
const KEYS = {
  ArrowUp: (height) => height + KEY,
  ArrowDown: (height) => height - KEY,
  PageUp: (height) => height + BUTTON,
  PageDown: (height) => height - BUTTON,
  Home: () => MOST,
  End: () => LEAST,
};

/**
 * @param {import("./elements.js").Make} make
 * @param {{name: string, words: string, lower(): any, apply(height: string): void}} split `name`: under which the height
 *   is remembered; `words`: the part whose height it is; `lower`: its element, which is measured until the reader has
 *   chosen a height, or null; `apply` receives the height for CSS, once the reader has chosen one
 */
export function makeSplit({ doc, h }, { name, words, lower, apply }) {
  const key = `circuit-explorer-${name}`;
  const window = doc.defaultView;
  /** @type {{y: number, height: number} | null} */
  let drag = null;
  let height = NORMAL;
  let isChosen = false;
  const grip = h("div", {
    class: "ce-split-grip",
    role: "separator",
    tabindex: "0",
    "aria-label": `Height of ${words}`,
    "aria-orientation": "horizontal",
    "aria-valuemin": LEAST,
    "aria-valuemax": MOST,
  });
  const smaller = h("button", { type: "button", text: "−", "aria-label": `Make ${words} smaller` });
  const larger = h("button", { type: "button", text: "+", "aria-label": `Make ${words} larger` });
  const element = h("div", { class: "ce-split" }, grip, smaller, larger);

  /** @param {number} wanted */
  function set(wanted) {
    height = Math.round(Math.max(LEAST, Math.min(MOST, wanted)));
    grip.setAttribute("aria-valuenow", height);
    grip.setAttribute("aria-valuetext", `${height} percent of the window`);
    smaller.disabled = height === LEAST;
    larger.disabled = height === MOST;
  }

  /** @param {number} wanted */
  function choose(wanted) {
    isChosen = true;
    set(wanted);
    apply(`${height}vh`);
    try {
      window.localStorage.setItem(key, String(height));
    } catch {
      // The browser forbids it: the height ends with the page.
    }
  }

  /** The height from which the reader moves the bar: until they have chosen one, it is the height of the contents. */
  function current() {
    const pixels = isChosen ? 0 : lower()?.getBoundingClientRect?.().height;
    if (pixels) set((100 * pixels) / window.innerHeight);
    return height;
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
    drag = { y: event.clientY, height: current() };
    grip.setPointerCapture?.(event.pointerId);
  });
  grip.addEventListener("pointermove", (/** @type {any} */ event) => {
    if (!drag) return;
    choose(drag.height + (100 * (drag.y - event.clientY)) / window.innerHeight);
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
    // No memory: the height is the normal one.
  }
  return { element };
}

export const STYLE = `
.ce-split{display:flex;flex:none;align-items:center;gap:4px;height:24px;padding:0 6px;background:var(--ce-panel)}
.ce-split-grip{flex:1;height:24px;cursor:ns-resize;touch-action:none;background:linear-gradient(var(--ce-control),var(--ce-control)) center/44px 4px no-repeat}
.ce-split-grip:hover{background-color:var(--ce-soft)}
.ce-root .ce-split button{height:24px;min-width:26px;padding:0}
@media (forced-colors:active){.ce-split-grip{border-top:2px solid ButtonText}}
`;
