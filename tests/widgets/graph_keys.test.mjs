import assert from "node:assert/strict";
import { test } from "node:test";

import { describeHull } from "../../widgets/js/picture/words.js";
import { open } from "./graph.mjs";
import { fused, picture, places, step } from "./samples.mjs";

test("a click selects, a click with Shift adds, Escape clears, and Python is notified", () => {
  const { box, press, model, close, root } = open();
  box("sum").dispatch("click");
  assert.deepEqual(model.get("selection"), ["sum"]);
  assert.equal(box("sum").getAttribute("aria-selected"), "true");
  box("product").dispatch("click", { shiftKey: true });
  assert.deepEqual(model.get("selection"), ["sum", "product"]);
  assert.match(root.of("ce-side")[0].textContent, /2 boxes selected/);
  press("Escape", box("sum"));
  assert.deepEqual(model.get("selection"), []);
  close();
});

test("a key whose section the details do not have says so, and a section is opened", async () => {
  const { box, press, model, close, root } = open();
  const caption = () => root.of("ce-caption")[0].textContent;
  press("h");
  assert.equal(caption(), "Select a layer first.");
  box("sum").dispatch("click");
  press("w", box("sum"));
  assert.equal(caption(), "The details of what is selected do not say that.");
  const lines = ["No match contains this layer, and no near miss began or stopped at it."];
  const sections = [{ heading: "Why not", name: "why-not", rows: [], lines }];
  await model.put({ details: JSON.stringify({ version: 1, id: "sum", title: "Sum #3", sections }) });
  press("w", box("sum"));
  assert.match(root.of("ce-side")[0].textContent, /No match contains this layer/);
  close();
});

test("with `many`, a click toggles a box, and one beside the boxes does nothing", () => {
  const { box, model, root, close } = open({ options: { many: true } });
  box("sum").dispatch("click");
  box("product").dispatch("click");
  assert.deepEqual(model.get("selection"), ["sum", "product"]);
  box("sum").dispatch("click");
  assert.deepEqual(model.get("selection"), ["product"]);
  root.of("ce-view")[0].dispatch("click", { clientX: 1, clientY: 1 });
  assert.deepEqual(model.get("selection"), ["product"]);
  close();
});

test("a selection that Python sets is shown and not sent back", async () => {
  const { model, box, close } = open();
  const sent = model.sent.length;
  await model.put({ selection: ["product"] });
  assert.equal(box("product").getAttribute("aria-selected"), "true");
  assert.equal(model.sent.length, sent);
  close();
});

test("a selection kept as a JSON string stays a JSON string", () => {
  const { box, model, close } = open({ selection: "[]" });
  box("sum").dispatch("click");
  assert.equal(model.get("selection"), '["sum"]');
  close();
});

test("Left and Right go to steps that change something, with Shift to any step", () => {
  const { press, model, root, close } = open();
  press("ArrowRight");
  assert.equal(model.get("step"), 2);
  press("ArrowLeft", root, { shiftKey: true });
  assert.equal(model.get("step"), 1);
  press("Home");
  assert.equal(model.get("step"), 0);
  press("End");
  assert.equal(model.get("step"), 2);
  const [frame] = root.of("ce-frame").filter((one) => one.getAttribute("aria-current") === "step");
  assert.equal(frame.childNodes[1].textContent, "Step 2 of 2: fuse. 3 calls");
  assert.equal(root.button("Next step").disabled, true);
  close();
});

test("keys that the view uses do not reach the host, other keys do", () => {
  const { press, root, close } = open();
  assert.equal(root.getAttribute("data-lm-suppress-shortcuts"), "true");
  assert.equal(press("ArrowRight").stopped, true);
  assert.equal(press("x").stopped, false);
  assert.equal(press("d", root, { ctrlKey: true }).stopped, false);
  close();
});

test("letter keys can be turned off; keys with names stay", () => {
  const { press, model, close } = open({ options: { letter_keys: false } });
  press("d");
  assert.deepEqual(model.get("view"), {});
  press("ArrowRight");
  assert.equal(model.get("step"), 2);
  close();
});

test("in a search field only Escape is handled", () => {
  const { root, press, model, close } = open();
  const search = root.all((element) => element.getAttribute("type") === "search")[0];
  search.value = "prod";
  search.dispatch("input");
  assert.equal(root.of("ce-found").length, 1);
  assert.equal(root.of("ce-count")[0].textContent, "1 found");
  press("d", search);
  assert.deepEqual(model.get("view"), {});
  press("Enter", search);
  assert.deepEqual(model.get("selection"), ["product"]);
  press("Escape", search);
  assert.equal(root.of("ce-found").length, 0);
  close();
});

