import assert from "node:assert/strict";
import { test } from "node:test";

import view from "../../widgets/js/graph.js";
import { curve } from "../../widgets/js/picture/curves.js";
import { cover, outline } from "../../widgets/js/picture/outlines.js";
import { readPicture } from "../../widgets/js/picture/reading.js";
import { asDict, asFloats } from "../../widgets/js/shared/reading.js";
import { heat, luminance } from "../../widgets/js/shared/theme.js";
import { settled, stopTime } from "./dom.mjs";
import { open } from "./graph.mjs";
import { edge, fused, node, picture, places, step } from "./samples.mjs";

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

test("a folded node looks like a stack and says how many folds", async () => {
  const { model, box, root, close } = open({ options: { animate: false } });
  await model.put({ step: 2, picture: JSON.stringify(fused()), coordinates: places(2) });
  assert.equal(box("cpt").of("ce-card").length, 2);
  assert.equal(box("cpt").of("ce-pill")[0].textContent, "×8");
  assert.match(box("cpt").of("ce-name")[0].textContent, /8 folds.*added/);
  assert.equal(root.of("ce-edge-label")[0].textContent, "gather 4 KiB");
  close();
});

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
  assert.match(words("sum"), /^A sum.*… 8$/);
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

test("the picture waits for its coordinates, whichever comes first", async () => {
  const { model, boxes, close } = open({ options: { animate: false } });
  await model.put({ picture: JSON.stringify(fused()) });
  assert.equal(boxes().length, 3);
  await model.put({ coordinates: places(2) });
  assert.equal(boxes().length, 2);
  close();
});

test("coordinates that never match are replaced by a layout by level", async (t) => {
  const after = stopTime(t);
  const { boxes, close } = open({ coordinates: new Uint8Array(4) });
  assert.equal(boxes().length, 0);
  await after(450);
  assert.equal(boxes().length, 3);
  close();
});

test("unknown fields, kinds and roles are ignored", () => {
  const strange = picture({ novelty: { deep: [1] } });
  strange.nodes[0] = { ...strange.nodes[0], kind: "quantum", colour: "plaid", change: "vanished" };
  strange.hulls[0].kind = "aura";
  strange.legend.push({ channel: "smell", role: "rose", sign: "r", text: "a rose" }, null);
  const { boxes, root, close } = open({
    picture: JSON.stringify(strange),
    view: { mode: "diff", what: 1 },
    options: { sound: true },
  });
  assert.equal(boxes().length, 3);
  assert.equal(root.of("ce-fatal")[0].hidden, true);
  close();
});

for (const [what, json, words] of [
  ["no JSON", "{oops", /not JSON/],
  ["a list", "[1]", /not an object/],
  ["no nodes", '{"nodes": 3}', /no list of nodes/],
  ["a node without id", '{"nodes": [{}]}', /Node 0 .* no id/],
  ["an id twice", JSON.stringify({ nodes: [{ id: "a" }, { id: "a" }] }), /is not unique/],
  ["a newer version", '{"version": 2, "nodes": []}', /version 2.*knows version 1/],
]) {
  test(`a malformed picture (${what}) shows its error, and a good one afterwards is drawn`, async () => {
    const { root, model, boxes, close } = open({ picture: json, coordinates: places(what === "an id twice" ? 2 : 1) });
    const wrong = root.of("ce-fatal")[0];
    assert.equal(wrong.hidden, false);
    assert.match(wrong.textContent, words);
    await model.put({ picture: JSON.stringify(picture()), coordinates: places(3) });
    assert.equal(wrong.hidden, true);
    assert.equal(boxes().length, 3);
    close();
  });
}

test("malformed steps and details show an error and do not stop the picture", async () => {
  const { root, model, boxes, close } = open({ steps: "nonsense" });
  assert.equal(root.of("ce-fatal")[0].hidden, false);
  assert.equal(boxes().length, 3);
  await model.put({ details: "{{" });
  assert.match(root.of("ce-fatal")[0].textContent, /Cannot draw this/);
  close();
});

