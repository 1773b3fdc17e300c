// @ts-check
/**
 * A question below the picture of a step: an input, Check with feedback on the answer, Reveal. One self-contained ES module.
 *
 * Reads the traits `question` (JSON of `QuestionView` in `widgets/schema.py`), `selection` (the selected boxes of the picture) and
 * `options` ({theme}); writes `answer` (the last one checked: a list of nodes, a choice, or a number) and reads and writes
 * `revealed`. The feedback comes from Python, as part of the question; the host navigates the picture.
 */

/**
 * @typedef {{get(name: string): any, set(name: string, value: any): void, save_changes(): void,
 *   on(event: string, callback: () => void): void, off(event: string, callback: () => void): void}} Model
 * @typedef {{right: boolean, text: string}} Verdict
 * @typedef {{noun: string, answer: number, right: string, wrong: string}} NumberAsked
 * @typedef {{boxes: Record<string, number>, about: number, wanted: number[], right: string, why: string,
 *   apart: Record<string, string>}} Clicks
 * @typedef {{text: string, choices: Record<string, Verdict> | null, number: NumberAsked | null, clicks: Clicks | null}} Question
 * @typedef {string | number | number[]} Answer
 */

const VERSION = 1;
/** Maximum number of nodes listed; beyond it, only their number is shown. */
const LISTED = 6;
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Noto Sans", sans-serif';

/** @type {Record<string, Record<string, string>>} */
const THEMES = {
  light: { bg: "#ffffff", panel: "#f7f8fa", fg: "#16191d", muted: "#565d66", line: "#d5d9df", control: "#858c96", soft: "#eaf1f9", accent: "#0a5fb4", onAccent: "#ffffff", good: "#00694d", goodFill: "#e3f5ee", bad: "#a83a00", badFill: "#fdeee4" },
  dark: { bg: "#14171c", panel: "#191d23", fg: "#eceef1", muted: "#a9b1bb", line: "#3a414b", control: "#7d8792", soft: "#23313f", accent: "#7cc0ff", onAccent: "#06121f", good: "#5fdcb4", goodFill: "#12332a", bad: "#ffab7a", badFill: "#3a2113" },
  forced: { bg: "Canvas", panel: "Canvas", fg: "CanvasText", muted: "CanvasText", line: "CanvasText", control: "CanvasText", soft: "Canvas", accent: "Highlight", onAccent: "HighlightText", good: "CanvasText", goodFill: "Canvas", bad: "CanvasText", badFill: "Canvas" },
};

