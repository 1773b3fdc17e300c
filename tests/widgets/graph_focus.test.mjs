import assert from "node:assert/strict";
import { test } from "node:test";

import { open } from "./graph.mjs";
import { fused, node, picture, places } from "./samples.mjs";

const json = (drawn) => JSON.stringify(drawn);
const still = { options: { animate: false } };
/** The fuse after its removed boxes are gone, and the traits that show it. */
const step2 = { step: 2, picture: json(fused()), coordinates: places(2) };

test("the focus goes to the box that replaces its box, and back", async () => {
  const { box, model, document, close } = open(still);
  box("product").focus();
  await model.put(step2);
  assert.equal(document.activeElement, box("cpt"));
  await model.put({ step: 0, picture: json(picture()), coordinates: places(3) });
  assert.equal(document.activeElement, box("product"));
  close();
});

test("the focus follows the selection, whether it or the picture arrives first", async () => {
  const moved = fused();
  moved.nodes.push(node("other", { level: 2 }));
  const shown = { step: 2, picture: json(moved), coordinates: places(3) };
  const selected = { selection: ["other"] };
  for (const messages of [[shown, selected], [selected, shown], [{ ...shown, ...selected }]]) {
    const { box, model, document, close } = open(still);
    box("sum").focus();
    box("sum").dispatch("click");
    for (const message of messages) await model.put(message);
    assert.equal(document.activeElement, box("other"));
    assert.equal(box("other").getAttribute("tabindex"), "0");
    close();
  }
});

test("a box that stays in the picture keeps the focus if it was not selected", async () => {
  const { box, model, document, close } = open(still);
  box("input").focus();
  await model.put({ ...step2, selection: ["cpt"] });
  assert.equal(document.activeElement, box("input"));
  close();
});

test("the focus goes to the first box if nothing replaces its box, else to the view", async () => {
  const { box, root, model, document, close } = open(still);
  box("sum").focus();
  const others = picture({ step: 2, nodes: [node("a"), node("b")], edges: [], hulls: [] });
  await model.put({ step: 2, picture: json(others), coordinates: places(2) });
  assert.equal(document.activeElement, box("a"));
  await model.put({ picture: json({ ...others, nodes: [], message: "Nothing here." }), coordinates: places(0) });
  assert.equal(document.activeElement, root);
  close();
});

test("the focus survives another theme, and side by side it stays in its picture", async () => {
  const { box, root, model, document, close } = open(still);
  box("sum").focus();
  await model.put({ options: { animate: false, theme: "dark" } });
  assert.equal(document.activeElement, box("sum"));
  const side = { ...picture({ mode: "side" }), other: picture() };
  await model.put({ view: { mode: "side" }, picture: json(side), coordinates: places(6) });
  const right = () => root.of("ce-boxes")[1].childNodes.find((item) => item.getAttribute("data-id") === "product");
  right().focus();
  await model.put({ picture: json({ ...side, caption: "again" }), coordinates: places(6) });
  assert.equal(document.activeElement, right());
  close();
});

test("on a canvas the focus goes to the heir too", async () => {
  const { root, model, document, close } = open({ options: { animate: false, svg_limit: 1 } });
  const stage = root.of("ce-stage")[0];
  stage.focus();
  const option = () => root.of("ce-stage")[0].childNodes[1].getAttribute("data-id");
  stage.dispatch("keydown", { key: "ArrowUp" });
  assert.equal(option(), "product");
  await model.put(step2);
  assert.equal(document.activeElement, root.of("ce-stage")[0]);
  assert.equal(option(), "cpt");
  close();
});

test("a button that gets disabled gives the focus to the frame of the step", () => {
  const { root, document, model, close } = open();
  const next = root.button("Next step");
  next.focus();
  next.dispatch("click");
  assert.equal(model.get("step"), 2);
  assert.equal(next.disabled, true);
  assert.equal(document.activeElement.getAttribute("data-frame"), "2");
  close();
});

test("the focus stays in the details while they are written again", async () => {
  const { box, root, document, model, close } = open();
  box("sum").dispatch("click");
  const section = (heading) => root.of("ce-side")[0].all((part) => part.getAttribute("data-heading") === heading)[0];
  const details = (heading) =>
    json({ id: "sum", title: "Sum", sections: [{ heading, rows: [["a", "b"]], lines: [] }] });
  await model.put({ details: details("Why not") });
  section("Why not").firstChild.focus();
  await model.put({ details: details("Why not") });
  assert.equal(document.activeElement, section("Why not").firstChild);
  await model.put({ details: details("Lineage") });
  assert.equal(document.activeElement, root.of("ce-side")[0]);
  close();
});

test("the main view of a page has the keys of the page, except those of its fields", () => {
  const { document, model, press, close } = open({ options: { main: true } });
  const put = (tag, attributes) => {
    const element = document.body.appendChild(document.createElement(tag));
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  press("ArrowRight", put("input", { type: "text" }));
  press("ArrowRight", put("div", { role: "listbox" }).appendChild(document.createElement("li")));
  document.body.inert = true;
  press("ArrowRight", document.body);
  assert.equal(model.get("step"), 0);
  document.body.inert = false;
  press("ArrowRight", document.body);
  assert.equal(model.get("step"), 2);
  press(" ", put("button", {}));
  press("Home", put("input", { type: "checkbox" }));
  assert.equal(model.get("step"), 0);
  close();
  press("End", document.body);
  assert.equal(model.get("step"), 0);
});

test("elsewhere the page keeps its keys", () => {
  const { document, model, press, close } = open();
  press("ArrowRight", document.body);
  assert.equal(model.get("step"), 0);
  close();
});
