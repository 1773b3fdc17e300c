import assert from "node:assert/strict";
import { test } from "node:test";

import view from "../../widgets/js/graph.js";
import { settled, stopTime } from "./dom.mjs";
import { open } from "./graph.mjs";
import { fused, node, picture, places } from "./samples.mjs";

test("draws a box for each node, an arrow for each edge, a hull for each match", () => {
  const { root, boxes, close } = open();
  assert.deepEqual(
    boxes().map((box) => box.getAttribute("data-id")),
    ["input", "product", "sum"],
  );
  assert.equal(root.of("ce-edge").length, 2);
  assert.equal(root.of("ce-hull").length, 1);
  assert.match(root.of("ce-tag")[0].textContent, /M.*Candecomp/);
  assert.equal(root.of("ce-caption")[0].textContent, "1 layer created, 2 removed");
  assert.equal(root.of("ce-note")[0].textContent, "3 layers.");
  close();
});

test("each change has a sign in addition to its colour", () => {
  const { box, close } = open();
  assert.deepEqual(
    box("sum")
      .of("ce-sign")
      .map((sign) => sign.textContent),
    ["−", "M"],
  );
  assert.equal(box("sum").of("ce-hatch-removed").length, 1);
  assert.equal(box("sum").of("ce-face")[0].getAttribute("stroke-dasharray"), "6 4");
  assert.deepEqual(
    box("sum")
      .of("ce-badge")
      .map((badge) => badge.textContent),
    ["?"],
  );
  assert.equal(box("input").of("ce-pill")[0].textContent, "4");
  close();
});

test("a folded node looks like a stack and says how many slices", async () => {
  const { model, box, root, close } = open({ options: { animate: false } });
  await model.put({ step: 2, picture: JSON.stringify(fused()), coordinates: places(2) });
  assert.equal(box("cpt").of("ce-card").length, 2);
  assert.equal(box("cpt").of("ce-pill")[0].textContent, "×8");
  assert.match(box("cpt").of("ce-name")[0].textContent, /8 slices.*added/);
  assert.equal(root.of("ce-edge-label")[0].textContent, "gather 4 KiB");
  close();
});

test("boxes of one node show its number on request", () => {
  const shown = JSON.stringify(
    picture({
      nodes: [
        node("input", { ids: [3, 4], count: 2 }),
        node("product", { ids: [7] }),
        node("sum", { ids: [8], title: "A sum with quite a long name" }),
      ],
    }),
  );
  const { box, close } = open({ picture: shown, options: { numbers: true } });
  const words = (id) => box(id).of("ce-title")[0].textContent;
  assert.equal(words("input"), "input");
  assert.equal(words("product"), "product 7");
  assert.match(words("sum"), /^A sum.* 8$/);
  assert.equal(box("product").of("ce-big-number")[0].textContent, "7");
  close();
});

test("a picture whose boxes are far from its corner is centred on them", () => {
  const nodes = [node("input"), node("product"), node("sum")];
  const far = new Float32Array(
    [
      [7100, 60],
      [7100, 130],
      [7100, 200],
    ].flatMap(([x, y]) => [x, y, 120, 40]),
  );
  const shown = JSON.stringify(picture({ nodes, width: 7200, height: 260 }));
  const { root, close } = open({ picture: shown, coordinates: far });
  assert.ok(Number(root.getAttribute("data-zoom")) > 0.9, root.getAttribute("data-zoom"));
  close();
});

test("a click next to the elements is resolved by its position", () => {
  const { root, model, close } = open();
  const zoom = Number(root.getAttribute("data-zoom"));
  const viewport = root.of("ce-view")[0];
  viewport.dispatch("click", { clientX: 450, clientY: 200 + (250 - 150) * zoom });
  assert.deepEqual(model.get("selection"), ["input"]);
  viewport.dispatch("click", { clientX: 5, clientY: 395 });
  assert.deepEqual(model.get("selection"), []);
  close();
});

test("survivors move, new boxes grow out of their origins, within 400 ms", async (t) => {
  const after = stopTime(t);
  const { model, box, root, close } = open();
  await model.put({ step: 2, picture: JSON.stringify(fused()), coordinates: places(2, 200) });
  assert.equal(root.getAttribute("data-moving"), "true");
  assert.match(box("cpt").getAttribute("transform"), /^translate\(200 100\) scale\(0\.7\)$/);
  assert.equal(box("cpt").getAttribute("opacity"), "0");
  await after(400);
  assert.equal(root.getAttribute("data-moving"), "false");
  assert.equal(box("cpt").getAttribute("transform"), "translate(200 50)");
  assert.equal(box("cpt").getAttribute("opacity"), null);
  close();
});