test("text never becomes markup", () => {
  const nasty = "<img src=x onerror=alert(1)>";
  const { box, root, close } = open({
    picture: JSON.stringify(picture({ nodes: [node(nasty, { title: nasty })], edges: [], hulls: [], caption: nasty })),
    coordinates: places(1),
  });
  assert.ok(box(nasty).textContent.startsWith(nasty));
  assert.equal(root.all((element) => element.tagName === "img").length, 0);
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
      sections: [{ heading: "Lineage", rows: [["made by", "compile"]], lines: ["survived"] }],
    }),
  });
  assert.match(root.of("ce-side")[0].textContent, /Sum %7.*Lineage.*made by.*compile.*survived/);
  assert.ok(root.button("Lineage"));
  close();
});

test("a message, its buttons, an error of the step and a failed check are shown as text", async () => {
  const { root, model, close, last } = open({
    picture: JSON.stringify(
      picture({ message: "No pattern matched.", actions: [{ name: "show-near-misses", label: "Show them" }] }),
    ),
    steps: JSON.stringify([step(0, { ok: false }), step(1, { ok: true, error: "rule X raised" })]),
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

test("an edge to a box in the same row passes above the box between", () => {
  const nodes = ["left", "middle", "right"].map((id) => node(id));
  const json = JSON.stringify(picture({ nodes, edges: [edge("right", "left"), edge("middle", "left")], hulls: [] }));
  const shown = readPicture(json, new Float32Array([100, 200, 152, 46, 300, 200, 152, 46, 500, 200, 152, 46]));
  const [over, straight] = shown.edges;
  assert.ok(over.points.some((point) => point.y < 200 - 46 / 2 - 10));
  assert.deepEqual(over.points.at(-1).y, 200 - 46 / 2);
  assert.ok(straight.points.every((point) => Math.abs(point.y - 200) < 23));
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
  assert.equal(model.get("request").name, "cancel");
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

test("values of all hosts are read alike", () => {
  assert.deepEqual(asDict(new Map([["a", 1]])), { a: 1 });
  assert.deepEqual(asDict('{"a": 1}'), { a: 1 });
  assert.deepEqual(asDict(null), {});
  assert.deepEqual([...asFloats(places(1))], [200, 250, 150, 44]);
  assert.deepEqual([...asFloats(new Float32Array([1, 2]).buffer)], [1, 2]);
  assert.equal(asFloats(undefined).length, 0);
});

test("a line that passes a row goes around its boxes", () => {
  const nodes = ["a", "b", "c"].map((id, level) => node(id, { level }));
  const read = readPicture({ nodes, edges: [edge("a", "c")] }, places(3));
  const xs = read.edges[0].points.map((point) => point.x);
  assert.ok(
    xs.some((x) => Math.abs(x - 200) > 75),
    `passes at ${xs}`,
  );
  assert.match(curve(read.edges[0].points, "v"), /^M[-\d. CLQ]+$/);
});

test("arrows to boxes that are not drawn are counted", () => {
  const read = readPicture({ nodes: [node("a")], edges: [edge("a", "gone")], note: "1 layer." }, places(1));
  assert.equal(read.note, "1 layer. 1 arrow leads outside the picture.");
});

test("a hull surrounds its boxes in one line and excludes boxes between them", () => {
  const at = (x, y) => ({ x, y, w: 100, h: 40, folds: 1 });
  const rects = cover([at(0, 0), at(300, 100)], 8);
  const d = outline(rects);
  assert.equal(d.match(/M/g).length, 1);
  assert.ok(!rects.some((rect) => rect.l < 300 && rect.r > 300 && rect.t < 0 && rect.b > 0), "covers the free corner");
  assert.equal(outline(cover([at(0, 0)], 8)).match(/Q/g).length, 4);
});

test("text on the heat scale has a contrast of at least 4.5", () => {
  for (let at = 0; at <= 1; at += 0.02) {
    const ground = luminance(heat(at));
    const ink = ground > 0.18 ? 0 : 1;
    const contrast = (Math.max(ground, ink) + 0.05) / (Math.min(ground, ink) + 0.05);
    assert.ok(contrast >= 4.5, `${contrast} at ${at}`);
  }
});
