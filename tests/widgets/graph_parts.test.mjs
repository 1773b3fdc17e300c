import assert from "node:assert/strict";
import { test } from "node:test";

import { stopTime } from "./dom.mjs";
import { open } from "./graph.mjs";
import { fused, picture, places, step } from "./samples.mjs";

test("during a question only the picture is shown, and no key steps", () => {
  const details = JSON.stringify({
    id: "sum",
    title: "Sum %7",
    sections: [{ heading: "Lineage", rows: [["folded into", "9"]], lines: [] }],
  });
  const message = JSON.stringify(picture({ message: "No pattern matched." }));
  const options = { asking: true, stepper: false, modes: ["diff"] };
  const { model, root, press, close } = open({ picture: message, details, selection: ["sum"], options });
  assert.doesNotMatch(root.textContent, /folded into|created, 2 removed/);
  assert.equal(root.of("ce-strip")[0].hidden, true);
  assert.match(root.textContent, /3 layers\./);
  for (const name of ["ArrowRight", "End", "d"]) press(name);
  assert.equal(model.get("step"), 0);
  assert.notEqual(model.get("view").mode, "after");
  close();
});

test("once the server has stopped, no button or key leads to another picture", async () => {
  const { document, model, root, press, close } = open({ options: { main: true } });
  press("ArrowRight");
  document.dispatchEvent(new Event("circuit-explorer-stopped"));
  const shown = () => root.all((element) => element.getAttribute("aria-current") === "step")[0];
  assert.equal(shown().getAttribute("data-frame"), "0"); // the picture of step 2 never came
  for (const name of ["First", "Previous", "Next", "Last", "Play"])
    assert.equal(root.button(name).disabled, true, name);
  shown().dispatch("click");
  for (const key of ["End", "d"]) press(key);
  assert.equal(shown().getAttribute("data-frame"), "0");
  assert.deepEqual(model.get("view"), {});
  assert.equal(root.of("ce-wait")[0].hidden, true);
  close();
});

test("the table has the same data, and says how many rows are hidden", () => {
  const rows = Array.from({ length: 1200 }, (_, index) => [`${index}`, ""]);
  const { root, close } = open({ picture: JSON.stringify(picture({ table: { columns: ["node", "change"], rows } })) });
  root.button("Table").dispatch("click");
  const cells = () => root.of("ce-table")[0].all((element) => element.tagName === "tr").length - 1;
  assert.equal(cells(), 1000);
  root.button("Show all 1,200 rows").dispatch("click");
  assert.equal(cells(), 1200);
  close();
});

test("the inspector shows known facts at once and Python's details when they arrive", async () => {
  const { root, box, model, close } = open();
  box("sum").dispatch("click");
  assert.match(root.of("ce-side")[0].textContent, /Kind.*sum.*Matches.*Candecomp/);
  await model.put({
    details: JSON.stringify({
      id: "sum",
      title: "Sum %7",
      sections: [{ heading: "Lineage", name: "lineage", rows: [["made by", "compile"]], lines: ["survived"] }],
    }),
  });
  assert.match(root.of("ce-side")[0].textContent, /Sum %7.*Lineage.*made by.*compile.*survived/);
  assert.ok(root.button("Lineage"));
  close();
});

test("message, buttons, error of the step and failed check are shown as text", async () => {
  const { root, model, close, last } = open({
    picture: JSON.stringify(
      picture({ message: "No pattern matched.", actions: [{ name: "show-near-misses", label: "Show them" }] }),
    ),
    steps: JSON.stringify([
      step(0, { ok: false, verdict: "values differ" }),
      step(1, { ok: true, verdict: "same values", error: "rule X raised" }),
    ]),
  });
  assert.match(root.of("ce-strip")[0].textContent, /output of this step differs.*\n.*No pattern matched/);
  assert.equal(root.of("ce-ok")[0].textContent, "✕ values differ");
  root.button("Show them").dispatch("click");
  assert.deepEqual(last(), { request: { name: "show-near-misses", n: 1 } });
  await model.put({ step: 1 });
  assert.match(root.of("ce-strip")[0].textContent, /rule X raised/);
  assert.equal(root.of("ce-ok")[0].textContent, "✓ same values");
  close();
});

test("an action is next to the message or the note, as the picture says", async () => {
  const actions = [
    { name: "run-more", label: "Run more", beside: "message" },
    { name: "show-all", label: "Show all anyway (slow)", beside: "note" },
  ];
  const { root, model, close, last } = open({
    picture: JSON.stringify(picture({ message: "Stopped at the limit.", actions })),
  });
  const labels = (part) =>
    root
      .of(part)[0]
      .all((element) => element.tagName === "button")
      .map((button) => button.textContent)
      .filter(Boolean);
  assert.deepEqual(labels("ce-strip"), ["Run more"]);
  assert.deepEqual(labels("ce-foot"), ["Show all anyway (slow)"]);
  root.button("Show all anyway (slow)").dispatch("click");
  assert.deepEqual(last(), { request: { name: "show-all", n: 1 } });
  await model.put({
    options: { ...model.get("options"), actions: false },
    picture: JSON.stringify(picture({ message: "Stopped.", actions })),
  });
  assert.deepEqual([labels("ce-strip"), labels("ce-foot")], [[], []]);
  close();
});

