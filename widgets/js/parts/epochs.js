/** The film of a training: an epoch per frame, with samples of the circuit as it was, and the bits of held-out rows. */

import { dreamed, repeatable } from "../living/model.js";
import { paintTiles, tilesOf } from "../living/paint.js";
import { paintOf } from "../picture/fills.js";
import { isAlive } from "./state.js";

/** A film of fewer epochs shows nothing: a mixture begins near its end. */
const MIN_EPOCHS = 3;
/** Samples per frame, the side of each and the space around it, in pixels. */
const [SAMPLES, SIDE, SPACE] = [2, 24, 3];

/** @param {import("../graph.js").Page} page */
export function makeEpochs({ ui: { h, guard, textButton }, store: { state }, living }) {
  const frames = h("div", { class: "ce-epoch-frames", role: "group", "aria-label": "Epochs of the training" });
  const play = textButton("Watch it learn", living.watch);
  const unit = h("span", { class: "ce-epochs-unit" });
  const element = h("div", { class: "ce-epochs" }, h("div", {}, play, unit), frames);
  /** The epochs that are drawn, and in which theme. */
  let drawn = "";
  /** @type {any[]} */
  let buttons = [];

  /** @param {number} number */
  function frame(number) {
    const found = living.learnedAt(number);
    const canvas = h("canvas", { "aria-hidden": "true" });
    const pen = typeof canvas.getContext === "function" ? canvas.getContext("2d") : null;
    const { palette, picture } = state;
    if (found && pen) {
      const { life, dreamt } = found;
      const ratio = globalThis.devicePixelRatio || 1;
      const width = SAMPLES * (SIDE + SPACE);
      [canvas.width, canvas.height] = [ratio * width, ratio * SIDE];
      canvas.style.width = `${width}px`;
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      const root = picture?.boxes.find(({ kind }) => kind === "input") ?? picture?.boxes[0];
      const { fill } = root ? paintOf(root, palette) : { fill: palette.roles.accent };
      const all = { variables: life.variables.map((_, variable) => variable), widths: life.variables.map(() => 1) };
      const tiles = tilesOf(all, life.image);
      const random = repeatable(number);
      for (let sample = 0; sample < SAMPLES; sample += 1) {
        const row = dreamed(life, dreamt.logs, random);
        const shades = Float64Array.from(row, (x, v) => {
          const [low, high] = life.variables[v].span;
          return ((x ?? low) - low) / (high - low || 1);
        });
        paintTiles(pen, palette, fill, { x: sample * (SIDE + SPACE), y: 0, w: SIDE, h: SIDE }, shades, tiles);
      }
    }
    const { epoch, bits } = /** @type {import("../living/model.js").Model} */ (state.life).epochs[number];
    const words = `epoch ${epoch}: ${bits.toFixed(2)} bits per variable of held-out rows`;
    return h(
      "button",
      { type: "button", class: "ce-epoch", title: words, onclick: guard(() => living.pickEpoch(number)) },
      canvas,
      h("b", { text: bits.toFixed(2) }),
      h("span", { text: `epoch ${epoch}` }),
    );
  }

  return {
    element,
    reads: /** @type {const} */ ([
      "life",
      "alive",
      "believed",
      "epoch",
      "palette",
      "picture",
      "options",
      "view",
      "learning",
    ]),
    draw() {
      const epochs = state.life?.epochs ?? [];
      element.hidden = !isAlive(state) || epochs.length < MIN_EPOCHS;
      if (element.hidden) return;
      const key = [epochs.map(({ bits }) => bits), state.palette.theme, state.palette.forced].join(" ");
      if (key !== drawn) {
        drawn = key;
        buttons = epochs.map((_, number) => frame(number));
        frames.replaceChildren(...buttons);
      }
      play.textContent = state.learning ? "Stop" : "Watch it learn";
      play.setAttribute(
        "title",
        state.learning ? "Stop at this epoch (Space)" : "Show all epochs, one after the other",
      );
      unit.textContent = `held-out bits per ${state.life?.image.length ? "pixel" : "variable"}`;
      buttons.forEach((button, number) => button.setAttribute("aria-current", String(number === state.epoch)));
    },
  };
}

export const STYLE = `
.ce-epochs{display:flex;align-items:center;gap:8px;min-width:0}
.ce-epochs>div:first-child{display:flex;flex-direction:column;gap:2px;flex:none}
.ce-epochs-unit{color:var(--ce-muted);font-size:12px}
.ce-epoch-frames{display:flex;gap:4px;overflow-x:auto;padding:2px}
.ce-root button.ce-epoch{display:grid;grid-template-columns:auto auto;gap:0 6px;height:auto;padding:3px 6px;flex:none;text-align:left;justify-content:start}
.ce-epoch canvas{grid-row:1/3;height:24px}
.ce-epoch b{font-size:13px;font-variant-numeric:tabular-nums}
.ce-epoch span{color:var(--ce-muted);font-size:12px;font-weight:400}
.ce-root button.ce-epoch[aria-current=true]{border-color:var(--ce-accent);box-shadow:inset 0 -2px 0 var(--ce-accent)}
`;
