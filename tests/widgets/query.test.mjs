import assert from "node:assert/strict";
import { test } from "node:test";

import view from "../../widgets/js/query.js";
import { countWords, erase, paint, valueAt } from "../../widgets/js/query/evidence.js";
import { readQuery } from "../../widgets/js/query/reading.js";
import { newDocument, newModel } from "./dom.mjs";

const query = (more = {}) => ({
  version: 1,
  image: [1, 2, 3],
  most: 4,
  step: 1,
  examples: [{ label: "7", x: [4, 4, 4, 0, 0, 4] }],
  x: [0, 0, 0, 0, 0, 0],
  observed: [0, 0, 0, 0, 0, 0],
  n: 0,
  answers: [],
  note: "",
  chosen: 0,
  ...more,
});

function open(asked) {
  const document = newDocument();
  const el = document.createElement("div");
  const model = newModel({ query: asked ? JSON.stringify(asked) : "", evidence: {}, options: {} });
  const close = view.render({ model, el });
  const [pad] = el.of("ceg-pad");
  const press = (key) => pad.dispatch("keydown", { key, preventDefault() {}, stopPropagation() {} });
  return { el, model, close, pad, press, evidence: () => model.get("evidence") };
}

test("all channels of a pixel are observed together, and erased together", () => {
  const shape = [2, 1, 2];
  const evidence = { x: [0, 0, 0, 0], observed: [false, false, false, false] };
  paint(evidence, shape, 1, 0, 3);
  assert.deepEqual(evidence, { x: [0, 3, 0, 3], observed: [false, true, false, true] });
  assert.equal(valueAt(evidence, shape, 1, 0), 3);
  assert.equal(valueAt(evidence, shape, 0, 0), null);
  assert.equal(countWords(evidence, shape), "1 of 2 pixels observed, the rest hatched");
  paint(evidence, shape, 2, 0, 3);
  assert.deepEqual(evidence.x, [0, 3, 0, 3], "outside of the image");
  assert.deepEqual(erase(evidence, shape, { left: 0.5 }).observed, [false, false, false, false]);
});

test("the keyboard paints and erases pixels, and Python receives what is observed", () => {
  const { press, evidence, el, close } = open(query());
  press("ArrowLeft");
  press(" ");
  assert.deepEqual(evidence(), { x: [0, 0, 0, 4, 0, 0], observed: [0, 0, 0, 1, 0, 0], n: 1 });
  press("ArrowUp");
  press("ArrowUp");
  press(" ");
  assert.deepEqual(evidence().observed, [1, 0, 0, 1, 0, 0]);
  assert.match(el.textContent, /row 1, column 1: 4/);
  press("Delete");
  assert.deepEqual(evidence(), { x: [0, 0, 0, 4, 0, 0], observed: [0, 0, 0, 1, 0, 0], n: 3 });
  close();
});

test("a drag paints every pixel on its way, with the value of the brush", () => {
  const { pad, el, evidence } = open(query());
  pad.getBoundingClientRect = () => ({ left: 0, top: 0, width: 30, height: 20 });
  const [slider] = el.all((one) => one.getAttribute?.("type") === "range");
  slider.value = "2";
  pad.dispatch("pointerdown", { clientX: 1, clientY: 1, pointerId: 1 });
  pad.dispatch("pointermove", { clientX: 29, clientY: 1 });
  assert.deepEqual(evidence(), {}, "told at the end of the stroke");
  pad.dispatch("pointerup", {});
  assert.deepEqual(evidence().x, [2, 2, 2, 0, 0, 0]);
  assert.deepEqual(evidence().observed, [1, 1, 1, 0, 0, 0]);
});

test("an example is observed whole, halves are erased, and answers have names", () => {
  const answers = [{ label: "sample 0", x: [4, 4, 4, 4, 4, 4] }];
  const { el, evidence } = open(query({ answers, note: "1 sample." }));
  assert.match(el.of("ceg-answers")[0].textContent, /1 sample\..*sample 0/s);
  el.of("ceg-example")[0].dispatch("click");
  assert.deepEqual(evidence().observed, [1, 1, 1, 1, 1, 1]);
  el.button("Erase lower half").dispatch("click");
  assert.deepEqual(evidence().observed, [1, 1, 1, 0, 0, 0]);
  el.button("Erase all").dispatch("click");
  assert.deepEqual(evidence().observed, [0, 0, 0, 0, 0, 0]);
});

test("the chosen answer is marked, and a click chooses another one", () => {
  const answers = [0, 1].map((at) => ({ label: `sample ${at}`, x: [4, 4, 4, 4, 4, 4] }));
  const { el, model } = open(query({ answers, chosen: 1 }));
  assert.deepEqual(
    el.of("ceg-answer").map((one) => one.getAttribute("aria-pressed")),
    ["false", "true"],
  );
  el.of("ceg-answer")[0].dispatch("click");
  assert.equal(model.get("chosen"), 0);
});

test("an answer to an earlier stroke does not undo a later one", async () => {
  const { press, model, evidence } = open(query());
  press(" ");
  press("ArrowRight");
  press(" ");
  await model.put({ query: JSON.stringify(query({ n: 1, x: [0, 0, 0, 0, 4, 0], observed: [0, 0, 0, 0, 1, 0] })) });
  press("ArrowUp");
  press(" ");
  assert.deepEqual(evidence().observed, [0, 0, 1, 0, 1, 1]);
  await model.put({ query: JSON.stringify(query({ n: 3 })) });
  press(" ");
  assert.deepEqual(evidence().observed, [0, 0, 1, 0, 0, 0], "the latest answer is shown");
});

test("without an image there is nothing to paint; damaged data is said", () => {
  assert.equal(readQuery(""), null);
  assert.equal(readQuery(JSON.stringify(query({ image: [] }))), null);
  const { el } = open(null);
  assert.equal(el.of("ceg-root")[0].hidden ?? el.of("ceg-root")[0].getAttribute("hidden"), true);
  const damaged = newModel({ query: "{", evidence: {}, options: {} });
  const other = newDocument().createElement("div");
  view.render({ model: damaged, el: other });
  assert.match(other.textContent, /Cannot draw this query/);
});
