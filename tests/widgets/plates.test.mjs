import assert from "node:assert/strict";
import { test } from "node:test";

import { readPicture } from "../../widgets/js/picture/reading.js";
import { allCells, cellAt, cellsOf } from "../../widgets/js/plates/cells.js";
import { layLink, linkElement } from "../../widgets/js/plates/links.js";
import { between, movement } from "../../widgets/js/plates/movement.js";
import { nameOf, relativesOf } from "../../widgets/js/plates/relatives.js";
import { maker } from "../../widgets/js/shared/elements.js";
import { newDocument } from "./dom.mjs";

const plate = (cells, places, gap) => ({
  cells,
  places,
  unit: [10, 10],
  gap,
  room: 80,
  calls: "",
  news: "",
  reads: "",
  shape: "",
});
const node = (id, ids, cells, places, gap = 2) => ({
  id,
  ids,
  title: id,
  kind: "sum",
  level: 0,
  count: ids.length,
  folds: 1,
  change: "kept",
  plate: plate(cells, places, gap),
});

/** Two plates, each 20 x 10, at (0, 0) and (100, 0); the second one reads the first one crosswise. */
const read = (first, second, more = {}) =>
  readPicture(
    {
      version: 1,
      step: 1,
      group_by: "plates",
      nodes: [first, second].filter(Boolean),
      edges: second ? [{ source: first.id, target: second.id, pairs: [0, 1, 1, 0] }] : [],
      ...more,
    },
    new Float32Array([10, 5, 20, 10, 110, 5, 20, 10].slice(0, second ? 8 : 4)),
  );
const row = [0, 0, 1, 1, 1, 0, 1, 1];
const a = node("a", [1, 2], [1, 2], row);
const b = node("b", [3, 4], [3, 4], row);

test("a cell lies in its plate, with half the gap on each side, and is found by its place", () => {
  const { boxes } = read(a, b);
  assert.deepEqual(
    cellsOf(boxes[1]).map(({ area }) => area),
    [
      { x: 101, y: 1, w: 8, h: 8 },
      { x: 111, y: 1, w: 8, h: 8 },
    ],
  );
  assert.equal(cellAt(boxes[1], 115, 5)?.layer, 4);
  assert.equal(cellAt(boxes[1], 110, 5), null);
});

test("the reason of a missed fold is in its room, or else shown only where the link is lit", () => {
  const link = {
    source: "a",
    target: "b",
    points: [
      [0, 0],
      [0, 20],
      [100, 20],
      [100, 0],
    ],
    lines: ["so", "it is"],
  };
  const { links } = read(a, b, { links: [link, { ...link, at: [50, 40] }, { ...link, target: "gone" }] });
  assert.deepEqual(
    links.map(({ source, target, lines, at }) => [source.id, target.id, lines, at]),
    [
      ["a", "b", ["so", "it is"], null],
      ["a", "b", ["so", "it is"], { x: 50, y: 40 }],
    ],
  );
  const [narrow, roomy] = links.map((one) => linkElement(maker(newDocument()), one));
  const seen = (drawn, k, lit) => {
    layLink(drawn, k, lit);
    return drawn.texts.map((text) => text.getAttribute("visibility"));
  };
  assert.deepEqual(seen(narrow, 1, false), ["hidden", "hidden"]);
  assert.deepEqual(seen(narrow, 1, true), ["visible", "visible"]);
  assert.deepEqual(seen(roomy, 1, false), ["visible", "visible"]);
  assert.deepEqual(seen(roomy, 0.3, false), ["hidden", "hidden"]);
  assert.equal(roomy.texts[0].getAttribute("x"), "50");
  assert.equal(narrow.texts[0].getAttribute("x"), "50");
});

test("folding moves the cells of the layers together", () => {
  const before = allCells(read(a, b));
  const shown = before.map((cell) => ({ cell, area: cell.area }));
  const after = allCells(read(node("n9", [9], [1, 2], row, 0), b));
  const { moving, leaving } = movement(after, shown, []);
  assert.deepEqual(leaving, []);
  assert.ok(moving.every(({ fades }) => !fades));
  assert.deepEqual(moving[0].from, { x: 1, y: 1, w: 8, h: 8 });
  assert.deepEqual(moving[0].cell.area, { x: 0, y: 0, w: 10, h: 10 });
  assert.ok(moving[0].cell.closed);
  assert.deepEqual(between(moving[0].from, moving[0].cell.area, 0.5), { x: 0.5, y: 0.5, w: 9, h: 9 });
});

test("layers move into the one that replaces them, and backwards out of it", () => {
  const apart = allCells(read(a, b));
  const fused = allCells(read(node("f", [7], [7], [0, 0, 2, 1])));
  const origins = [[7, 1, 3]];
  const forward = movement(
    fused,
    apart.map((cell) => ({ cell, area: cell.area })),
    origins,
  );
  assert.deepEqual(forward.moving[0].from, { x: 1, y: 1, w: 108, h: 8 }); // around both
  assert.deepEqual(
    forward.leaving.map(({ cell, to }) => [cell.layer, to]),
    [
      [1, fused[0].area],
      [3, fused[0].area],
    ],
  );
  const back = movement(
    apart,
    fused.map((cell) => ({ cell, area: cell.area })),
    origins,
  );
  const from = new Map(back.moving.map(({ cell, from: start }) => [cell.layer, start]));
  assert.deepEqual(from.get(1), fused[0].area);
  assert.deepEqual(from.get(2), apart[1].area); // no relative: it appears where it is
});

test("slices that were folded before the trace stay where they are", () => {
  const cells = allCells(read(node("n5", [5], [-1, -1], row, 0)));
  const shown = cells.map((cell) => ({ cell, area: cell.area }));
  const { moving, leaving } = movement(cells, shown, []);
  assert.deepEqual(
    moving.map(({ from }) => from),
    cells.map(({ area }) => area),
  );
  assert.deepEqual(leaving, []);
});

test("a cell lights up all that it depends on and all that depends on it", () => {
  const picture = read(a, b);
  assert.deepEqual([...relativesOf(picture, "a", 0)].sort(), [nameOf("a", 0), nameOf("b", 1)]);
  assert.deepEqual([...relativesOf(picture, "b", 1)].sort(), [nameOf("a", 0), nameOf("b", 1)]);
  assert.equal(relativesOf(picture, "b", -1).size, 4);
});
