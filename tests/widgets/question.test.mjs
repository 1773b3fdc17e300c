import assert from "node:assert/strict";
import { test } from "node:test";

import view from "../../widgets/js/question.js";
import { hintOf, readQuestion, verdictOf } from "../../widgets/js/question.js";
import { newDocument, newModel } from "./dom.mjs";

const place = (step, mode, selection = []) => ({ step, mode, colour_by: "kind", group_by: "none", selection });
const question = (more) => ({
  version: 1,
  text: "What will it do?",
  asking: place(2, "after"),
  revealing: place(3, "diff"),
  ...more,
});
const choices = {
  choices: {
    "A at 1": { right: true, text: "Right. A is larger." },
    "B at 2": { right: false, text: "No: A is applied." },
  },
};
const number = { number: { noun: "Layers", answer: 4, right: "Right: 4 layers.", wrong: "No: 4 layers are left." } };
const clicks = {
  clicks: {
    noun: "Layer",
    boxes: { n1: 1, n2: 2, n3: 3, n4: 4 },
    about: 1,
    wanted: [2, 3],
    right: "Right: 2 other layers.",
    why: "They agree.",
    apart: { 4: "its level is 1." },
  },
};

function open(asked, traits = {}) {
  const document = newDocument();
  const el = document.createElement("div");
  const model = newModel({ question: JSON.stringify(asked), selection: [], answer: null, revealed: false, ...traits });
  const close = view.render({ model, el });
  const said = () => el.of("ceq-verdict")[0];
  return {
    el,
    model,
    close,
    said,
    check: () => el.button("Check").dispatch("click"),
    inputs: (type) => el.all((one) => one.getAttribute?.("type") === type),
  };
}

test("a choice is checked, and Python receives the answer", () => {
  const { el, model, said, check, inputs, close } = open(question(choices));
  assert.match(el.textContent, /What will it do\?/);
  check();
  assert.equal(said().textContent, "Choose an answer first.");
  assert.deepEqual(model.sent, []);
  inputs("radio")[1].dispatch("change");
  check();
  assert.equal(said().textContent, "✕No: A is applied.");
  assert.match(said().getAttribute("class"), /ceq-bad/);
  assert.equal(el.of("ceq-sign")[0].getAttribute("aria-label"), "not right");
  inputs("radio")[0].dispatch("change");
  check();
  assert.equal(said().textContent, "✓Right. A is larger.");
  assert.match(said().getAttribute("class"), /ceq-good/);
  assert.deepEqual(model.sent, [{ answer: "B at 2" }, { answer: "A at 1" }]);
  close();
  assert.equal(el.childNodes.length, 0);
  assert.equal(model.listening(), 0);
});

test("a number is typed, and Enter checks it", () => {
  const { model, said, inputs, check } = open(question(number));
  const [field] = inputs("number");
  for (const [typed, words] of [
    ["", "Enter an integer first."],
    ["2.5", "Enter an integer first."],
    ["5", "✕No: 4 layers are left."],
  ]) {
    field.value = typed;
    field.dispatch("input");
    check();
    assert.equal(said().textContent, words);
  }
  field.value = "4";
  field.dispatch("input");
  field.dispatch("keydown", { key: "Enter" });
  assert.equal(said().textContent, "✓Right: 4 layers.");
  assert.deepEqual(model.sent.at(-1), { answer: 4 });
});

test("layers are chosen in the picture; the one in question is not part of the answer", async () => {
  const { el, model, said, check } = open(question(clicks), { selection: ["n1"] });
  const picked = () => el.of("ceq-picked")[0].textContent;
  assert.match(picked(), /Nothing is chosen/);
  await model.put({ selection: ["n1", "n3", "n2", "elsewhere"] });
  assert.equal(picked(), "Chosen: 3, 2.");
  check();
  assert.equal(said().textContent, "✓Right: 2 other layers.");
  assert.deepEqual(model.sent, [{ answer: [3, 2] }]);
});

test("nothing chosen is an answer too", () => {
  const alone = { clicks: { ...clicks.clicks, wanted: [], right: "Right. Layer 1 stays alone." } };
  const { said, check } = open(question(alone), { selection: ["n1"] });
  check();
  assert.equal(said().textContent, "✓Right. Layer 1 stays alone.");
});

test("the answer can be revealed after a check, and the question shown again", async () => {
  const { el, model, check } = open(question(clicks), { selection: ["n1", "n4"] });
  assert.equal(el.button("Reveal").hidden, true);
  check();
  assert.equal(el.button("Reveal").hidden, false);
  el.button("Reveal").dispatch("click");
  assert.deepEqual(model.sent.at(-1), { revealed: true });
  assert.equal(el.button("Check").disabled, true);
  await model.put({ selection: ["folded"] }); // of the other picture: no answer
  el.button("Back to the question").dispatch("click");
  assert.deepEqual(model.sent.at(-1), { revealed: false });
  assert.equal(el.button("Check").disabled, false);
});

