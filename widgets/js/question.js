/**
 * A question below the picture of a step: an input, Check with feedback on the answer, Reveal.
 *
 * Reads the traits `question` (JSON of `QuestionView` in `widgets/explorer_widgets/schema/`), `selection` (the selected boxes of the
 * picture) and `options` ({theme}); writes `answer` (the last one checked: a list of nodes, a choice, or a number) and
 * reads and writes `revealed`. A wrong first answer gets a hint, and is not written: `answer` is set once the question
 * is settled. The feedback comes from Python, as part of the question; the host navigates the picture.
 */

import { checkVersion, errorText, parseJson } from "./shared/contract.js";
import { maker, uniqueName } from "./shared/elements.js";
import { FONT } from "./shared/measuring.js";
import { asDict, list, text, texts } from "./shared/reading.js";
import { applyPalette, paletteFor, watchTheme } from "./shared/theme.js";
import { onChanges } from "./shared/traits.js";

const STYLE = `
.ceq-root{box-sizing:border-box;width:100%;margin-top:6px;padding:10px 14px 12px;font:14px/1.45 ${FONT};color:var(--ceq-fg);background:var(--ceq-ground);border:1px solid var(--ceq-line);border-radius:8px;text-align:left}
.ceq-root *{box-sizing:border-box}
.ceq-root [hidden]{display:none!important}
.ceq-root fieldset{margin:0;padding:0;border:0;min-width:0}
.ceq-root legend{padding:0;margin:0 0 6px;font-weight:650;color:inherit;overflow-wrap:anywhere}
.ceq-root p{margin:0}
.ceq-choices{display:flex;flex-wrap:wrap;gap:4px 18px}
.ceq-choices label,.ceq-number{display:inline-flex;align-items:center;gap:8px;min-height:28px;cursor:pointer;color:inherit;font-weight:400}
.ceq-root input[type=radio]{width:18px;height:18px;margin:0;accent-color:var(--ceq-accent);flex:none}
.ceq-root input[type=number]{font:inherit;font-variant-numeric:tabular-nums;width:7.5em;height:30px;padding:0 8px;color:var(--ceq-fg);background:var(--ceq-bg);border:1px solid var(--ceq-control);border-radius:6px}
.ceq-how{color:var(--ceq-muted)}
.ceq-picked{font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.ceq-buttons{display:flex;flex-wrap:wrap;gap:8px;margin-top:10px}
.ceq-root button{font:inherit;font-weight:600;height:30px;padding:0 14px;border:1px solid var(--ceq-control);border-radius:6px;color:var(--ceq-fg);background:var(--ceq-bg);cursor:pointer}
.ceq-root button:hover{background:var(--ceq-soft)}
.ceq-root button.ceq-main{color:var(--ceq-onAccent);background:var(--ceq-accent);border-color:var(--ceq-accent)}
.ceq-root button:disabled{opacity:.5;cursor:default}
.ceq-root :focus-visible{outline:2px solid var(--ceq-accent);outline-offset:2px}
.ceq-verdict{display:flex;gap:10px;align-items:baseline;overflow-wrap:anywhere}
.ceq-verdict:not(:empty){margin-top:10px;padding:7px 12px;border-left:4px solid var(--ceq-line);border-radius:0 6px 6px 0;background:var(--ceq-bg)}
.ceq-verdict.ceq-good{border-left-color:var(--ceq-good);background:var(--ceq-goodFill)}
.ceq-verdict.ceq-bad{border-left:4px double var(--ceq-bad);background:var(--ceq-badFill)}
.ceq-sign{flex:none;font-size:17px;line-height:1;font-weight:800}
.ceq-good .ceq-sign{color:var(--ceq-good)}
.ceq-bad .ceq-sign{color:var(--ceq-bad)}
@media (forced-colors:active){.ceq-root button.ceq-main{forced-color-adjust:none}}
`;

const CLICKING =
  "Click a box in the picture to choose it, and again to remove it; " + "or move with the arrow keys and press Enter.";

/**
 * Draws the question into `el`; returns a function that removes it.
 * @param {import("./shared/contract.js").Context} context @returns {() => void}
 */