test("a slow answer is announced and can be cancelled", async (t) => {
  const after = stopTime(t);
  const { root, press, model, close } = open();
  press("ArrowRight");
  assert.equal(root.of("ce-progress")[0].hidden, true);
  await after(350);
  assert.equal(root.of("ce-progress")[0].hidden, false);
  await after(1800);
  assert.match(root.of("ce-wait")[0].textContent, /Still working/);
  root.button("Cancel").dispatch("click");
  assert.equal(model.get("step"), 0);
  assert.equal(root.of("ce-wait")[0].hidden, true);
  close();
});

test("play continues until the last step", async (t) => {
  const after = stopTime(t);
  const { root, model, close } = open({ options: { animate: false } });
  await after(20);
  assert.equal(model.get("step"), 0);
  const play = root.button("Play");
  play.dispatch("click");
  assert.equal(play.getAttribute("aria-pressed"), "true");
  await after(800);
  assert.equal(model.get("step"), 2);
  assert.equal(play.getAttribute("aria-pressed"), "false");
  close();
});

test("the live region says what changed, politely", async () => {
  const { root, model, close } = open({ options: { animate: false } });
  const live = root.all((element) => element.getAttribute("aria-live") === "polite")[0];
  await model.put({ step: 2, picture: JSON.stringify(fused()), coordinates: places(2) });
  assert.match(live.textContent, /^2 layers became 1/);
  close();
});

test("the theme follows the option, or else the page", async () => {
  const { root, model, document, close } = open({ options: { theme: "dark" } });
  assert.equal(root.getAttribute("data-theme"), "dark");
  document.body.setAttribute("data-jp-theme-light", "false");
  await model.put({ options: {} });
  assert.equal(root.getAttribute("data-theme"), "dark");
  await model.put({ options: { theme: "light" } });
  assert.equal(root.getAttribute("data-theme"), "light");
  close();
});

test("a search filters the table, and says so if no box has the words", () => {
  const { root, close } = open();
  root.button("Table").dispatch("click");
  const ids = () =>
    root
      .of("ce-table")[0]
      .all((cell) => cell.tagName === "tr")
      .map((row) => row.childNodes[0].textContent);
  const all = ids().length;
  const search = root.all((element) => element.getAttribute("type") === "search")[0];
  search.value = "sum";
  search.dispatch("input");
  assert.ok(ids().length < all, "fewer rows");
  assert.ok(
    ids()
      .slice(1)
      .every((id) => id.includes("sum")),
    `${ids()}`,
  );
  search.value = "nothing like it";
  search.dispatch("input");
  assert.match(root.of("ce-count")[0].textContent, /No box of this step contains “nothing like it”\./);
  search.value = "";
  search.dispatch("input");
  assert.equal(ids().length, all);
  close();
});

test("the note at the pointer names the line under it: ends, read, copied bytes", async () => {
  const { model, root, close } = open({ options: { animate: false } });
  await model.put({ step: 2, picture: JSON.stringify(fused()), coordinates: places(2) });
  await model.put({ view: { zoom: { k: 1, x: 200, y: 200 } } }); // the middle of the line is that of the pane
  const pane = root.of("ce-view")[0];
  const [x, y] = [pane.clientWidth / 2, pane.clientHeight / 2];
  const hint = root.of("ce-hint")[0];
  pane.dispatch("pointermove", { clientX: x, clientY: y });
  const shown = [hint.hidden, hint.textContent];
  pane.dispatch("pointermove", { clientX: x + 60, clientY: y });
  assert.deepEqual([...shown, hint.hidden], [false, "cpt reads inputgather 4 KiB copied per exampleadded", true]);
  close();
});

/** Where the picture is on the stage. */
const cameraOf = (root) => root.of("ce-boxes")[0].parentNode.getAttribute("transform");
/** Call back with an event in the middle of a pane, where the box of `fused` that is called is shown. */
const inTheMiddle = (pane) => ({ clientX: pane.clientWidth / 2, clientY: pane.clientHeight / 2 });

test("the wheel zooms in the main view of a page, elsewhere only with the focus", () => {
  for (const main of [true, false]) {
    const { root, close } = open({ options: { animate: false, main } });
    const pane = root.of("ce-view")[0];
    const before = cameraOf(root);
    pane.dispatch("wheel", { deltaY: -300, ...inTheMiddle(pane) });
    assert.equal(cameraOf(root) !== before, main);
    close();
  }
});

test("a double click opens several layers as a plate, or zooms to one and back", async () => {
  const { model, root, close } = open({ options: { animate: false } });
  const pane = root.of("ce-view")[0];
  await model.put({ view: { zoom: { k: 1, x: 200, y: 250 } } }); // the middle of the pane is on 4 inputs
  pane.dispatch("dblclick", inTheMiddle(pane));
  assert.equal(model.get("view").group_by, "plates");
  assert.deepEqual(model.get("selection"), ["input"]);
  await model.put({ view: { zoom: { k: 1, x: 200, y: 150 } } }); // on a single product
  const before = cameraOf(root);
  pane.dispatch("dblclick", inTheMiddle(pane));
  assert.deepEqual(model.get("selection"), ["product"]);
  assert.notEqual(cameraOf(root), before);
  close();
});