test("nothing moves with reduced motion", async () => {
  globalThis.matchMedia = (query) => ({ matches: query.includes("reduced-motion") });
  const { model, box, close } = open();
  await model.put({ step: 2, picture: JSON.stringify(fused()), coordinates: places(2) });
  assert.equal(box("cpt").getAttribute("transform"), "translate(200 150)");
  close();
  delete globalThis.matchMedia;
});

test("another trace shows all of its picture, wherever the camera was", async () => {
  const { root, model, close } = open({ options: { animate: false } });
  const whole = Number(root.getAttribute("data-zoom"));
  await model.put({ view: { zoom: { k: 4, x: 7900, y: 0 } } });
  assert.equal(Number(root.getAttribute("data-zoom")), 4);
  await model.put({ view: { mode: "diff" } });
  assert.equal(Number(root.getAttribute("data-zoom")), 4, "a view without a camera leaves it");
  await model.put({ view: { zoom: { k: 4, x: 7900, y: 0 } } });
  await model.put({ view: { zoom: null }, picture: `${model.get("picture")} ` });
  assert.ok(Math.abs(Number(root.getAttribute("data-zoom")) - whole) < 1e-3);
  close();
});

test("zoom buttons move the camera, tell the view once at rest, and fit gives it back", async (t) => {
  const after = stopTime(t);
  const { root, model, close } = open();
  const before = Number(root.getAttribute("data-zoom"));
  root.button("Zoom in").dispatch("click");
  assert.ok(Number(root.getAttribute("data-zoom")) > before);
  await after(450);
  assert.ok(model.get("view").zoom.k > before);
  root.button("Fit all").dispatch("click");
  assert.equal(model.get("view").zoom, null);
  assert.ok(Math.abs(Number(root.getAttribute("data-zoom")) - before) < 1e-9);
  close();
});

test("a view that its host hides keeps its size", async () => {
  const { root, model, close } = open();
  const stage = root.of("ce-stage")[0];
  const everything = (element) => [element, ...element.childNodes.flatMap(everything)];
  assert.deepEqual([stage.getAttribute("width"), stage.getAttribute("height")], ["900", "400"]);
  for (const element of everything(root)) Object.assign(element, { clientWidth: 0, clientHeight: 0 });
  await model.put({ options: { theme: "dark" } });
  assert.deepEqual([stage.getAttribute("width"), stage.getAttribute("height")], ["900", "400"]);
  close();
});

test("above the limit a canvas is drawn, with the same keys and one option at a time", async () => {
  const { root, press, model, close } = open({ options: { svg_limit: 2 } });
  assert.equal(root.of("ce-canvas").length, 1);
  const stage = root.of("ce-stage")[0];
  stage.focus();
  press("ArrowUp", stage);
  press("Enter", stage);
  assert.deepEqual(model.get("selection"), ["product"]);
  const option = root.all((element) => element.getAttribute("role") === "option");
  assert.equal(option.length, 1);
  assert.match(option[0].textContent, /^product/);
  await model.put({ options: {} });
  close();
});

test("cleaning up leaves no element and no listener, and late messages do nothing", async (t) => {
  const after = stopTime(t);
  const { el, model, close, document } = open();
  assert.ok(model.listening() >= 8);
  model.put({ picture: JSON.stringify(fused()), coordinates: places(2) });
  close();
  await settled();
  await after(30);
  assert.equal(el.childNodes.length, 0);
  assert.equal(model.listening(), 0);
  assert.equal(document.activeElement, document.body);
});

test("two views of one model do not interfere", async () => {
  const { el, model, document, close } = open();
  const other = document.createElement("div");
  const closeOther = view.render({ model, el: other });
  const ids = [...el.all((item) => item.getAttribute("id")), ...other.all((item) => item.getAttribute("id"))].map(
    (item) => item.getAttribute("id"),
  );
  assert.equal(new Set(ids).size, ids.length);
  closeOther();
  await model.put({ selection: ["sum"] });
  assert.equal(el.of("ce-selected").length, 1);
  close();
});