function render({ model, el }) {
  const doc = el.ownerDocument || document;
  const { h } = maker(doc);
  const name = uniqueName("ceq");
  /** @type {Question | null} */
  let question = null;
  /** The choice, or what was typed. */
  let given = "";
  /** The clicked boxes when the question was last updated. @type {string[]} */
  let clicked = [];
  /** The answer that the feedback is about. */
  let checked = "";
  /** Whether the hint was given, so that the next wrong answer gets the feedback. */
  let hinted = false;

  const sheet = h("style", { text: STYLE });
  const legend = h("legend");
  const input = h("div");
  const picked = h("p", { class: "ceq-picked", role: "status" });
  const check = h("button", { type: "button", class: "ceq-main", text: "Check", onclick: () => checkAnswer() });
  const reveal = h("button", { type: "button", text: "Reveal", onclick: () => turn() });
  const verdict = h("div", { class: "ceq-verdict", role: "status" });
  const root = h(
    "div",
    { class: "ceq-root", role: "group", "aria-label": "Question", "data-lm-suppress-shortcuts": "true" },
    h("fieldset", {}, legend, input, picked),
    h("div", { class: "ceq-buttons" }, check, reveal),
    verdict,
  );

  const revealed = () => model.get("revealed") === true;

  const colour = () => applyPalette(root, paletteFor(doc, asDict(model.get("options")).theme), "ceq");

  /** Redraw everything: another question was set. */
  function begin() {
    given = "";
    clicked = [];
    hinted = false;
    try {
      question = readQuestion(model.get("question"));
    } catch (error) {
      question = null;
      legend.textContent = "";
      input.replaceChildren();
      follow();
      say("", `Cannot show this question. ${errorText(error)}`);
      return;
    }
    legend.textContent = question.text;
    const { choices, number, clicks } = question;
    if (choices) input.replaceChildren(h("div", { class: "ceq-choices" }, Object.keys(choices).map(choiceOf)));
    else if (number) input.replaceChildren(numberOf(number));
    else if (clicks)
      input.replaceChildren(
        h("p", {
          class: "ceq-how",
          text: CLICKING,
        }),
      );
    follow();
    say("", "");
  }

  /** @param {string} words */
  const choiceOf = (words) =>
    h(
      "label",
      {},
      h("input", { type: "radio", name, value: words, onchange: () => answered(words) }),
      h("span", { text: words }),
    );

  /** @param {NumberAsked} asked */
  function numberOf(asked) {
    const field = h("input", {
      type: "number",
      min: "0",
      step: "1",
      inputmode: "numeric",
      oninput: () => answered(text(field.value)),
      onkeydown: (/** @type {any} */ event) => {
        if (event.key === "Enter") checkAnswer();
      },
    });
    return h("label", { class: "ceq-number" }, h("span", { text: asked.noun }), field);
  }

  /** @param {string} answer */
  function answered(answer) {
    given = answer;
    keepVerdict();
  }

  /** The feedback is shown as long as the answer is unchanged. */
  function keepVerdict() {
    verdict.hidden = checked !== answerText();
  }

  const answerText = () => JSON.stringify([given, [...clicked].sort()]);

  /** Update everything that depends on the selection and on whether the answer is shown. */
  function follow() {
    const open = revealed();
    const clicks = question && question.clicks;
    if (clicks && !open) {
      clicked = texts(model.get("selection")).filter(
        (box) => Object.hasOwn(clicks.boxes, box) && clicks.boxes[box] !== clicks.about,
      );
      keepVerdict();
      picked.textContent = clicked.length
        ? `Chosen: ${clicked.map((box) => clicks.boxes[box]).join(", ")}.`
        : `Nothing is chosen: the answer is that no other ${clicks.noun.toLowerCase()} belongs to it.`;
    }
    picked.hidden = !clicks || open;
    input.hidden = Boolean(clicks && open);
    check.disabled = !question || open;
    reveal.hidden = !question || (!open && model.get("answer") == null);
    reveal.textContent = open ? "Back to the question" : "Reveal";
  }

  /** @returns {Answer | null} null if there is none yet */
  function answerNow() {
    if (!question) return null;
    const { clicks, number } = question;
    if (clicks) return clicked.map((box) => clicks.boxes[box]);
    if (!number) return given || null;
    return given.trim() !== "" && Number.isInteger(Number(given)) ? Number(given) : null;
  }

  function checkAnswer() {
    const answer = answerNow();
    if (!question || revealed()) return;
    if (answer === null) {
      say("", question.number ? "Enter an integer first." : "Choose an answer first.");
      return;
    }
    const { right, text: words } = verdictOf(question, answer);
    if (!right && question.hint && !hinted && model.get("answer") == null) {
      hinted = true;
      say("bad", hintOf(question, answer));
      return;
    }
    say(right ? "good" : "bad", words);
    model.set("answer", answer);
    model.save_changes();
    follow();
  }

  /** Show the answer, or return to the question. */
  function turn() {
    model.set("revealed", !revealed());
    model.save_changes();
    follow();
  }

  /** @param {"" | "good" | "bad"} tone @param {string} words */
  function say(tone, words) {
    checked = answerText();
    verdict.hidden = false;
    verdict.setAttribute("class", `ceq-verdict${tone ? ` ceq-${tone}` : ""}`);
    const sign =
      tone &&
      h("span", {
        class: "ceq-sign",
        role: "img",
        "aria-label": tone === "good" ? "right" : "not right",
        text: tone === "good" ? "✓" : "✕",
      });
    verdict.replaceChildren(...(words ? [...(sign ? [sign] : []), h("span", { text: words })] : []));
  }

  const readers = { question: begin, selection: follow, revealed: follow, answer: follow, options: colour };
  const closing = [onChanges(model, readers), watchTheme(doc, colour)];

  el.appendChild(sheet);
  el.appendChild(root);
  colour();
  begin();

  return () => {
    for (const close of closing) close();
    sheet.remove();
    root.remove();
  };
}

