/**
 * The buffers of one state of a program: time to the right, bytes upward, each buffer a bar from its allocation to its
 * deallocation. A bar keeps its element from step to step, so that it is seen to shorten, to fall into its place, or to
 * become part of another one.
 */

import { barOf, heirOf, isThin, linesOfParts, livePath, namesOf, peakOf, spansOf } from "../picture/buffers.js";
import { sharersOf } from "../picture/sharing.js";
import { makeRoving } from "./roving.js";

/** @import { Buffer, Buffers, LayerSpan } from "../picture/buffers.js" */

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

const BAND = `
.ce-layers{position:relative;height:24px;margin-top:2px;user-select:none}
.ce-layer{position:absolute;top:0;bottom:0;container-type:size;overflow:hidden;display:flex;flex-wrap:wrap;align-content:center;justify-content:safe center;gap:50px 5px;
  font-size:12px;line-height:24px;color:var(--ce-onCell);white-space:nowrap;cursor:pointer;box-shadow:inset 0 0 0 .75px var(--ce-panel)}
.ce-layer span{display:none}
@container (min-width:36px){.ce-layer span{display:inline}}
.ce-layer[aria-selected=true]{outline:2px solid var(--ce-fg);outline-offset:-2px}
.ce-layer:focus-visible{outline:3px solid var(--ce-accent);outline-offset:0;z-index:1}
`;

/** How long a buffer that is gone is seen to move into another one, in milliseconds. */
const MOVE_MS = 450;
/** In what follows this percentage, the names of the peak and of a narrow part are to the left of it. */
const MIDDLE = 50;

/**
 * The bars are a list of options; below them is another one, of the layers that run.
 * @param {import("./ui.js").Ui} ui
 * @param {{
 *   click(buffer: Buffer, add: boolean): void, clickLayer(span: import("../picture/buffers.js").LayerSpan): void,
 *   point(buffer: Buffer | null, run: number): void, colour(kind: string): string,
 * }} page
 */
