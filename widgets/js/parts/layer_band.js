/** Which layer runs when, below the buffers of a program: a click selects all that came of it. */

import { namesOf } from "../picture/buffers.js";
import { makeRoving } from "./roving.js";

/** @typedef {import("../picture/buffers.js").LayerSpan} LayerSpan */

/**
 * @param {import("./ui.js").Ui} ui
 * @param {{choose(span: LayerSpan): void, name(words: string | null): void, colour(kind: string): string}} page
 * `name`: what the layer at the pointer is, or null
 */
export function makeLayerBand({ h, guard }, { choose, name, colour }) {
  /** @type {{item: LayerSpan, element: any}[]} */
  let spans = [];
  const roving = makeRoving({
    items: () => spans,
    choose: (/** @type {LayerSpan} */ span) => choose(span),
    enter: (/** @type {LayerSpan} */ span) => name(span.text),
  });
  const element = h("div", {
    class: "ce-layers",
    role: "listbox",
    "aria-label": "Layers, in the order in which they run",
    onkeydown: guard((/** @type {any} */ event) => roving.press(event)),
    onpointerleave: guard(() => name(null)),
  });

  /** @param {LayerSpan} item @param {number} count of moments */
  function draw(item, count) {
    const [whole, number] = namesOf(item);
    const style = `left:${(100 * item.start) / count}%;width:${(100 * (item.end - item.start)) / count}%;background:${colour(item.kind)}`;
    const parts = number ? [number, whole.slice(number.length)] : [whole];
    const span = h(
      "div",
      {
        class: "ce-layer",
        role: "option",
        style,
        "aria-label": `${whole}; ${item.text}`, // it begins as what is seen
        onclick: guard(() => roving.click(span, false)),
        onpointerenter: guard(() => name(item.text)),
      },
      parts.map((text) => h("span", { text })),
    );
    return { item, element: span };
  }

  return {
    element,
    /** @param {LayerSpan[]} layers @param {number} count of moments */
    show(layers, count) {
      spans = layers.map((layer) => draw(layer, Math.max(1, count)));
      element.hidden = !spans.length;
      element.replaceChildren(...spans.map((span) => span.element));
      roving.renew();
    },
    /** Outline the layers of some instructions. @param {ReadonlySet<number>} runs */
    mark(runs) {
      for (const { item, element } of spans) {
        element.setAttribute("aria-selected", String(item.runs.some((run) => runs.has(run))));
      }
    },
  };
}

export const STYLE = `
.ce-layers{position:relative;height:24px;margin-top:2px;user-select:none}
.ce-layer{position:absolute;top:0;bottom:0;container-type:size;overflow:hidden;display:flex;flex-wrap:wrap;align-content:center;justify-content:center;gap:50px 5px;
  font-size:12px;line-height:24px;color:var(--ce-onCell);white-space:nowrap;cursor:pointer;box-shadow:inset 0 0 0 .75px var(--ce-panel)}
.ce-layer span{display:none}
@container (min-width:36px){.ce-layer span{display:inline}}
.ce-layer[aria-selected=true]{outline:2px solid var(--ce-fg);outline-offset:-2px}
.ce-layer:focus-visible{outline:3px solid var(--ce-accent);outline-offset:0;z-index:1}
`;