export default { render };

/**
 * @typedef {{right: boolean, text: string}} Verdict
 * @typedef {{noun: string, answer: number, right: string, wrong: string}} NumberAsked
 * @typedef {{noun: string, boxes: Record<string, number>, about: number, wanted: number[], right: string, why: string,
 *   apart: Record<string, string>}} Clicks
 * @typedef {{text: string, hint: string, choices: Record<string, Verdict> | null, number: NumberAsked | null, clicks: Clicks | null}}
 * Question
 * @typedef {string | number | number[]} Answer
 */

/** Maximum number of nodes listed; beyond it, only their number is shown. */
const LISTED = 6;

/**
 * Throws an Error with a message for the user if the question is malformed.
 * @param {any} json @returns {Question}
 */
export function readQuestion(json) {
  const raw = parseJson("The question is", json);
  if (!raw || typeof raw !== "object" || !(raw.choices || raw.number || raw.clicks)) {
    throw new Error("The question has no answers.");
  }
  checkVersion("The question has", raw.version);
  return {
    text: text(raw.text),
    hint: text(raw.hint),
    choices: raw.choices || null,
    number: raw.number || null,
    clicks: raw.clicks || null,
  };
}

/** @param {number[]} nodes */
const listed = (nodes) =>
  nodes.length <= LISTED
    ? nodes.join(", ")
    : `${nodes.slice(0, LISTED).join(", ")} ... (${nodes.length.toLocaleString("en")} in all)`;

/**
 * The feedback on an answer; the same as `explorer.views.check` returns.
 * @param {Question} question @param {Answer} answer @returns {Verdict}
 */
export function verdictOf({ choices, number, clicks }, answer) {
  if (choices) return choices[text(answer)];
  if (number)
    return answer === number.answer ? { right: true, text: number.right } : { right: false, text: number.wrong };
  const { noun, about, wanted, right, why, apart } = /** @type {Clicks} */ (clicks);
  const given = [...new Set(list(answer))].filter((node) => node !== about);
  const wrong = given.filter((node) => !wanted.includes(node));
  const missing = wanted.filter((node) => !given.includes(node));
  if (!wrong.length && !missing.length) return { right: true, text: right };
  const parts = [];
  if (wrong.length) parts.push(`Not these: ${listed(wrong)}. ${noun} ${wrong[0]}: ${text(apart[wrong[0]])}`);
  if (missing.length) parts.push(`Missing: ${listed(missing)}.`);
  return { right: false, text: [...parts, why].join(" ") };
}

/**
 * What is said to a wrong first answer: how far it is off where that can be counted, and how to find the right one.
 * @param {Question} question @param {Answer} answer
 */
export function hintOf({ hint, clicks }, answer) {
  if (!clicks) return `Not yet. ${hint} Try once more.`;
  const given = [...new Set(list(answer))].filter((node) => node !== clicks.about);
  const wrong = given.filter((node) => !clicks.wanted.includes(node)).length;
  const missing = clicks.wanted.filter((node) => !given.includes(node)).length;
  const off = [
    wrong && `${wrong} of the chosen ${wrong === 1 ? "does" : "do"} not belong`,
    missing && `${missing} ${missing === 1 ? "is" : "are"} missing`,
  ].filter(Boolean);
  return `Not yet: ${off.join(", ")}. ${hint} Try once more.`;
}