export function makeBufferDrawing(ui, { click, clickLayer, point, colour }) {
  const { make, guard, timers } = ui;
  const { h, s } = make;
  const title = h("b");
  const words = h("span");
  const live = s("path", { class: "ce-live" });
  const curve = s("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" }, live);
  const stem = h("i", { class: "ce-stem", "aria-hidden": "true" });
  const peak = h("span", { class: "ce-peak" });
  const key = h(
    "span",
    { class: "ce-live-key", "aria-hidden": "true" },
    h("i"),
    h("span", { text: "bytes alive" }),
    h("i", { class: "ce-peak-key" }),
    h("span", { text: "alive at the peak" }),
  );
  const moment = h("i", { class: "ce-moment", "aria-hidden": "true", hidden: true });
  const overlap = h("i", { class: "ce-overlap", "aria-hidden": "true", hidden: true });
  const ticks = h("div", { class: "ce-bytes", "aria-hidden": "true" });
  const drawing = h("div", {
    class: "ce-buffers-drawing",
    role: "listbox",
    "aria-multiselectable": "true",
    onkeydown: guard((/** @type {any} */ event) => roving.press(event)),
    onpointermove: guard((/** @type {any} */ event) => move(event)),
    onpointerleave: guard(() => leave()),
  });
  const roving = makeRoving({
    items: () => [...bars.values()].map(({ bar, buffer }) => ({ element: bar, item: buffer })),
    choose: click,
    enter: (/** @type {Buffer} */ buffer) => say(buffer.text),
  });
  const band = makeLayerBand(ui, { choose: clickLayer, name: (text) => say(text ?? restingWords()), colour });
  const undrawn = h("p", { class: "ce-undrawn", hidden: true });
  const parts = h("div", { class: "ce-parts" });
  const now = h("span", { class: "ce-now" });
  const [first, last] = [h("span"), h("span")];
  const axis = h("div", { class: "ce-buffers-axis", "aria-hidden": "true" }, first, now, last);
  const plot = h(
    "div",
    { class: "ce-buffers-plot" },
    h("div", { class: "ce-peaks" }, peak, key),
    drawing,
    band.element,
    undrawn,
    axis,
    parts,
  );
  const element = h("div", { class: "ce-buffers-pane" }, h("div", { class: "ce-buffers-words" }, title, words), plot);
  /** @type {Map<number, {bar: any, buffer: Buffer}>} */
  let bars = new Map();
  /** @type {Buffers | null} */
  let shown = null;
  /** @type {readonly number[]} the chosen buffers */
  let chosen = [];
  /** The moment of the selected instruction, or -1; whether the pointer says another one. */
  let [selected, isPointed] = [-1, false];

  /** Draw the playhead, and dim what is not alive there. @param {number} at a moment, or -1 @param {boolean} dims */
  function play(at, dims) {
    moment.hidden = at < 0;
    now.textContent = shown?.moments[at] ?? "time →";
    if (shown && at >= 0) {
      const count = shown.moments.length;
      moment.style.cssText = `left:${(100 * at) / count}%;width:${100 / count}%`;
    }
    for (const { bar, buffer } of bars.values()) {
      bar.setAttribute("data-live", dims ? String(buffer.start <= at && at < buffer.end) : "");
    }
  }

  /** Name the moment, and the buffer, at the pointer. @param {any} event */
  function move(event) {
    if (!shown || !shown.moments.length) return;
    const { left, width } = drawing.getBoundingClientRect();
    const count = shown.moments.length;
    const at = Math.max(0, Math.min(count - 1, Math.floor((count * (event.clientX - left)) / Math.max(1, width))));
    isPointed = true;
    play(at, true);
    const id = Number(event.target.getAttribute("data-buffer") ?? -1);
    const buffer = shown.buffers.find((one) => one.id === id) ?? null;
    say(buffer ? buffer.text : restingWords());
    point(buffer, shown.runs[at]);
  }

  /** @param {string} text */
  function say(text) {
    words.textContent = text;
  }

  /** What is said of the chosen buffer, or else of all. */
  const restingWords = () => bars.get(chosen[0] ?? -1)?.buffer.text ?? shown?.text ?? "";

  /** Draw when both of two chosen buffers are alive. */
  function drawOverlap() {
    const both = chosen.flatMap((id) => bars.get(id)?.buffer ?? []);
    const from = Math.max(...both.map(({ start }) => start));
    const until = Math.min(...both.map(({ end }) => end));
    overlap.hidden = both.length < 2 || until <= from;
    if (overlap.hidden || !shown) return;
    const count = shown.moments.length;
    overlap.style.cssText = `left:${(100 * from) / count}%;width:${(100 * (until - from)) / count}%`;
  }

  function rest() {
    isPointed = false;
    play(selected, false);
    say(restingWords());
  }

  function leave() {
    rest();
    point(null, -1);
  }

  /** @param {any} bar @param {Buffer} buffer @param {Buffers} within */
  function place(bar, buffer, within) {
    const { x, y, width, height } = barOf(buffer, within);
    bar.setAttribute("data-thin", String(isThin({ x, y, width, height })));
    bar.setAttribute("data-peak", String(buffer.start <= within.peak && within.peak < buffer.end));
    bar.style.cssText = `left:${x}%;top:${y}%;width:${width}%;height:${height}%;background:${colour(buffer.kind)}`;
    const [id, type] = buffer.label.split(" ");
    bar.replaceChildren(h("span", { text: id }), h("span", { text: ` ${type}` }));
    bar.setAttribute("aria-label", `${buffer.label}; ${buffer.text}`); // it begins as what is seen
  }

  /** @param {Buffer} buffer */
  const newBar = (buffer) =>
    h("div", {
      class: "ce-buffer",
      role: "option",
      "data-buffer": buffer.id,
      onclick: guard((/** @type {any} */ event) => roving.click(bars.get(buffer.id)?.bar, Boolean(event.shiftKey))),
    });

  /** @param {Buffers} next */
  function drawBars(next) {
    const before = bars;
    bars = new Map();
    for (const buffer of next.buffers) {
      const bar = before.get(buffer.id)?.bar || newBar(buffer);
      place(bar, buffer, next);
      bars.set(buffer.id, { bar, buffer });
    }
    roving.renew();
    const leaving = [...before.values()].filter(({ buffer }) => !bars.has(buffer.id));
    for (const { bar, buffer } of leaving) {
      const heir = heirOf(buffer, next);
      if (heir) place(bar, heir, next);
      bar.setAttribute("class", "ce-buffer ce-leaving");
      bar.setAttribute("aria-hidden", "true");
    }
    const all = [...leaving, ...bars.values()].map(({ bar }) => bar);
    const borders = spansOf(next).map(({ x }) =>
      h("i", { class: "ce-border", style: `left:${x}%`, "aria-hidden": "true" }),
    );
    drawing.replaceChildren(ticks, stem, ...all, ...borders, curve, overlap, moment); // no line crosses the label of a bar
    if (leaving.length)
      timers.after(`buffers${title.textContent}`, MOVE_MS, () => leaving.forEach(({ bar }) => bar.remove()));
  }

  /** @param {Buffers} next */
  function drawAxes(next) {
    const most = peakOf(next);
    live.setAttribute("d", livePath(next));
    stem.style.cssText = `left:${most.x}%;height:${most.y}%`;
    peak.textContent = most.text;
    peak.style.cssText = most.x > MIDDLE ? `right:${100 - most.x}%` : `left:${most.x}%`;
    key.style.cssText = most.x > MIDDLE ? "left:4px" : "right:4px";
    const lines = next.ticks.map(({ at, text }) =>
      h("span", { class: "ce-byte", style: `bottom:${(100 * at) / Math.max(1, next.height)}%`, text }),
    );
    ticks.replaceChildren(...lines);
    parts.hidden = !next.parts.length;
    plot.style.setProperty("--ce-lines", String(linesOfParts(next)));
    parts.replaceChildren(
      ...spansOf(next).flatMap(({ x, width, text, line }) => [
        h("i", { style: `left:${x}%;--ce-line-at:${line}`, "aria-hidden": "true" }),
        h("span", {
          style: `${line && x > MIDDLE ? `right:${100 - x}%` : `left:${x}%`};${line ? "" : `width:${width}%;`}--ce-line-at:${line}`,
          title: text,
          text,
        }),
      ]),
    );
    undrawn.textContent = next.undrawnLayers;
    undrawn.hidden = !next.undrawnLayers;
    first.textContent = next.moments[0] ?? "";
    last.textContent = next.moments[next.moments.length - 1] ?? "";
  }

  return {
    element,
    /** @param {Buffers} next @param {string} name `Before`, `After`, or empty */
    show(next, name) {
      shown = next;
      title.textContent = name ? `${name}: ` : "";
      drawing.setAttribute("aria-label", `${name} Buffers, as they are allocated`.trim());
      plot.hidden = !next.buffers.length;
      drawBars(next);
      drawAxes(next);
      band.show(next.layers, next.moments.length);
      rest();
    },
    /**
     * Outline the buffers that some instructions use, the chosen ones, and those that share memory with the first of these.
     * @param {ReadonlySet<number>} ids @param {readonly number[]} next the chosen buffers
     */
    mark(ids, next) {
      const isNew = next[0] !== chosen[0];
      chosen = next;
      const first = bars.get(chosen[0] ?? -1)?.buffer;
      const sharers = new Set(shown && first ? sharersOf(shown, first).map(({ id }) => id) : []);
      for (const [id, { bar, buffer }] of bars) {
        const used = ids.size > 0 && buffer.users.some((user) => ids.has(user));
        const isChosen = chosen.includes(id);
        const looks = [isChosen && "ce-chosen", sharers.has(id) && "ce-shares", used && "ce-used"].filter(Boolean);
        if (!looks.length && ids.size) looks.push("ce-unused");
        bar.setAttribute("class", ["ce-buffer", ...looks].join(" "));
        bar.setAttribute("aria-selected", String(isChosen));
      }
      drawOverlap();
      band.mark(first ? new Set(first.users.slice(0, 1)) : ids);
      selected = shown && ids.size ? shown.runs.findIndex((run) => ids.has(run)) : -1;
      if (!isPointed) rest();
      else if (isNew) say(restingWords());
    },
  };
}

