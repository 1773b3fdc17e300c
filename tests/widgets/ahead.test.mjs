import assert from "node:assert/strict";
import { test } from "node:test";

import { open } from "./graph.mjs";
import { fused, picture, places, step } from "./samples.mjs";

const LOOK = { mode: "diff", colour_by: "change", group_by: "fold" };
const base64 = ({ buffer, byteOffset, byteLength }) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer, byteOffset, byteLength)));
/** The picture of step 2 as JSON, and what the host sends of it before it is asked for. */
const JSON_2 = JSON.stringify(fused());
const message = (more = {}) => ({
  keep: [2],
  view: LOOK,
  from: [],
  selections: { 2: [] },
  step: 2,
  picture: JSON_2,
  coordinates: base64(places(2)),
  ...more,
});
const answer = (json, count) => ({ picture: json, coordinates: places(count) });

/** A view of step 0 to which the host has sent the picture of step 2; Right goes there. */
async function opened(more = {}) {
  const found = open({ view: LOOK, ahead: {}, ...more });
  await found.model.put({ ahead: message() });
  return found;
}

test("a step to a picture that was sent ahead is drawn at once and only once", async () => {
  const { model, press, box, close } = await opened();
  press("ArrowRight");
  assert.equal(model.get("step"), 2);
  const element = box("cpt");
  assert.ok(element, "drawn before the host has answered");
  await model.put(answer(JSON_2, 2));
  assert.equal(box("cpt"), element, "the same element");
  close();
});

test("the answer of the host is drawn if it is another picture", async () => {
  const { model, press, box, root, close } = await opened();
  press("ArrowRight");
  await model.put(answer(JSON.stringify({ ...fused(), caption: "3 layers became 1" }), 2));
  assert.ok(box("cpt"));
  assert.match(root.textContent, /3 layers became 1/);
  close();
});

test("an answer to an earlier key press does not go back to its step", async () => {
  const { model, press, box, close } = await opened();
  await model.put({
    ahead: { ...message(), keep: [0, 2], step: 0, picture: JSON.stringify(picture()), coordinates: base64(places(3)) },
  });
  press("ArrowRight");
  press("ArrowLeft");
  assert.ok(box("sum"));
  await model.put(answer(JSON_2, 2));
  assert.ok(box("sum"), "still at step 0");
  await model.put(answer(JSON.stringify(picture()), 3));
  assert.ok(box("sum"));
  close();
});

test("a step of the host is drawn also if its picture comes first", async () => {
  const { model, press, box, close } = await opened();
  press("ArrowRight");
  await model.put(answer(JSON.stringify(picture({ step: 1 })), 3));
  assert.ok(box("cpt"));
  await model.put({ step: 1 });
  assert.ok(box("sum"));
  close();
});

test("a picture of another display, or one that the host dropped, is not drawn", async () => {
  for (const more of [{ view: { ...LOOK, mode: "after" } }, { ahead: { keep: [] } }]) {
    const { model, press, box, close } = await opened();
    await model.put(more);
    press("ArrowRight");
    assert.equal(model.get("step"), 2);
    assert.equal(box("cpt"), undefined);
    close();
  }
});

test("selection and focus move with a picture that was sent ahead for this selection", async () => {
  const { model, press, box, root, document, close } = await opened();
  box("sum").dispatch("click");
  await model.put({ ahead: { ...message(), from: ["sum"], selections: { 2: ["cpt"] } } });
  press("ArrowRight");
  assert.equal(box("cpt").getAttribute("aria-selected"), "true");
  assert.equal(document.activeElement, box("cpt"));
  assert.match(root.textContent, /cpt/);
  await model.put({ selection: ["cpt"], ...answer(JSON_2, 2) });
  assert.equal(box("cpt").getAttribute("aria-selected"), "true");
  close();

  const other = await opened();
  other.box("sum").dispatch("click");
  other.press("ArrowRight"); // what follows the selection is not known: it takes the host
  assert.equal(other.box("cpt"), undefined);
  other.close();
});

test("the view tells a host that waits for it that it is there", () => {
  const { model, close } = open({ ready: false });
  assert.deepEqual(model.sent[0], { ready: true });
  close();
  assert.deepEqual(open().model.sent, []);
});

test("t measures if the host offers it; the time line shows the progress with Cancel", async () => {
  const frame = { label: "fold", calls: 3, sentence: "", plates: [{ kind: "sum", at: [0, 0, 50, 50], calls: 3 }] };
  const steps = JSON.stringify([step(0, { frame }), step(1, { frame }), step(2)]);
  const { model, root, press, last, close } = open({ steps, options: { requests: ["timing"] }, progress: {} });
  press("t");
  assert.deepEqual(last(), { request: { name: "timing", n: 1 } });
  const hidden = () => [
    root.button("Time it").getAttribute("aria-disabled") === "true",
    root.of("ce-timing")[0].hidden,
  ];
  assert.deepEqual(hidden(), [false, true]);
  await model.put({ progress: { text: "Timing: fold, level 0", share: 0.25 } });
  assert.deepEqual(hidden(), [true, false]);
  assert.match(root.of("ce-timing")[0].textContent, /Timing: fold, level 0/);
  press("t"); // it is running already
  assert.equal(last().request.n, 1);
  root
    .of("ce-timing")[0]
    .all((element) => element.tagName === "button")[0]
    .dispatch("click");
  assert.deepEqual(last(), { request: { name: "cancel", n: 2 } });
  await model.put({ progress: {} });
  assert.deepEqual(hidden(), [false, true]);
  close();
});

test("a key that the time line has no use for says so in the status line", () => {
  const { root, press, close } = open();
  for (const key of ["z", "r"]) {
    press(key);
    assert.match(root.of("ce-caption")[0].textContent, /^Nothing was measured yet/);
  }
  press("b");
  assert.match(root.of("ce-caption")[0].textContent, /^What layers believe is not known here/);
  close();
});

test("beside a tool of the host, what has no room in the toolbar is in a menu", async () => {
  const { root, model, press, close } = open();
  root.clientWidth = 1040;
  await model.put({ options: { tool: true, animate: false } });
  const menu = root.of("ce-more")[0];
  assert.match(menu.textContent, /Colour by.*Copy SVG.*Table/s);
  press("/");
  assert.equal(menu.open, true);
  await model.put({ options: {} });
  assert.equal(root.of("ce-more").length, 0);
  close();
});
