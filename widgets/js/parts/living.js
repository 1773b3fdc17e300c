/** Below a living circuit: the probability of what is painted, what to paint with, and what a layer mixes. */

import { isTurned, lineAlpha, lineWidth, paintTiles, turned } from "../living/paint.js";
import { logScale, logWords, valueOf } from "../living/words.js";
import { paintOf } from "../picture/fills.js";
import { boxOf, isAsking, isPresenting } from "./state.js";

/** @import { Box } from "../picture/types.js" */

/** The side of the picture of a unit, also in a low window, the space between two, and the height of its share, in pixels. */
const [LARGE, SMALL, SPACE, LABEL] = [52, 36, 6, 16];
/** The height of a low window. */
const LOW = 800;
/** In a low window the units are beside the variables: their share of the width. */
const BESIDE = 0.35;
/** Bits of evidence with a sample of their line in the legend. */
const SAMPLES = [0, 1, 3];
const NO_LIMITS = { states: 0, zero: 0, isInteger: false };
const COLUMN_WORDS = "Click a curve or a value to observe it: the others follow. Dashed: without what is observed.";
/** @type {[import("../controls/living.js").Brush, string, string][]} */
const BRUSHES = [
  ["ink", "Ink", "Paint the largest value on an input"],
  ["paper", "Paper", "Paint the least value on an input"],
  ["unknown", "Unknown", "Forget an input: the circuit fills it in (also Shift and drag)"],
];

/** Whether values go from left to right in a cell. @param {Box} box @param {number} layer @param {number} variables @param {number[]} image */
function isCellTurned({ plate }, layer, variables, image) {
  if (!plate) return false;
  const [w, h] = plate.places.slice(4 * plate.cells.indexOf(layer) + 2);
  return isTurned({ x: 0, y: 0, w: w * plate.unit[0], h: h * plate.unit[1] }, variables, image);
}