test("one box is in the tab order; arrows and commas move the focus, Enter selects", () => {
  const { box, press, boxes, document, model, close } = open();
  assert.deepEqual(
    boxes()
      .filter((item) => item.getAttribute("tabindex") === "0")
      .map((item) => item.getAttribute("data-id")),
    ["input"],
  );
  box("input").focus();
  press("ArrowUp", box("input"));
  assert.equal(document.activeElement, box("product"));
  press(",", box("product"));
  assert.equal(document.activeElement, box("sum"));
  assert.equal(box("sum").getAttribute("tabindex"), "0");
  assert.equal(box("input").getAttribute("tabindex"), "-1");
  press("Enter", box("sum"));
  assert.deepEqual(model.get("selection"), ["sum"]);
  close();
});

test("the tab stop and the selection stay when the options or the theme change", async () => {
  const { box, boxes, model, close } = open();
  box("sum").dispatch("click");
  for (const options of [{ letter_keys: false }, { theme: "dark" }]) {
    await model.put({ options });
    const stops = boxes().filter((item) => item.getAttribute("tabindex") === "0");
    assert.deepEqual(stops, [box("sum")]);
    assert.match(box("sum").getAttribute("class"), /ce-selected/);
  }
  close();
});

test("the focus stays in the graph when the step changes", async () => {
  const { box, model, document, close } = open({ options: { animate: false } });
  box("input").focus();
  await model.put({ step: 2, picture: JSON.stringify(fused()), coordinates: places(2) });
  assert.equal(document.activeElement, box("input"));
  close();
});

test("brackets go through matches: the view's hull and the selection follow", () => {
  const { press, model, root, close } = open();
  press("]");
  assert.equal(model.get("view").hull, "m0");
  assert.deepEqual(model.get("selection"), ["sum", "product"]);
  assert.match(root.of("ce-pager")[0].textContent, /1 of 1: Candecomp, match\. In the optimizer/);
  close();
});

test("the text of a match names its kind once", () => {
  const say = (kind, label, reason) => describeHull({ id: "h0", kind, boxes: [], label, reason });
  assert.equal(
    say("lost", "Candecomp", "lost to SumCollapse (order: the first wins)"),
    "Candecomp, lost to SumCollapse (order: the first wins)",
  );
  assert.equal(
    say("winner", "SumCollapse", "won against Candecomp (order)"),
    "SumCollapse, won against Candecomp (order)",
  );
  assert.equal(
    say("lost", "Candecomp: 2 matches", "for example: lost to SumCollapse"),
    "Candecomp: 2 matches. For example: lost to SumCollapse",
  );
  assert.equal(
    say("near-miss", "SumCollapse: 492 near misses", "stopped at its 2nd layer"),
    "SumCollapse: 492 near misses. Stopped at its 2nd layer",
  );
  assert.equal(say("match", "Candecomp: 4 matches", ""), "Candecomp: 4 matches");
  assert.equal(say("match", "Candecomp", ""), "Candecomp, match");
  assert.equal(say("lost", "", ""), "h0, lost");
});

test("the minimap makes room for the buttons in a low stage", async () => {
  const { root, model, close } = open();
  const [map] = root.of("ce-map");
  await model.put({ view: { zoom: { k: 9, x: 200, y: 150 } } });
  assert.equal(map.hidden, false);
  for (const pane of root.of("ce-view")) pane.clientHeight = 299;
  await model.put({ view: { zoom: { k: 10, x: 200, y: 150 } } });
  assert.equal(map.hidden, true);
  close();
});

test("the mode buttons and the key d set the view, and preserve other keys", () => {
  const { root, press, model, close } = open({ view: { mode: "diff", strange: 1 } });
  root.button("Before").dispatch("click");
  assert.deepEqual(model.get("view"), { mode: "before", strange: 1 });
  press("d");
  assert.equal(model.get("view").mode, "diff");
  close();
});

test("side by side draws two pictures and selects in both", async () => {
  const { model, root, close } = open();
  const both = { ...picture({ mode: "side" }), other: fused() };
  await model.put({ view: { mode: "side" }, picture: JSON.stringify(both), coordinates: places(5) });
  assert.equal(root.of("ce-view").length, 2);
  await model.put({ selection: ["input"] });
  assert.equal(root.of("ce-selected").length, 2);
  close();
});

test("the last change is the end unless any step is asked for", () => {
  const steps = [true, true, false, false].map((changed, index) => step(index, { changed }));
  const { press, model, close } = open({ steps: JSON.stringify(steps) });
  press("End");
  assert.equal(model.get("step"), 1);
  press("ArrowRight");
  assert.equal(model.get("step"), 1);
  press("End");
  assert.equal(model.get("step"), 3, "asked for again, the very last one");
  press("ArrowLeft");
  assert.equal(model.get("step"), 1);
  press("ArrowRight", undefined, { shiftKey: true });
  assert.equal(model.get("step"), 2);
  close();
});

test("the checkbox of the stepper and the host agree whether all steps are shown", async () => {
  const { root, model, close } = open();
  root.button("Details").dispatch("click");
  const [check] = root.all((element) => element.getAttribute("type") === "checkbox");
  check.checked = false;
  check.dispatch("change");
  assert.equal(model.get("view").any_step, true);
  await model.put({ view: { any_step: false } });
  assert.equal(check.checked, true);
  close();
});
