/**
 * The buffers of one state of a program: time to the right, bytes upward, each buffer a bar from its allocation to its
 * deallocation. A bar keeps its element from step to step, so that it is seen to shorten, to fall into its place, or to
 * become part of another one.
 */

import { barOf, heirOf, livePath, peakOf } from "../picture/buffers.js";

/**
 * @typedef {import("../picture/buffers.js").Buffer} Buffer
 * @typedef {import("../picture/buffers.js").Buffers} Buffers
 */

/** How long a buffer that is gone is seen to move into another one, in milliseconds. */
const MOVE_MS = 450;
/** Bars smaller than this, in percent of the drawing, have no label. */
const [LABEL_WIDTH, LABEL_HEIGHT] = [9, 11];
/** In what follows this percentage, the name of the peak is to the left of it. */
const MIDDLE = 50;

/**
 * @param {import("./ui.js").Ui} ui
 * @param {{click(buffer: Buffer): void, point(buffer: Buffer | null, run: number): void, colour(kind: string): string}} page
 */
export function makeBufferDrawing({ make, guard, timers }, { click, point, colour }) {
  const { h, s } = make;
  const title = h("b");
  const words = h("span");
  const live = s("path", { class: "ce-live" });
  const curve = s("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" }, live);
  const stem = h("i", { class: "ce-stem", "aria-hidden": "true" });
  const peak = h("span", { class: "ce-peak" });
  const moment = h("i", { class: "ce-moment", hidden: true });
  const ticks = h("div", { class: "ce-bytes", "aria-hidden": "true" });
  const drawing = h("div", {
    class: "ce-buffers-drawing",
    onpointermove: guard((/** @type {any} */ event) => move(event)),
    onpointerleave: guard(() => leave()),
  });
  const now = h("span", { class: "ce-now" });
  const [first, last] = [h("span"), h("span")];
  const axis = h("div", { class: "ce-buffers-axis", "aria-hidden": "true" }, first, now, last);
  const plot = h("div", { class: "ce-buffers-plot" }, h("div", { class: "ce-peaks" }, peak), drawing, axis);
  const element = h("div", { class: "ce-buffers-pane" }, h("div", { class: "ce-buffers-words" }, title, words), plot);
  /** @type {Map<number, {bar: any, buffer: Buffer}>} */
  let bars = new Map();
  /** @type {Buffers | null} */
  let shown = null;

  /** Name the moment, and the buffer, at the pointer. @param {any} event */
  function move(event) {
    if (!shown || !shown.moments.length) return;
    const { left, width } = drawing.getBoundingClientRect();
    const count = shown.moments.length;
    const at = Math.max(0, Math.min(count - 1, Math.floor((count * (event.clientX - left)) / Math.max(1, width))));
    moment.hidden = false;
    moment.style.cssText = `left:${(100 * at) / count}%;width:${100 / count}%`;
    now.textContent = shown.moments[at];
    const id = Number(event.target.getAttribute("data-buffer") ?? -1);
    const buffer = shown.buffers.find((one) => one.id === id) ?? null;
    words.textContent = buffer ? buffer.text : shown.text;
    point(buffer, shown.runs[at]);
  }

  function rest() {
    moment.hidden = true;
    now.textContent = "time →";
    words.textContent = shown ? shown.text : "";
  }

  function leave() {
    rest();
    point(null, -1);
  }

  /** @param {any} bar @param {Buffer} buffer @param {Buffers} within */
  function place(bar, buffer, within) {
    const { x, y, width, height } = barOf(buffer, within);
    bar.style.cssText = `left:${x}%;top:${y}%;width:${width}%;height:${height}%;background:${colour(buffer.kind)}`;
    bar.textContent = width >= LABEL_WIDTH && height >= LABEL_HEIGHT ? buffer.label : "";
  }

  /** @param {Buffer} buffer */
  const newBar = (buffer) =>
    h("div", { class: "ce-buffer", "data-buffer": buffer.id, onclick: guard(() => click(buffer)) });

  /** @param {Buffers} next */
  function drawBars(next) {
    const before = bars;
    bars = new Map();
    for (const buffer of next.buffers) {
      const bar = before.get(buffer.id)?.bar || newBar(buffer);
      place(bar, buffer, next);
      bars.set(buffer.id, { bar, buffer });
    }
    const leaving = [...before.values()].filter(({ buffer }) => !bars.has(buffer.id));
    for (const { bar, buffer } of leaving) {
      const heir = heirOf(buffer, next);
      if (heir) place(bar, heir, next);
      bar.setAttribute("class", "ce-buffer ce-leaving");
    }
    const all = [...leaving, ...bars.values()].map(({ bar }) => bar);
    drawing.replaceChildren(ticks, stem, ...all, curve, moment); // no line crosses the label of a bar
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
    const lines = next.ticks.map(({ at, text }) =>
      h("span", { class: "ce-byte", style: `bottom:${(100 * at) / Math.max(1, next.height)}%`, text }),
    );
    ticks.replaceChildren(...lines);
    first.textContent = next.moments[0] ?? "";
    last.textContent = next.moments[next.moments.length - 1] ?? "";
  }

  return {
    element,
    /** @param {Buffers} next @param {string} name `Before`, `After`, or empty */
    show(next, name) {
      shown = next;
      title.textContent = name ? `${name}: ` : "";
      plot.hidden = !next.buffers.length;
      drawBars(next);
      drawAxes(next);
      rest();
    },
    /** Outline the buffers that some instructions use. @param {ReadonlySet<number>} ids */
    mark(ids) {
      for (const { bar, buffer } of bars.values()) {
        const used = ids.size > 0 && buffer.users.some((user) => ids.has(user));
        bar.setAttribute("class", `ce-buffer${used ? " ce-used" : ids.size ? " ce-unused" : ""}`);
      }
    },
  };
}

