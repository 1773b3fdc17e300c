/**
 * The buffers of a program: time to the right, bytes upward, each buffer a bar from its allocation to its deallocation.
 * A bar keeps its element from step to step, so that it is seen to shorten, to fall into its place, or to become part of
 * another one.
 */

import { barOf, heirOf, livePath } from "../picture/buffers.js";
import { guessOf } from "./state.js";

/**
 * @typedef {import("../picture/buffers.js").Buffer} Buffer
 * @typedef {import("../picture/buffers.js").Buffers} Buffers
 * @typedef {import("./state.js").Changed} Changed
 */

/** How long a buffer that is gone is seen to move into another one, in milliseconds. */
const MOVE_MS = 450;
/** Bars smaller than this, in percent of the drawing, have no label. */
const [LABEL_WIDTH, LABEL_HEIGHT] = [9, 11];

/**
 * @param {import("./ui.js").Ui} ui @param {import("./state.js").Store} store
 * @param {{select(ids: string[]): void}} selecting
 */
export function makeBuffers({ make, guard, timers }, { state }, selecting) {
  const { h, s } = make;
  const words = h("div", { class: "ce-buffers-words" });
  const live = s("path", { class: "ce-live" });
  const curve = s("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" }, live);
  const peak = h("span", { class: "ce-peak" });
  const drawing = h("div", { class: "ce-buffers-drawing" }, curve, peak);
  const names = h("div", { class: "ce-buffers-axis", "aria-hidden": "true" });
  const element = h(
    "div",
    { class: "ce-buffers", role: "group", "aria-label": "Buffers", hidden: true },
    words,
    drawing,
    names,
  );
  /** @type {Map<number, {bar: any, buffer: Buffer}>} */
  let bars = new Map();

  /** The boxes of the instructions that use a buffer. @param {Buffer} buffer */
  const boxesOf = ({ users }) =>
    (state.picture?.boxes || []).filter(({ ids }) => ids.some((id) => users.includes(id))).map(({ id }) => id);

  /** @param {any} bar @param {Buffer} buffer @param {Buffers} shown */
  function place(bar, buffer, shown) {
    const { x, y, width, height } = barOf(buffer, shown);
    bar.style.cssText = `left:${x}%;top:${y}%;width:${width}%;height:${height}%;background:${colourOf(buffer)}`;
    bar.textContent = width >= LABEL_WIDTH && height >= LABEL_HEIGHT ? buffer.label : "";
    bar.title = buffer.text;
  }

  /** @param {Buffer} buffer */
  const colourOf = ({ kind }) => state.palette.roles[kind] || state.palette.roles.operator;

  /** @param {Buffer} buffer */
  const newBar = (buffer) =>
    h("div", { class: "ce-buffer", "data-buffer": buffer.id, onclick: guard(() => selecting.select(boxesOf(buffer))) });

  /** @param {Buffers} shown */
  function drawBars(shown) {
    const before = bars;
    bars = new Map();
    for (const buffer of shown.buffers) {
      const bar = before.get(buffer.id)?.bar || newBar(buffer);
      place(bar, buffer, shown);
      bars.set(buffer.id, { bar, buffer });
    }
    const leaving = [...before.values()].filter(({ buffer }) => !bars.has(buffer.id));
    for (const { bar, buffer } of leaving) {
      const heir = heirOf(buffer, shown);
      if (heir) place(bar, heir, shown);
      bar.setAttribute("class", "ce-buffer ce-leaving");
    }
    drawing.replaceChildren(...leaving.map(({ bar }) => bar), ...[...bars.values()].map(({ bar }) => bar), curve, peak);
    if (leaving.length) timers.after("buffers", MOVE_MS, () => leaving.forEach(({ bar }) => bar.remove()));
  }

  function drawSelection() {
    const ids = new Set(
      (state.picture?.boxes || []).filter(({ id }) => state.selection.includes(id)).flatMap(({ ids }) => ids),
    );
    for (const { bar, buffer } of bars.values()) {
      const used = ids.size > 0 && buffer.users.some((user) => ids.has(user));
      bar.setAttribute("class", `ce-buffer${used ? " ce-used" : ids.size ? " ce-unused" : ""}`);
    }
  }

  return {
    element,
    reads: /** @type {const} */ (["picture", "palette", "selection", "steps", "view", "guess"]),
    /** @param {unknown} _ @param {Changed} changed */
    draw(_, changed) {
      const shown = state.picture?.other?.buffers || state.picture?.buffers || null;
      element.hidden = !shown || Boolean(guessOf(state));
      if (!shown || element.hidden) return;
      if (changed.has("picture") || changed.has("palette") || !bars.size) {
        drawBars(shown);
        words.textContent = shown.text;
        live.setAttribute("d", livePath(shown));
        const most = shown.live[shown.peak] || 0;
        const right = (100 * (shown.peak + 0.5)) / Math.max(1, shown.moments.length);
        peak.textContent = `${shown.peakText} at ${shown.moments[shown.peak] || "no instruction"}`;
        peak.style.cssText = `top:${100 - (100 * most) / Math.max(1, shown.height)}%;${right > 60 ? `right:${100 - right}%` : `left:${right}%`}`;
        names.replaceChildren(
          h("span", { text: shown.moments[0] || "" }),
          h("span", { text: "time →" }),
          h("span", { text: shown.moments[shown.moments.length - 1] || "" }),
        );
      }
      drawSelection();
    },
  };
}

export const STYLE = `
.ce-buffers{flex:none;padding:5px 12px;border-top:1px solid var(--ce-line);background:var(--ce-panel);font-size:12.5px}
.ce-buffers-words{margin-bottom:4px}
.ce-buffers-drawing{position:relative;height:150px;margin-top:18px;border-left:1px solid var(--ce-control);border-bottom:1px solid var(--ce-control)}
.ce-buffers-drawing svg{position:absolute;inset:0;width:100%;height:100%;pointer-events:none}
.ce-live{fill:none;stroke:var(--ce-fg);stroke-width:1.5;stroke-dasharray:4 3;vector-effect:non-scaling-stroke}
.ce-buffer{position:absolute;overflow:hidden;padding:0 4px;font-size:12px;line-height:1.4;white-space:nowrap;text-overflow:ellipsis;color:var(--ce-onCell);
  box-shadow:inset 0 0 0 .75px var(--ce-panel);cursor:pointer;transition:left .4s,top .4s,width .4s,height .4s,opacity .4s}
.ce-buffer.ce-leaving{opacity:0}
.ce-buffer.ce-unused{opacity:.35}
.ce-buffer.ce-used{box-shadow:inset 0 0 0 2px var(--ce-accent)}
.ce-peak{position:absolute;transform:translateY(-100%);padding:0 6px;font-weight:600;white-space:nowrap;background:var(--ce-panel);border-radius:3px;pointer-events:none}
.ce-buffers-axis{display:flex;justify-content:space-between;color:var(--ce-muted)}
`;
