import assert from "node:assert/strict";
import { test } from "node:test";

import { curve, head } from "../../widgets/js/picture/motion.js";
import { readPicture } from "../../widgets/js/picture/reading.js";
import { layHulls } from "../../widgets/js/picture/tags.js";
import { growthAt, wordsOf } from "../../widgets/js/picture/words.js";
import { textWidth } from "../../widgets/js/shared/measuring.js";
import { asDict, asFloats } from "../../widgets/js/shared/reading.js";
import { edge, node, picture, places } from "./samples.mjs";

test("values of all hosts are read alike", () => {
  assert.deepEqual(asDict(new Map([["a", 1]])), { a: 1 });
  assert.deepEqual(asDict('{"a": 1}'), { a: 1 });
  assert.deepEqual(asDict(null), {});
  assert.deepEqual([...asFloats(places(1))], [200, 250, 150, 44]);
  assert.deepEqual([...asFloats(new Float32Array([1, 2]).buffer)], [1, 2]);
  assert.equal(asFloats(undefined).length, 0);
});

test("a line goes through the points of Python, or joins facing sides", () => {
  const nodes = ["a", "b"].map((id, level) => node(id, { level }));
  const points = [
    [200, 228],
    [90, 200],
    [200, 172],
  ];
  const read = readPicture({ nodes, edges: [edge("a", "b", { points }), edge("a", "b")] }, places(2));
  assert.equal(curve(read.edges[0].points), "M200 228C200 214 90 214 90 200C90 186 200 186 200 172");
  assert.equal(curve(read.edges[1].points), "M200 228L200 172");
});

test("a line turns with a round corner where it enters a side", () => {
  const nodes = ["a", "b"].map((id, level) => node(id, { level }));
  const points = [
    [100, 100, 1],
    [200, 300],
  ];
  const [line] = readPicture({ nodes, edges: [edge("a", "b", { points })] }, places(2)).edges;
  assert.equal(curve(line.points), "M100 100L192 100Q200 100 200 108L200 300");
  assert.equal(head(line.points), "M200 300l-4 -7h8Z");
});

test("arrows to boxes that are not drawn are counted", () => {
  const read = readPicture({ nodes: [node("a")], edges: [edge("a", "gone")], note: "1 layer." }, places(1));
  assert.equal(read.note, "1 layer. 1 arrow leads outside the picture.");
});

test("a hull has the outline and the tag that Python chose; without them a rectangle", () => {
  const nodes = [node("a")];
  const hull = { id: "h", kind: "match", nodes: ["a"], label: "Candecomp", reason: "" };
  const hulls = [{ ...hull, outline: "M0 0H9V9Z", tag: [5, 6] }, hull];
  const [given, plain] = layHulls(readPicture({ ...picture({ nodes, hulls, edges: [] }) }, places(1)));
  assert.equal(given.d, "M0 0H9V9Z");
  assert.deepEqual([given.tag.at.l, given.tag.at.t, given.tag.sign], [5, 6, "M"]);
  assert.deepEqual([plain.d, plain.tag], ["M117 220H283V280H117Z", null]);
});

test("words of a box are at least 11 pixels high where they fit, and stay inside", () => {
  const { boxes } = readPicture({ nodes: [node("n0", { title: "Hadamard {0,1}", detail: "#5 2×2 → 2" })] }, places(1));
  const [box] = boxes;
  for (const k of [1.2, 0.9, 0.8, 0.7, 0.62, 0.5, 0.4]) {
    const grown = growthAt(k);
    assert.ok((k >= 0.62 ? 12.5 * grown.near : 18 * grown.far) * k >= 11 - 1e-9, `${k}`);
    assert.ok(textWidth(wordsOf(box, grown).title, 12.5 * grown.near, true) <= box.w - 38, `${k}`);
  }
  assert.deepEqual(growthAt(1), { near: 1, far: 1, least: 12.5 });
});