export const STYLE = `
.ce-buffers-pane{flex:1 1 320px;min-width:0}
.ce-buffers-words{min-height:1.4em;overflow-wrap:anywhere}
.ce-buffers-plot{margin-left:64px}
.ce-peaks{position:relative;height:20px}
.ce-peak{position:absolute;bottom:1px;padding:0 4px;font-weight:600;white-space:nowrap}
.ce-buffers-drawing{position:relative;height:150px;border-left:1px solid var(--ce-control);border-bottom:1px solid var(--ce-control)}
.ce-buffers-drawing svg{position:absolute;inset:0;width:100%;height:100%;pointer-events:none}
.ce-live{fill:none;stroke:var(--ce-fg);stroke-width:1.5;stroke-dasharray:4 3;vector-effect:non-scaling-stroke}
.ce-stem{position:absolute;top:0;border-left:1px solid var(--ce-fg)}
.ce-byte{position:absolute;left:0;right:0;height:0;border-top:1px solid var(--ce-line)}
.ce-byte{text-indent:-64px;line-height:0;color:var(--ce-muted);font-size:12px;white-space:nowrap}
.ce-moment{position:absolute;top:0;bottom:0;background:var(--ce-accent);opacity:.18;pointer-events:none}
.ce-buffer{position:absolute;overflow:hidden;padding:0 4px;font-size:12px;line-height:1.4;white-space:nowrap;text-overflow:ellipsis;color:var(--ce-onCell);
  box-shadow:inset 0 0 0 .75px var(--ce-panel);cursor:pointer;transition:left .4s,top .4s,width .4s,height .4s,opacity .4s}
.ce-buffer.ce-leaving{opacity:0}
.ce-buffer.ce-unused{opacity:.35}
.ce-buffer.ce-used{box-shadow:inset 0 0 0 2px var(--ce-accent)}
.ce-buffers-axis{display:flex;justify-content:space-between;gap:8px;color:var(--ce-muted)}
`;
