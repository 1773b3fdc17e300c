import assert from "node:assert/strict";
import { test } from "node:test";

import { automatic, heightFor, whole } from "../../widgets/js/controls/camera_views.js";
import { readPicture } from "../../widgets/js/picture/reading.js";
import { flat, movement } from "../../widgets/js/score/movement.js";
import { hasSign, radiusOf } from "../../widgets/js/score/paint.js";
import { areaOf, readScore } from "../../widgets/js/score/reading.js";
import { wordsAt } from "../../widgets/js/score/words.js";
import { stopTime } from "./dom.mjs";
import { open } from "./graph.mjs";

const mark = (key, at, more = {}) => ({ shape: "rect", key, at, fill: "matmul", ...more });
const node = (id) => ({ id, ids: [Number(id.slice(1))], title: id, kind: "matmul", level: 0 });
const raw = (step, marks, nodes = ["n1", "n2"]) => ({
  version: 1,
  step,
  mode: "diff",
  group_by: "score",
  width: 400,
  height: 300,
  nodes: nodes.map(node),
  score: { left: 100, marks },
});
const PLACES = new Float32Array([150, 100, 60, 80, 300, 100, 60, 80]);
const BAND = mark("m", [120, 40, 240, 16], { words: ["blocks.0"], tip: "blocks.0", zooms: true });
const SEAM = {
  shape: "dot",
  key: "s",
  at: [225, 160, 40, 8],
  stroke: "error",
  words: ["×"],
  tip: "no",
  pair: ["n1", "n2"],
};
const CALL = [
  mark("f1", [120, 60, 60, 80], { box: "n1", tip: "relu + add #1\nreads 2 KiB" }),
  mark("c1.0", [122, 62, 28, 76], { box: "n1", words: ["relu"] }),
];
const ARC = { shape: "arc", key: "far", at: [150, 160, 150, -30], stroke: "error", tip: "apart", pair: ["n1", "n2"] };
const LINE = { shape: "text", key: "w0", at: [100, 200, 0, 0], words: ["× apart"], fixed: true, start: true };
const REASON = { ...LINE, tip: "no shared data", lights: ["far"], pair: ["n1", "n2"] };
const shown = (marks = [BAND, SEAM]) =>
  open({ picture: JSON.stringify(raw(0, [...CALL, ...marks])), coordinates: PLACES, steps: "[]" });

test("a mark without fields has defaults; one that is damaged does not stop the others", () => {
  const { left, marks } = readScore({ left: 90, marks: [{ shape: "rect", key: "a", at: [1, 2] }, null, { at: "x" }] });
  assert.equal(left, 90);
  assert.deepEqual(
    marks.map(({ at, size, fixed, pair }) => [at, size, fixed, pair]),
    [
      [[1, 2, 0, 0], 12, false, []],
      [[0, 0, 0, 0], 12, false, []],
      [[0, 0, 0, 0], 12, false, []],
    ],
  );
  assert.equal(readScore(undefined), null);
});

test("a zoom stretches the row, not its height, and not what is fixed", () => {
  const [one, fixed] = readScore({
    left: 100,
    marks: [mark("a", [150, 50, 20, 30]), mark("b", [12, 50, 20, 30], { fixed: true })],
  }).marks;
  const lens = { k: 2, x: 150, width: 800, down: 1.5 };
  assert.deepEqual(areaOf(one, lens), { left: 400, top: 75, width: 40, height: 45 });
  assert.deepEqual(areaOf(fixed, lens), { left: 12, top: 75, width: 20, height: 45 });
});

test("the camera shows the whole row between the names of the lanes and the buttons", () => {
  const picture = readPicture(JSON.stringify(raw(0, [BAND])), PLACES);
  const viewport = { width: 1000, height: 400, panes: 1, inset: 0, maxFit: 1.2, row: 100 };
  const { k, x } = whole([picture], viewport);
  assert.equal(Math.round(500 + k * (100 - x)), 100);
  assert.equal(Math.round(500 + k * (400 - x)), 948);
  assert.deepEqual(automatic([picture], viewport, false), whole([picture], viewport));
  assert.equal(heightFor([picture], viewport), 300);
});

test("a mark moves from its place, or from that of the mark that it came out of, and back", () => {
  const { marks } = readScore({ marks: [mark("c1", [0, 0, 10, 10]), mark("c2", [20, 0, 10, 10])] });
  const before = new Map(marks.map((one) => [one.key, { mark: one, at: one.at }]));
  const [fused, fresh] = readScore({
    marks: [mark("c9", [5, 0, 4, 4], { was: "c2" }), mark("c8", [0, 0, 1, 1])],
  }).marks;
  const { moving, leaving } = movement([fused, fresh], before);
  assert.deepEqual(
    moving.map(({ from }) => from),
    [[20, 0, 10, 10], null],
  );
  assert.deepEqual(
    leaving.map(({ mark: { key } }) => key),
    ["c1"],
  );
  const back = movement(marks, new Map([["c9", { mark: fused, at: fused.at }]]));
  assert.deepEqual(
    back.moving.map(({ from }) => from),
    [null, [5, 0, 4, 4]],
  );
  assert.deepEqual(flat({ ...fused, shape: "body" }, [1, 100, 5, 50]), [1, 122.5, 5, 5]);
});