/** @param {import("../graph.js").Page} page */
export function makeLivingBar({ ui: { h, s, textButton, guard }, store: { state }, living, epochs, columns }) {
  const switching = textButton("Beliefs", () => living.toggle(), {
    "aria-pressed": "false",
    title: "Show in each cell what its layer believes; paint on the inputs (b)",
  });
  const value = h("b", {});
  const known = h("span", {});
  /** What the corner of a cell means, once there is one. */
  const corner = h("span", { class: "ce-living-corner", text: "sampled", hidden: true });
  const brushes = BRUSHES.map(([name, words, title]) =>
    textButton(words, () => living.take(name), { "data-brush": name, title }),
  );
  const painting = h("div", { class: "ce-group", role: "group", "aria-label": "Paint with" }, brushes);
  const forgetHalf = textButton("Forget the lower half", () => living.forget(0.5));
  const picks = h("div", { class: "ce-group" });
  const which = h("select", { "aria-label": "Variable", onchange: guard(() => limit()) });
  const given = h("input", {
    type: "number",
    step: "any",
    class: "ce-living-given",
    "aria-label": "Value",
    placeholder: "value",
  });
  const observing = h(
    "form",
    {
      class: "ce-group",
      onsubmit: guard((/** @type {any} */ event) => {
        event.preventDefault();
        const cell = given.value.trim() === "" ? NaN : Number(given.value);
        const variable = state.life?.variables[Number(which.value)];
        if (variable) living.set(Number(which.value), Number.isFinite(cell) ? valueOf(variable, cell) : null);
      }),
    },
    ...[
      which,
      given,
      h("button", { type: "submit", text: "Observe", title: "Observe this value; without one, forget the variable" }),
    ],
  );
  const lines = h("div", {
    class: "ce-living-lines",
    title: "A line is as wide as the bits of evidence that its part brings",
  });
  const said = h("p", { class: "ce-living-said" });
  const strip = h("canvas", { class: "ce-living-units", role: "img" });
  const note = h("p", { class: "ce-living-note" });
  const controls = h(
    "div",
    { class: "ce-living-row" },
    h("div", { class: "ce-living-value" }, value, known),
    painting,
    textButton("Sample (s)", living.sample, { title: "Draw what is unknown, from the root to the inputs" }),
    textButton("Forget all", () => living.forget(1)),
    forgetHalf,
    picks,
    observing,
  );
  const element = h(
    "section",
    { class: "ce-living", "aria-label": "What the circuit believes" },
    controls,
    epochs.element,
    h(
      "div",
      { class: "ce-living-both" },
      columns.element,
      h("div", { class: "ce-living-words" }, said, note),
      h("div", { class: "ce-living-words ce-living-shares" }, strip, lines),
    ),
  );

  /** Let the page refuse a value that the variable cannot have. */
  function limit() {
    const { states, zero, isInteger } = state.life?.variables[Number(which.value)] ?? NO_LIMITS;
    for (const [name, end] of [
      ["min", zero],
      ["max", zero + states - 1],
    ])
      if (states) given.setAttribute(name, String(end));
      else given.removeAttribute(name);
    given.setAttribute("step", states || isInteger ? "1" : "any");
  }

  /** The examples that are drawn. */
  let drawn = /** @type {import("../living/model.js").Model["examples"] | null} */ (null);

  function drawExamples() {
    const { life } = state;
    const examples = life?.examples ?? [];
    if (examples === drawn) return;
    drawn = examples;
    picks.replaceChildren(
      ...examples.map(({ label }, number) =>
        textButton(label, () => living.pick(number), { title: `Observe ${label}` }),
      ),
    );
    picks.hidden = !examples.length;
    painting.hidden = forgetHalf.hidden = !life?.image.length;
    const numbers = (life?.variables ?? []).flatMap(({ name, labels, isRead }, variable) =>
      labels.length || !isRead ? [] : [h("option", { value: variable, text: name })],
    );
    which.replaceChildren(...numbers);
    observing.hidden = !numbers.length;
    limit();
    drawLines();
  }

  function drawLines() {
    lines.replaceChildren(
      h("span", { class: "ce-living-dotted", text: "unknown" }),
      corner,
      ...SAMPLES.map((bits) =>
        h(
          "span",
          {},
          s(
            "svg",
            { width: 20, height: 14, "aria-hidden": "true" },
            s("line", {
              ...{ x1: 0, x2: 20, y1: 7, y2: 7, stroke: "currentColor" },
              ...{ "stroke-width": lineWidth(bits), "stroke-opacity": lineAlpha(bits) },
            }),
          ),
          h("span", {
            text: `${bits} bit${bits === 1 ? "" : "s"}${bits === SAMPLES[SAMPLES.length - 1] ? " of evidence" : ""}`,
          }),
        ),
      ),
    );
  }

  /** The layer whose mixture is shown: of the cell at the pointer or the one selected, else of the root. */
  function shownLayer() {
    const box = boxOf(state, state.hover) ?? boxOf(state, state.selection[state.selection.length - 1] || "");
    const cells = box?.plate?.cells ?? [];
    const layer = cells.length === 1 ? cells[0] : cells[state.hover ? state.cell : state.slice];
    if (layer !== undefined && living.beliefOf(layer)) return { box, layer };
    const { life, picture } = state;
    const isRoot = (/** @type {number} */ cell) => life?.cells.get(String(cell)) === life?.root;
    const root = picture?.boxes.find(({ plate }) => plate?.cells.some(isRoot));
    return root?.plate ? { box: root, layer: root.plate.cells.filter(isRoot)[0] } : null;
  }

  function drawUnits() {
    const { life, believed, palette } = state;
    const shown = shownLayer();
    const found = shown && living.beliefOf(shown.layer);
    const pen = typeof strip.getContext === "function" ? strip.getContext("2d") : null;
    strip.hidden = said.hidden = !found;
    if (!life || !believed || !shown?.box || !found || !pen) return;
    const { pictures } = living.mixed(found.at);
    const isLow = globalThis.innerHeight < LOW;
    const side = isLow ? SMALL : LARGE;
    const part = isLow && !columns.element.hidden ? BESIDE : 1; // the width of the strip would be measured at each stroke
    const [room, pitch] = [part * (state.width || 800), side + SPACE];
    const fitted = Math.min(pictures.length, Math.max(1, Math.floor((room - 24) / pitch)));
    const [many, noun] = [found.belief.variables.length, life.image.length ? "pixel" : "variable"];
    const over = many === 1 ? `this ${noun}` : `${found.at === life.root ? "all " : ""}${many} ${noun}s`;
    const name = found.at === life.root ? "The root" : `${shown.box.title} #${shown.layer}`;
    const units = `${pictures.length.toLocaleString("en-US")} ${pictures.length === 1 ? "unit" : "units"}`;
    said.textContent =
      `${name} ${found.isMixture ? "mixes" : "has"} ${units} over ${over}: what each has learned, and its share` +
      (fitted < pictures.length ? ` (the ${fitted} largest shares)` : "");
    const ratio = globalThis.devicePixelRatio || 1;
    strip.width = ratio * fitted * pitch;
    strip.height = ratio * (side + LABEL);
    strip.style.width = `${fitted * pitch}px`;
    strip.style.height = `${side + LABEL}px`;
    for (const name of ["aria-label", "title"]) strip.setAttribute(name, said.textContent);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const { fill } = paintOf(shown.box, palette);
    const tiles = isCellTurned(shown.box, shown.layer, many, life.image) ? turned(found.tiles) : found.tiles;
    const order = Array.from({ length: pictures.length }, (_, at) => at);
    if (fitted < pictures.length) order.sort((a, b) => found.belief.shares[b] - found.belief.shares[a]);
    order.slice(0, fitted).forEach((unit, place) => {
      const share = found.belief.shares[unit];
      const area = { x: place * pitch + 1, y: 1, w: side, h: side };
      pen.globalAlpha = 0.35 + 0.65 * Math.min(1, 3 * share);
      paintTiles(pen, palette, fill, area, pictures[unit], tiles);
      pen.globalAlpha = 1;
      pen.strokeStyle = fill;
      pen.lineWidth = share > 0.1 ? 3 : 1;
      pen.strokeRect(area.x, area.y, area.w, area.h);
      if (share < 0.005) return;
      pen.fillStyle = palette.roles.fg;
      pen.font = "12px sans-serif";
      pen.textAlign = "center";
      pen.textBaseline = "top";
      pen.fillText(`${Math.round(100 * share)} %`, area.x + side / 2, side + 4);
    });
  }

  function drawControls() {
    const { life, believed, evidence, row, brush, sampling } = state;
    const [observed, filled] = [evidence, row].map((all) => all.filter((one) => one !== null).length);
    const log = life ? (believed?.log ?? 0) - logScale(life, row) : 0;
    value.textContent = life ? logWords(life, row, log) : "";
    const rest = sampling ? ", sampling the others …" : filled > observed ? `, ${filled - observed} sampled` : "";
    corner.hidden = filled <= observed;
    const noun = life?.image.length ? "pixels" : "variables";
    const count = life?.variables.filter(({ isRead }) => isRead).length ?? 0;
    known.textContent = `${observed} of ${count} ${noun} observed${rest}`;
    for (const button of brushes)
      button.setAttribute("aria-pressed", String(button.getAttribute("data-brush") === brush));
  }

  /** Where the weights come from, or why there are none. */
  function noteWords() {
    const { life, epoch } = state;
    if (!life) return "Asking for the weights …";
    const best = Math.min(...life.epochs.map(({ bits }) => bits));
    const shown = life.epochs[epoch];
    const words = life.note || (life.image.length ? "" : COLUMN_WORDS);
    if (!shown || shown.bits === best) return life.missing || words;
    return `As it was after epoch ${shown.epoch}: ${shown.bits.toFixed(2)} bits per variable of held-out rows; the best has ${best.toFixed(2)}.`;
  }

  return {
    element,
    switching,
    reads: /** @type {const} */ ([
      ...[
        "life",
        "alive",
        "believed",
        "evidence",
        "brush",
        "hover",
        "cell",
        "epoch",
        "row",
        "sampling",
        "slice",
        "selection",
        "palette",
        "picture",
        "width",
        "options",
        "view",
      ],
    ]),
    draw() {
      const { life, alive, picture, options } = state;
      switching.hidden = picture?.groupBy !== "plates" || options.living !== true || isAsking(state);
      switching.setAttribute("aria-pressed", String(alive));
      element.hidden = !alive || switching.hidden || isPresenting(state);
      if (element.hidden) return;
      controls.hidden = !state.believed;
      note.textContent = noteWords();
      note.hidden = !note.textContent;
      drawExamples();
      drawControls();
      drawUnits();
    },
  };
}