export const STYLE = `
.ce-buffers-pane{flex:1 1 320px;min-width:0;container-type:inline-size}
.ce-buffers-words{height:1.4em;overflow:hidden;overflow-wrap:anywhere} /* a higher line would move what is at the pointer */
@container (max-width:760px){.ce-buffers-words{height:2.8em}}
.ce-buffers-plot{margin-left:64px}
.ce-peaks{position:relative;height:20px}
.ce-peak{position:absolute;bottom:1px;padding:0 4px;font-weight:600;white-space:nowrap}
.ce-live-key{position:absolute;bottom:1px;color:var(--ce-muted);white-space:nowrap}
.ce-live-key .ce-peak-key{margin-left:14px;border-top:3px solid var(--ce-fg)}
.ce-live-key i{display:inline-block;width:26px;margin-right:6px;vertical-align:middle;border-top:1.5px dashed var(--ce-fg)}
.ce-buffers-drawing{position:relative;height:clamp(72px,14vh - (max(1,var(--ce-lines,1)) - 1)*18px,150px);user-select:none;border-left:1px solid var(--ce-control);border-bottom:1px solid var(--ce-control)}
.ce-buffers-drawing svg{position:absolute;inset:0;width:100%;height:100%;pointer-events:none}
.ce-live{fill:none;stroke:var(--ce-fg);stroke-width:1.5;stroke-dasharray:4 3;vector-effect:non-scaling-stroke}
.ce-stem{position:absolute;top:0;border-left:1px solid var(--ce-fg)}
.ce-border{position:absolute;top:0;bottom:0;border-left:2px solid var(--ce-accent);pointer-events:none}
.ce-parts{--ce-part:18px;position:relative;height:calc(var(--ce-lines)*var(--ce-part));color:var(--ce-muted)}
.ce-parts i{position:absolute;top:0;height:calc((var(--ce-line-at) + 1)*var(--ce-part) - 2px);border-left:2px solid var(--ce-accent)}
.ce-parts span{position:absolute;top:calc(var(--ce-line-at)*var(--ce-part));height:16px;padding:0 6px;overflow:hidden;white-space:nowrap;text-overflow:ellipsis}
.ce-undrawn{margin:2px 0;color:var(--ce-muted)}
.ce-byte{position:absolute;left:0;right:0;height:0;border-top:1px solid var(--ce-line)}
.ce-byte{text-indent:-64px;line-height:0;color:var(--ce-muted);font-size:12px;white-space:nowrap}
.ce-moment{position:absolute;top:0;bottom:0;background:var(--ce-accent);opacity:.18;pointer-events:none}
.ce-overlap{position:absolute;top:0;bottom:0;z-index:1;border:2px dashed var(--ce-error);border-width:0 2px;background:color-mix(in srgb,var(--ce-error) 14%,transparent);pointer-events:none}
.ce-buffer{position:absolute;container-type:size;overflow:hidden;font-size:12px;line-height:15px;white-space:nowrap;color:var(--ce-onCell);
  display:flex;flex-wrap:wrap;align-content:flex-start;gap:50px 5px;padding:0 4px;box-shadow:inset 0 0 0 .75px var(--ce-panel);cursor:pointer;transition:left .4s,top .4s,width .4s,height .4s,opacity .4s}
.ce-buffer span{display:none;pointer-events:none}
@container (min-height:15px) and (min-width:42px){.ce-buffer span{display:inline}} /* a type that does not fit is in the next line, out of sight */
.ce-buffer[data-thin="true"]{box-shadow:none;min-width:1px;min-height:1px;padding:0}
.ce-buffer[data-peak="true"][data-thin="false"]{box-shadow:inset 0 -2px 0 var(--ce-fg),inset 0 0 0 .75px var(--ce-panel)}
.ce-buffer.ce-leaving{opacity:0}
.ce-buffer.ce-unused{opacity:.35}
.ce-buffer[data-live="true"]{opacity:1}
.ce-buffer[data-live="false"]{opacity:.3}
.ce-buffer.ce-used{box-shadow:inset 0 0 0 2px var(--ce-accent)}
.ce-buffer.ce-shares{outline:2px dashed var(--ce-fg);outline-offset:-2px;opacity:1}
.ce-buffer.ce-chosen{outline:2px solid var(--ce-fg);outline-offset:-2px}
.ce-buffer:focus-visible{outline:3px solid var(--ce-accent);outline-offset:0;z-index:1}
${BAND}
.ce-tool .ce-buffers-drawing{height:48px}
.ce-tool .ce-buffer:not(.ce-used){box-shadow:none}
.ce-tool :is(.ce-buffers-axis,.ce-parts,.ce-layers,.ce-undrawn){display:none}
.ce-buffers-axis{display:flex;justify-content:space-between;gap:8px;color:var(--ce-muted)}
.ce-slides :is(.ce-byte,.ce-buffer,.ce-layer){font-size:16px}
.ce-slides .ce-buffers-plot{margin-left:80px}
.ce-slides .ce-byte{text-indent:-80px}
.ce-slides .ce-buffer{line-height:18px}
.ce-slides .ce-peaks{height:24px}
.ce-slides .ce-parts{--ce-part:24px}
.ce-slides .ce-parts span{height:22px}
@container (max-height:17.9px){.ce-slides .ce-buffer span{display:none}}
`;
