/**
 * The observed pixels of an image, painted on a pad, and the images that a circuit answered.
 *
 * Reads the traits `query` (JSON of `QueryView` in `widgets/explorer_widgets/schema/`) and `options` ({theme}); writes `evidence` after each
 * stroke: {x, observed, n}, the value of each variable, and whether it is observed; and `chosen`, the image that was clicked.
 */

import { drawAnswer } from "./query/drawing.js";
import { countWords, erase } from "./query/evidence.js";
import { makePad } from "./query/pad.js";
import { readQuery } from "./query/reading.js";
import { errorText } from "./shared/contract.js";
import { maker } from "./shared/elements.js";
import { FONT } from "./shared/measuring.js";
import { asDict } from "./shared/reading.js";
import { applyPalette, paletteFor, watchTheme } from "./shared/theme.js";
import { onChangesTogether, saveTraits } from "./shared/traits.js";

/**
 * @import { Evidence } from "./query/evidence.js"
 * @import { Query } from "./query/reading.js"
 */

const THUMBNAIL = 40;
/** The longest side of the image of an answer; of more images than a number, a smaller one. */
const SIDES = [
  { side: 144, most: 4 },
  { side: 120, most: 16 },
  { side: 80, most: Infinity },
];

const STYLE = `
.ceg-root{box-sizing:border-box;width:100%;font:13px/1.4 ${FONT};color:var(--ceg-fg);background:var(--ceg-bg);border:1px solid var(--ceg-line);border-radius:8px;padding:10px 12px;text-align:left;display:flex;flex-wrap:wrap;gap:10px 28px;align-items:flex-start}
.ceg-root *{box-sizing:border-box}
.ceg-root [hidden]{display:none!important}
.ceg-root canvas{image-rendering:pixelated;display:block;border:1px solid var(--ceg-control)}
.ceg-pad{cursor:crosshair;touch-action:none}
.ceg-own{display:flex;flex-wrap:wrap;gap:8px 14px}
.ceg-tools{display:flex;flex-direction:column;gap:6px;max-width:310px}
.ceg-tools>div{display:flex;flex-wrap:wrap;gap:6px;align-items:center}
.ceg-root button{font:inherit;font-weight:500;color:inherit;min-height:28px;padding:0 10px;border:1px solid var(--ceg-control);border-radius:6px;background:var(--ceg-bg);cursor:pointer}
.ceg-tools label{display:flex;gap:8px;align-items:center}
.ceg-root button:hover{border-color:var(--ceg-accent)}
.ceg-root button[aria-pressed=true]{background:var(--ceg-soft);border-color:var(--ceg-accent);box-shadow:inset 0 -2px 0 var(--ceg-accent)}
.ceg-root button.ceg-example{padding:2px}
.ceg-root button.ceg-example canvas{border:0}
.ceg-root input[type=range]{width:110px;accent-color:var(--ceg-accent);min-height:24px;margin:0}
.ceg-root :focus-visible{outline:2px solid var(--ceg-accent);outline-offset:2px}
.ceg-answers{flex:1 1 320px;display:flex;flex-wrap:wrap;gap:8px 14px}
.ceg-answers p{flex:1 0 100%}
.ceg-root button.ceg-answer{display:block;padding:3px 3px 1px;text-align:center;font-weight:400}
.ceg-root button.ceg-answer:not([aria-pressed=true]){border-color:transparent}
.ceg-root button.ceg-answer:hover{border-color:var(--ceg-accent)}
.ceg-root button.ceg-answer canvas{margin-bottom:4px}
.ceg-root p{margin:0}
.ceg-answer,.ceg-muted{color:var(--ceg-muted);font-size:12px}
@media (forced-colors:active){.ceg-root canvas{forced-color-adjust:none}}
`;

/**
 * Draws the pad and the answers into `el`; returns a function that removes them.
 * @param {import("./shared/contract.js").Context} context @returns {() => void}
 */