const STYLE = `
.ceq-root{box-sizing:border-box;width:100%;margin-top:6px;padding:10px 14px 12px;font:14px/1.45 ${FONT};color:var(--ceq-fg);background:var(--ceq-panel);border:1px solid var(--ceq-line);border-radius:8px;text-align:left}
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

/** @param {any} value */
const text = (value) => (typeof value === "string" ? value : value == null ? "" : String(value));
/** @param {any} value @returns {any[]} */
const list = (value) => (Array.isArray(value) ? value : []);

/**
 * Parse the question; throws an Error with a message for the user if it is malformed.
 * @param {any} json @returns {Question}
 */
export function readQuestion(json) {
  let raw;
  try {
    raw = typeof json === "string" ? JSON.parse(json) : json;
  } catch (error) {
    throw new Error(`The question is not JSON: ${error instanceof Error ? error.message : error}`);
  }
  if (!raw || typeof raw !== "object" || !(raw.choices || raw.number || raw.clicks)) throw new Error("The question has no answers.");
  if (typeof raw.version === "number" && raw.version > VERSION) {
    throw new Error(`The question has version ${raw.version}; this drawing knows version ${VERSION}. Update the explorer.`);
  }
  return { text: text(raw.text), choices: raw.choices || null, number: raw.number || null, clicks: raw.clicks || null };
}

/** @param {number[]} nodes */
const listed = (nodes) => (nodes.length <= LISTED ? nodes.join(", ") : `${nodes.slice(0, LISTED).join(", ")} ... (${nodes.length.toLocaleString("en")} in all)`);

/**
 * The feedback on an answer; the same as that of `explorer.views.check`.
 * @param {Question} question @param {Answer} answer @returns {Verdict}
 */
export function verdictOf({ choices, number, clicks }, answer) {
  if (choices) return choices[text(answer)];
  if (number) return answer === number.answer ? { right: true, text: number.right } : { right: false, text: number.wrong };
  const { about, wanted, right, why, apart } = /** @type {Clicks} */ (clicks);
  const given = [...new Set(list(answer))].filter((node) => node !== about);
  const wrong = given.filter((node) => !wanted.includes(node));
  const missing = wanted.filter((node) => !given.includes(node));
  if (!wrong.length && !missing.length) return { right: true, text: right };
  const parts = [];
  if (wrong.length) parts.push(`Not these: ${listed(wrong)}. Layer ${wrong[0]}: ${text(apart[wrong[0]])}`);
  if (missing.length) parts.push(`Missing: ${listed(missing)}.`);
  return { right: false, text: [...parts, why].join(" ") };
}

/** @param {any} doc */
function hostTheme(doc) {
  for (const element of [doc.body, doc.documentElement]) {
    if (!element || !element.getAttribute) continue;
    const lab = element.getAttribute("data-jp-theme-light");
    if (lab) return lab === "true" ? "light" : "dark";
    for (const name of ["data-theme", "data-mui-color-scheme", "data-bs-theme", "data-vscode-theme-kind", "theme"]) {
      const value = element.getAttribute(name) || "";
      if (/dark/.test(value)) return "dark";
      if (/light/.test(value)) return "light";
    }
    const classes = element.getAttribute("class") || "";
    if (/(^|\s)(dark|dark-theme|dark-mode)(\s|$)/.test(classes)) return "dark";
    if (/(^|\s)(light|light-theme|light-mode)(\s|$)/.test(classes)) return "light";
  }
  return asks("(prefers-color-scheme: dark)") ? "dark" : "light";
}

/** @param {string} query */
const asks = (query) => typeof matchMedia === "function" && matchMedia(query).matches;

/** A unique prefix: hosts load the module once per widget, all in one document. */
const OWN = Math.random().toString(36).slice(2, 8);
let serial = 0;

/**
 * Draws the question into `el`; returns a function that removes it.
 * @param {{model: Model, el: any}} context @returns {() => void}
 */
function render({ model, el }) {
  const doc = el.ownerDocument || document;
  const name = `ceq${OWN}-${(serial += 1)}`;
  /** @type {(() => void)[]} */
  const closing = [];
  /** @type {Question | null} */
  let question = null;
  /** The choice, or what was typed. */
  let given = "";
  /** The clicked boxes when the question was last updated. @type {string[]} */
  let clicked = [];
  /** The answer that the feedback is about. */
  let said = "";

  /** @param {string} tag @param {Record<string, any>} [attributes] @param {any[]} children @returns {any} */
  const h = (tag, attributes = {}, ...children) => {
    const made = doc.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) {
      if (value == null || value === false) continue;
      if (key === "text") made.textContent = value;
      else if (typeof value === "function") made.addEventListener(key.slice(2), value);
      else made.setAttribute(key, value === true ? "" : String(value));
    }
    for (const child of children.flat()) if (child) made.appendChild(child);
    return made;
  };

  const sheet = h("style", { text: STYLE });
  const legend = h("legend");
  const input = h("div");
  const picked = h("p", { class: "ceq-picked", role: "status" });
  const check = h("button", { type: "button", class: "ceq-main", text: "Check", onclick: () => checkAnswer() });
  const reveal = h("button", { type: "button", text: "Reveal", onclick: () => turn() });
  const verdict = h("div", { class: "ceq-verdict", role: "status" });
  const root = h("div", { class: "ceq-root", role: "group", "aria-label": "Question", "data-lm-suppress-shortcuts": "true" },
    h("fieldset", {}, legend, input, picked), h("div", { class: "ceq-buttons" }, check, reveal), verdict);

  const options = () => {
    const value = model.get("options");
    if (value instanceof Map) return Object.fromEntries(value);
    return value && typeof value === "object" ? value : {};
  };
  const revealed = () => model.get("revealed") === true;

  function colour() {
    const wish = options().theme;
    const theme = wish === "dark" || wish === "light" ? wish : hostTheme(doc);
    root.setAttribute("data-theme", theme);
    for (const [role, value] of Object.entries(asks("(forced-colors: active)") ? THEMES.forced : THEMES[theme])) root.style.setProperty(`--ceq-${role}`, value);
    root.style.setProperty("color-scheme", theme);
  }

  /** Redraw everything: another question was set. */
  function begin() {
    given = "";
    clicked = [];
    try {
      question = readQuestion(model.get("question"));
    } catch (error) {
      question = null;
      legend.textContent = "";
      input.replaceChildren();
      follow();
      say("", `Cannot show this question. ${error instanceof Error ? error.message : error}`);
      return;
    }
    legend.textContent = question.text;
    const { choices, number, clicks } = question;
    if (choices) input.replaceChildren(h("div", { class: "ceq-choices" }, Object.keys(choices).map(choiceOf)));
    else if (number) input.replaceChildren(numberOf(number));
    else if (clicks) input.replaceChildren(h("p", { class: "ceq-how", text: "Click a box in the picture to choose it, and again to remove it; or move with the arrow keys and press Enter." }));
    follow();
    say("", "");
  }

  /** @param {string} words */
  const choiceOf = (words) => h("label", {}, h("input", { type: "radio", name, value: words, onchange: () => answered(words) }), h("span", { text: words }));

  /** @param {NumberAsked} asked */
  function numberOf(asked) {
    const field = h("input", { type: "number", min: "0", step: "1", inputmode: "numeric", oninput: () => answered(text(field.value)),
      onkeydown: (/** @type {any} */ event) => { if (event.key === "Enter") checkAnswer(); } });
    return h("label", { class: "ceq-number" }, h("span", { text: asked.noun }), field);
  }

  /** @param {string} answer */
  function answered(answer) {
    given = answer;
    keepVerdict();
  }

  /** The feedback is shown as long as the answer is unchanged. */
  function keepVerdict() {
    verdict.hidden = said !== answerText();
  }

  const answerText = () => JSON.stringify([given, [...clicked].sort()]);

  /** Update everything that depends on the selection and on whether the answer is shown. */
  function follow() {
    const open = revealed();
    const clicks = question && question.clicks;
    if (clicks && !open) {
      clicked = list(model.get("selection")).map(text).filter((box) => Object.hasOwn(clicks.boxes, box) && clicks.boxes[box] !== clicks.about);
      keepVerdict();
      picked.textContent = clicked.length ? `Chosen: ${clicked.map((box) => clicks.boxes[box]).join(", ")}.` : "Nothing is chosen: the answer is that no layer folds with it.";
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
    said = answerText();
    verdict.hidden = false;
    verdict.setAttribute("class", `ceq-verdict${tone ? ` ceq-${tone}` : ""}`);
    const sign = tone && h("span", { class: "ceq-sign", role: "img", "aria-label": tone === "good" ? "right" : "not right", text: tone === "good" ? "✓" : "✕" });
    verdict.replaceChildren(...(words ? [...(sign ? [sign] : []), h("span", { text: words })] : []));
  }

  /** @type {Record<string, () => void>} */
  const readers = { question: begin, selection: follow, revealed: follow, answer: follow, options: colour };
  for (const [trait, read] of Object.entries(readers)) {
    model.on(`change:${trait}`, read);
    closing.push(() => model.off(`change:${trait}`, read));
  }
  if (typeof matchMedia === "function") {
    for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
      const media = matchMedia(query);
      if (!media.addEventListener) continue;
      media.addEventListener("change", colour);
      closing.push(() => media.removeEventListener("change", colour));
    }
  }
  if (typeof MutationObserver === "function") {
    const watch = new MutationObserver(colour);
    const filter = { attributes: true, attributeFilter: ["class", "theme", "data-theme", "data-jp-theme-light", "data-mui-color-scheme", "data-bs-theme", "data-vscode-theme-kind"] };
    for (const part of [doc.documentElement, doc.body]) if (part) watch.observe(part, filter);
    closing.push(() => watch.disconnect());
  }

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