test("a wrong first answer gets a hint and a second try before the feedback", () => {
  const { el, model, said, check, inputs } = open(question({ ...choices, hint: "Compare their sizes." }));
  inputs("radio")[1].dispatch("change");
  check();
  assert.equal(said().textContent, "✕Not yet. Compare their sizes. Try once more.");
  assert.equal(el.button("Reveal").hidden, true);
  assert.deepEqual(model.sent, []);
  check();
  assert.equal(said().textContent, "✕No: A is applied.");
  assert.equal(el.button("Reveal").hidden, false);
  assert.deepEqual(model.sent, [{ answer: "B at 2" }]);
});

test("a right first answer needs no hint", () => {
  const { model, said, check, inputs } = open(question({ ...choices, hint: "Compare their sizes." }));
  inputs("radio")[0].dispatch("change");
  check();
  assert.equal(said().textContent, "✓Right. A is larger.");
  assert.deepEqual(model.sent, [{ answer: "A at 1" }]);
});

test("a hint counts what is wrong with the chosen layers, and names none", () => {
  const asked = readQuestion(JSON.stringify(question({ ...clicks, hint: "Same level, same key." })));
  assert.equal(
    hintOf(asked, [4, 2]),
    "Not yet: 1 of the chosen does not belong, 1 is missing. Same level, same key. Try once more.",
  );
  assert.equal(hintOf(asked, []), "Not yet: 2 are missing. Same level, same key. Try once more.");
});

test("the feedback is shown as long as the answer is unchanged", async () => {
  const chosen = open(question(choices));
  chosen.inputs("radio")[1].dispatch("change");
  chosen.check();
  assert.equal(chosen.said().hidden, false);
  chosen.inputs("radio")[0].dispatch("change");
  assert.equal(chosen.said().hidden, true);
  const typed = open(question(number));
  const [field] = typed.inputs("number");
  typed.check();
  for (const [value, hidden] of [
    ["5", true],
    ["", false],
  ]) {
    field.value = value;
    field.dispatch("input");
    assert.equal(typed.said().hidden, hidden);
  }
  const clicked = open(question(clicks), { selection: ["n1", "n2", "n3"] });
  clicked.check();
  await clicked.model.put({ selection: ["n1", "n2"] });
  assert.equal(clicked.said().hidden, true);
  await clicked.model.put({ selection: ["n3", "n1", "n2"] });
  assert.deepEqual([clicked.said().hidden, clicked.said().textContent], [false, "✓Right: 2 other layers."]);
  clicked.el.button("Reveal").dispatch("click");
  await clicked.model.put({ selection: ["folded"] });
  assert.equal(clicked.said().hidden, false);
});

test("feedback names wrong and missing layers, with the reason of the first wrong one", () => {
  const asked = readQuestion(question(clicks));
  assert.deepEqual(verdictOf(asked, [2, 3, 1]), { right: true, text: "Right: 2 other layers." });
  assert.equal(verdictOf(asked, [4]).text, "Not these: 4. Layer 4: its level is 1. Missing: 2, 3. They agree.");
  const many = readQuestion(
    question({ clicks: { ...clicks.clicks, wanted: Array.from({ length: 1200 }, (_, i) => i + 10) } }),
  );
  assert.equal(verdictOf(many, []).text, "Missing: 10, 11, 12, 13, 14, 15 ... (1,200 in all). They agree.");
});

test("a malformed question shows its error; a good one is asked afterwards", async () => {
  const { el, model } = open(question(choices));
  await model.put({ question: "{" });
  assert.match(el.textContent, /Cannot show this question.*not JSON/);
  assert.equal(el.button("Check").disabled, true);
  await model.put({ question: JSON.stringify(question({ ...number, novelty: 1 })) });
  assert.match(el.textContent, /Layers/);
  assert.throws(() => readQuestion("{}"), /no answers/);
  assert.throws(() => readQuestion(question({ ...number, version: 9 })), /version 9/);
});

test("nothing of a question becomes markup, and the theme follows the host", async () => {
  const { el, model } = open(question({ text: "<b>bold</b>", ...choices }), { options: { theme: "dark" } });
  assert.match(el.textContent, /<b>bold<\/b>/);
  const [root] = el.of("ceq-root");
  assert.equal(root.getAttribute("data-theme"), "dark");
  await model.put({ options: { theme: "light" } });
  assert.equal(root.getAttribute("data-theme"), "light");
});

test("radios of questions loaded as separate modules are separate groups", async () => {
  const names = [];
  for (const copy of ["a", "b"]) {
    const module = await import(`../../widgets/explorer_widgets/static/question.js?${copy}`);
    const document = newDocument();
    const el = document.createElement("div");
    module.default.render({ model: newModel({ question: JSON.stringify(question(choices)), selection: [] }), el });
    names.push(el.all((one) => one.getAttribute?.("type") === "radio")[0].getAttribute("name"));
  }
  assert.notEqual(names[0], names[1]);
});