export const STYLE = `
.ce-living{flex:none;display:flex;flex-direction:column;gap:4px;max-height:max(180px,32vh);overflow-y:auto;padding:6px 12px;border-top:1px solid var(--ce-line);background:var(--ce-panel)}
.ce-living-row{display:flex;flex-wrap:wrap;align-items:center;gap:6px 12px}
.ce-living-value{min-width:210px;display:flex;flex-direction:column}
.ce-living-value b{font-size:18px;font-variant-numeric:tabular-nums;line-height:1.2}
.ce-living-value span,.ce-living-note,.ce-living-lines{color:var(--ce-muted);font-size:12.5px}
.ce-living-lines{display:flex;gap:8px;align-items:center;margin-left:auto}
.ce-living-lines span{display:inline-flex;gap:4px;align-items:center;white-space:nowrap}
.ce-root input.ce-living-given{width:72px;height:28px;padding:0 6px;font:inherit;color:inherit;background:var(--ce-panel);border:1px solid var(--ce-control);border-radius:6px}
.ce-living-dotted{border:1.5px dotted var(--ce-accent);padding:0 5px}
.ce-living-corner{border:1.5px solid var(--ce-line);padding:0 10px 0 5px;background:linear-gradient(225deg,var(--ce-accent) 6px,transparent 6px)}
.ce-living-words{display:flex;flex-wrap:wrap;justify-content:space-between;align-items:center;gap:2px 16px}
.ce-living-said,.ce-living-note{margin:0;font-size:12.5px}
.ce-living>*{flex:none}
.ce-living-units{max-width:100%}
.ce-living-both{display:flex;flex-direction:column;gap:4px}
@media (max-height:${LOW - 1}px){
  .ce-living-said{display:none}
  .ce-living-both:has(>.ce-columns:not([hidden])){flex-flow:row wrap;align-items:flex-start;gap:4px 16px}
  .ce-living-both>.ce-columns{flex:1 1 0}
  .ce-columns:not([hidden])~.ce-living-shares>.ce-living-lines{flex-wrap:wrap;justify-content:flex-end;max-width:180px;gap:0 8px}
  .ce-columns:not([hidden])~.ce-living-shares{flex-direction:column;align-items:flex-end}
  .ce-living-both>.ce-living-words:not(.ce-living-shares){order:1;flex:1 0 100%}
}
`;