function render({ model, el }) {
  const doc = el.ownerDocument || document;
  const make = maker(doc);
  const { h } = make;
  /** @type {Query | null} */
  let query = null;
  let erases = false;
  let sent = 0;
  /** The answers that are drawn: what they show, and their buttons. @type {{key: string, buttons: any[]}} */
  let drawn = { key: "", buttons: [] };

  const status = h("p", { class: "ceg-muted", role: "status" });
  const pad = makePad(make, { ink: () => (erases ? null : Number(value.value)), done: save, say });
  const value = h("input", { type: "range", min: "0", "aria-label": "Value to paint", oninput: () => drawTools() });
  const shown = h("output", { class: "ceg-muted" });
  const brush = h("button", { type: "button", text: "Paint", onclick: () => choose(false) });
  const eraser = h("button", { type: "button", text: "Erase", onclick: () => choose(true) });
  const eraseButton = (/** @type {string} */ text, /** @type {{top?: number, left?: number}} */ from) =>
    h("button", {
      type: "button",
      text,
      "aria-label": `Erase ${text.toLowerCase()}`,
      onclick: () => change((known, image) => erase(known, image, from)),
    });
  const examples = h("div", { role: "group", "aria-label": "Take an image" });
  const tools = h(
    "div",
    { class: "ceg-tools" },
    h("div", { role: "group", "aria-label": "Brush" }, brush, eraser),
    h("label", {}, h("span", { text: "Value" }), value, shown),
    examples,
    h(
      "div",
      {},
      h("span", { text: "Erase", "aria-hidden": "true" }),
      eraseButton("Lower half", { top: 0.5 }),
      eraseButton("Right half", { left: 0.5 }),
      eraseButton("All", {}),
    ),
    status,
  );
  const answers = h("div", { class: "ceg-answers", "aria-live": "polite" });
  const own = h("div", { class: "ceg-own" }, pad.element, tools);
  const root = h(
    "div",
    { class: "ceg-root", role: "region", "aria-label": "Observed pixels", "data-lm-suppress-shortcuts": "true" },
    own,
    answers,
  );

  const palette = () => paletteFor(doc, asDict(model.get("options")).theme);

  /** @param {string} words */
  function say(words) {
    status.textContent = words;
  }

  /** @param {boolean} next */
  function choose(next) {
    erases = next;
    drawTools();
  }

  /** Tell the host what is observed. */
  function save() {
    const { x, observed } = pad.evidence();
    sent += 1;
    saveTraits(model, { evidence: { x: [...x], observed: observed.map(Number), n: sent } });
    if (query) say(countWords(pad.evidence(), query.image));
  }

  /** @param {(known: Evidence, image: number[]) => Evidence} make */
  function change(make) {
    if (!query) return;
    pad.show(make(pad.evidence(), query.image), query.image, query.most, palette().roles);
    save();
  }

  function drawTools() {
    brush.setAttribute("aria-pressed", String(!erases));
    eraser.setAttribute("aria-pressed", String(erases));
    shown.textContent = `${value.value} of ${query?.most ?? 0}`;
  }

  /** @param {Query} known */
  function drawExamples({ examples: images, image, most }) {
    const { roles } = palette();
    const buttons = images.map(({ label, x }) => {
      const canvas = h("canvas", { "aria-hidden": "true" });
      drawAnswer(canvas, x, null, image, most, THUMBNAIL, roles);
      const words = `Observe all of ${label}`;
      const take = () => change(() => ({ x: [...x], observed: x.map(() => true) }));
      return h(
        "button",
        { type: "button", class: "ceg-example", title: words, "aria-label": words, onclick: take },
        canvas,
      );
    });
    examples.replaceChildren(h("span", { text: "Or take", "aria-hidden": "true" }), ...buttons);
  }

  /** Draw the answers again only if they differ, so that none of them loses the focus. @param {Query} known */
  function drawAnswers({ answers: images, note, chosen, image, most, x, observed }) {
    const { roles } = palette();
    const key = JSON.stringify([images, note, image, observed, roles.accent]);
    if (key === drawn.key) {
      drawn.buttons.forEach((button, at) => button.setAttribute("aria-pressed", String(at === chosen)));
      return;
    }
    const { side } = SIDES.find(({ most: count }) => images.length <= count) ?? SIDES[0];
    const evidence = observed.some(Boolean) ? { x, observed } : null;
    const buttons = images.map((answer, at) => {
      const canvas = h("canvas", { "aria-hidden": "true" });
      drawAnswer(canvas, answer.x, evidence, image, most, side, roles);
      const pick = () => saveTraits(model, { chosen: at });
      const attributes = { "aria-pressed": String(at === chosen), title: `Choose ${answer.label}`, onclick: pick };
      return h(
        "button",
        { type: "button", class: "ceg-answer", ...attributes },
        canvas,
        h("span", { text: answer.label }),
      );
    });
    drawn = { key, buttons };
    answers.replaceChildren(...(note ? [h("p", { text: note })] : []), ...buttons);
  }

  function draw() {
    applyPalette(root, palette(), "ceg");
    const before = query;
    try {
      query = readQuery(model.get("query"));
    } catch (error) {
      query = null;
      own.hidden = true;
      drawn = { key: "", buttons: [] };
      answers.replaceChildren(h("p", { role: "alert", text: `Cannot draw this query. ${errorText(error)}` }));
      return;
    }
    own.hidden = !query;
    root.hidden = !query;
    if (!query) return;
    if (before?.most !== query.most || before.step !== query.step) {
      value.setAttribute("max", String(query.most));
      value.setAttribute("step", String(query.step));
      value.value = String(query.most);
    }
    const known = query.n < sent ? pad.evidence() : query; // an answer to an earlier stroke does not undo later ones
    pad.show(known, query.image, query.most, palette().roles);
    drawTools();
    drawExamples(query);
    drawAnswers(query);
    say(countWords(known, query.image));
  }

  const closing = [onChangesTogether(model, { query: draw, options: draw }), watchTheme(doc, draw)];
  const sheet = h("style", { text: STYLE });
  el.appendChild(sheet);
  el.appendChild(root);
  draw();

  return () => {
    for (const close of closing) close();
    sheet.remove();
    root.remove();
  };
}

export default { render };