test("the longest words with room are written, turned in a narrow cell, or not at all", () => {
  const [cell] = readScore({ marks: [mark("a", [0, 0, 0, 0], { words: ["blocks.0.attn", "attn"] })] }).marks;
  assert.deepEqual(wordsAt(cell, { left: 0, top: 0, width: 200, height: 80 }), {
    words: "blocks.0.attn",
    turned: false,
    size: 12,
  });
  const at = (width) => wordsAt(cell, { left: 0, top: 0, width, height: 80 });
  assert.deepEqual(at(40), { words: "attn", turned: false, size: 12 });
  assert.deepEqual(at(16), { words: "attn", turned: true, size: 12 });
  assert.deepEqual(at(10), { words: "attn", turned: true, size: 9 });
  assert.equal(at(6), null);
});

test("a name is cut between two words, or not written", () => {
  const named = (words) => readScore({ marks: [mark("a", [0, 0, 0, 0], { words: [words] })] }).marks[0];
  const at = (words, height) => wordsAt(named(words), { left: 0, top: 0, width: 16, height })?.words;
  assert.equal(at("scaled_dot_product_attention", 120), "scaled_dot…");
  assert.equal(at("layer_norm (part) + gelu", 100), "layer_norm…");
  assert.equal(at("unseparatedandmuchtoolong", 60), undefined);
});

test("a dot without room is small and has no sign", () => {
  const wide = { left: 0, top: 0, width: 40, height: 8 };
  assert.deepEqual([radiusOf(wide), hasSign(wide)], [8, true]);
  const narrow = { ...wide, width: 9 };
  assert.deepEqual([radiusOf(narrow), hasSign(narrow)], [4, false]);
});

test("an arc between calls apart is there while one is selected, or while its reason is pointed at", async (t) => {
  const advance = stopTime(t);
  const { root, model, close } = shown([ARC, REASON]);
  await advance(50);
  const [arc, line] = root.of("ce-score-hit");
  assert.equal(arc.getAttribute("display"), "none");
  line.dispatch("pointermove", { clientX: 0, clientY: 0 });
  await advance(50);
  assert.equal(arc.getAttribute("display"), "inline");
  assert.equal(root.of("ce-hint")[0].textContent, "no shared data");
  root.of("ce-view")[0].dispatch("pointermove", { clientX: 0, clientY: 0 });
  await advance(50);
  assert.equal(arc.getAttribute("display"), "none");
  await model.put({ selection: ["n2"] });
  await advance(50);
  assert.equal(arc.getAttribute("display"), "inline");
  close();
});

test("the note at the pointer names the operator, the call, and what it reads", async (t) => {
  const advance = stopTime(t);
  const { root, close } = shown();
  await advance(50);
  const [x, y] = ["x", "y"].map((name) => Number(root.of("ce-plate-face")[0].getAttribute(name)));
  root.of("ce-view")[0].dispatch("pointermove", { clientX: x + 20, clientY: y + 30 });
  assert.equal(root.of("ce-hint")[0].textContent, ["relu", "relu + add #1", "reads 2 KiB"].join(""));
  close();
});

test("a score has no choice of a colouring, which it would not follow; a graph has", async () => {
  const colours = ({ root }) => root.of("ce-label").find((one) => one.textContent.startsWith("Colour by"));
  const { root, model, close } = shown();
  assert.equal(colours({ root }).hidden, true);
  const graph = { ...raw(0, []), group_by: "fold", score: undefined };
  await model.put({ picture: JSON.stringify(graph), coordinates: PLACES });
  assert.equal(colours({ root }).hidden, false);
  close();
});

test("calls are options; a click on a seam selects both, one on a band zooms to it", () => {
  const { root, boxes, model, close } = shown();
  assert.deepEqual(
    boxes().map((one) => one.getAttribute("data-id")),
    ["n1", "n2"],
  );
  const [band, seam] = root.of("ce-score-hit");
  seam.dispatch("click", { clientX: 0, clientY: 0 });
  assert.deepEqual(model.get("selection"), ["n1", "n2"]);
  const before = Number(root.getAttribute("data-zoom"));
  band.dispatch("click", { clientX: 0, clientY: 0 });
  assert.ok(Number(root.getAttribute("data-zoom")) > before);
  close();
});
