import assert from "node:assert/strict";
import { test } from "node:test";

import { curve } from "../../widgets/js/picture/curves.js";
import { cover, outline } from "../../widgets/js/picture/outlines.js";
import { readPicture } from "../../widgets/js/picture/reading.js";
import { asDict, asFloats } from "../../widgets/js/shared/reading.js";
import { edge, node, picture, places } from "./samples.mjs";

test("an edge to a box in the same row passes above the box between", () => {
  const nodes = ["left", "middle", "right"].map((id) => node(id));
  const json = JSON.stringify(picture({ nodes, edges: [edge("right", "left"), edge("middle", "left")], hulls: [] }));
  const shown = readPicture(json, new Float32Array([100, 200, 152, 46, 300, 200, 152, 46, 500, 200, 152, 46]));
  const [over, straight] = shown.edges;
  assert.ok(over.points.some((point) => point.y < 200 - 46 / 2 - 10));
  assert.deepEqual(over.points.at(-1).y, 200 - 46 / 2);
  assert.ok(straight.points.every((point) => Math.abs(point.y - 200) < 23));
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
