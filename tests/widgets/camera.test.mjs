import assert from "node:assert/strict";
import { test } from "node:test";

import {
  automatic,
  boxAt,
  heightFor,
  revealing,
  showing,
  staying,
  whole,
  zoomedTo,
} from "../../widgets/js/controls/camera_views.js";
import { readPicture } from "../../widgets/js/picture/reading.js";
import { node } from "./samples.mjs";
import { cornerFor } from "../../widgets/js/parts/minimap.js";

const viewport = { width: 800, height: 400, panes: 1, inset: 0, maxFit: 1.2 };

/** A row of boxes, 200 pixels apart; those with these indices are new. */
function row(count, added = []) {
  const nodes = Array.from({ length: count }, (_, index) =>
    node(`n${index}`, { change: added.includes(index) ? "added" : "kept" }),
  );
  const places = new Float32Array(nodes.flatMap((_, index) => [100 + 200 * index, 60, 150, 44]));
  return readPicture({ nodes }, places);
}

/** Whether the camera sees a point. */
const sees = ({ k, x, y }, at) => Math.abs(at.x - x) * k <= 400 && Math.abs(at.y - y) * k <= 200;

test("a rectangle is whole, at most 1.2 times as large, and beside narrow buttons", () => {
  const rect = { l: 0, t: 0, r: 100, b: 50 };
  assert.deepEqual(showing(rect, viewport), { k: 1.2, x: 50, y: 25 });
  assert.ok(showing(rect, { ...viewport, width: 300 }).x > 50);
  assert.ok(showing({ l: 0, t: 0, r: 10_000, b: 50 }, viewport).k < 0.08);
});

test("what would be illegible is shown at what changed, unless there is a question", () => {
  const wide = row(40, [30]);
  const camera = automatic([wide], viewport, false);
  assert.ok(camera.k >= 0.5 && sees(camera, wide.boxes[30]), JSON.stringify(camera));
  const [{ k, x }, last] = [automatic([wide], viewport, true), wide.boxes[39]];
  const ends = [wide.boxes[0].x - 75, last.x + 75].map((end) => (end - x) * k + viewport.width / 2);
  assert.ok(ends[0] > 0 && ends[1] < viewport.width - 44, `all of it, left of the zoom buttons: ${ends}`);
  assert.deepEqual(automatic([row(3)], viewport, false), whole([row(3)], viewport));
});

/** A tree of so many rows of boxes. */
const tree = (rows, columns = 5) => {
  const nodes = Array.from({ length: rows * columns }, (_, at) => node(`n${at}`));
  const place = (_, at) => [100 + 200 * (at % columns), 60 + 100 * Math.floor(at / columns), 150, 44];
  const places = new Float32Array(nodes.flatMap(place));
  return readPicture({ nodes, width: 200 * columns, height: 100 * rows + 20 }, places);
};

test("the height of a picture follows its content, within limits", () => {
  const heights = [1, 4, 5, 50].map((rows) => heightFor([tree(rows)], { ...viewport, width: 1100, inset: 34 }));
  assert.ok(heights[0] < heights[1] && heights[1] < heights[2], String(heights));
  assert.ok(heights[0] >= 200 && heights[3] <= 700, String(heights));
  const [narrow, wide] = [600, 1100].map((width) => heightFor([tree(4)], { ...viewport, width }));
  assert.ok(narrow < wide, "what is drawn smaller is lower");
  const { k } = whole([tree(4)], { ...viewport, width: 1100, height: wide });
  assert.ok(k >= 1, "all of it at its full size");
});

test("what is selected and the root stay in view where the stage becomes lower", () => {
  const shown = tree(7, 3);
  const low = { ...viewport, height: 240, inset: 34 };
  const seen = ({ k, y }, box) =>
    (box.y - box.h / 2 - y) * k >= -low.height / 2 + low.inset && (box.y + box.h / 2 - y) * k <= low.height / 2;
  const wanted = [shown.boxes[0], shown.boxes[20]];
  assert.ok(!wanted.every((box) => seen(automatic([shown], low, false), box)));
  assert.ok(wanted.every((box) => seen(automatic([shown], low, false, wanted), box)));
  const huge = tree(200, 3);
  assert.ok(automatic([huge], low, false, [huge.boxes[0], huge.boxes[599]]).k > 0.1, "never illegible for it");
});

test("a picture stays while the stage shrinks, unless that hides the selection", () => {
  const [camera, box] = [{ k: 0.5, x: 400, y: 300 }, (x, y) => ({ id: "", x, y, w: 40, h: 20 })];
  const small = { ...viewport, width: 500, height: 240, inset: 0 };
  const onScreen = ({ k, x, y }, { width, height }, at) => [(at.x - x) * k + width / 2, (at.y - y) * k + height / 2];
  const [near, edge, low] = [box(100, 100), box(100, 375), box(100, 500)];
  for (const chosen of [undefined, near, edge]) {
    const after = staying(camera, viewport, small, chosen);
    assert.deepEqual(onScreen(after, small, near), onScreen(camera, viewport, near));
    assert.equal(after.k, camera.k);
  }
  const [x, y] = onScreen(staying(camera, viewport, small, low), small, low);
  assert.equal(x, onScreen(camera, viewport, low)[0]);
  assert.ok(y < small.height && y > small.height - 30, "moved no further than needed");
  const wide = { ...box(1_500, 100), w: 4_000 };
  const after = staying(camera, viewport, small, wide);
  assert.ok(onScreen(after, small, { ...wide, x: wide.x - 2_000 })[0] >= 0, "the beginning of what has no room");
});

test("zooming keeps the point under the pointer", () => {
  const [before, at] = [
    { k: 1, x: 100, y: 50 },
    { x: 600, y: 100 },
  ];
  const after = zoomedTo(before, 2, at, viewport);
  const under = ({ k, x, y }) => [x + (at.x - 400) / k, y + (at.y - 200) / k];
  assert.deepEqual(under(after), under(before));
});

test("a box out of view is brought into view, one in view does not move the camera", () => {
  const { boxes } = row(10);
  const camera = { k: 1, x: 400, y: 60 };
  assert.equal(revealing(boxes[1], camera, viewport), null);
  assert.ok(sees(revealing(boxes[9], camera, viewport), boxes[9]));
});

test("the box at a point, with some slack, or none", () => {
  const shown = row(3);
  const camera = { k: 1, x: 400, y: 200 };
  assert.equal(boxAt(shown, camera, { x: 100, y: 60 }, viewport).id, "n0");
  assert.equal(boxAt(shown, camera, { x: 176, y: 60 }, viewport).id, "n0");
  assert.equal(boxAt(shown, camera, { x: 200, y: 300 }, viewport), null);
});

test("the whole of a picture of plates includes their words", () => {
  const plate = { cells: [1], places: [0, 0, 1, 1], unit: [20, 20], gap: 2, room: 180 };
  const picture = readPicture({ nodes: [node("n0", { plate })] }, new Float32Array([120, 60, 20, 20]));
  const { k, x } = whole([picture], viewport);
  assert.ok(x - 400 / k <= 120 - 90 + 1e-9);
});

test("the last plate is beside the zoom buttons, on a phone and in a low stage", () => {
  const plate = { cells: [1], places: [0, 0, 1, 1], unit: [20, 20], gap: 2, room: 180 };
  const count = 8;
  const nodes = Array.from({ length: count }, (_, index) => node(`n${index}`, { plate }));
  for (const [width, tall] of [
    [370, 60],
    [700, 6000],
  ]) {
    const places = nodes.flatMap((_, index) => [120 + 200 * index, index ? 60 : tall, 20, 20]);
    const size = { width: 240 + 200 * (count - 1), height: tall + 60 };
    const picture = readPicture({ nodes, group_by: "plates", ...size }, new Float32Array(places));
    const { k, x } = automatic([picture], { ...viewport, width }, false);
    const ends = [picture.boxes[0].x - 10, picture.boxes[count - 1].x + 10].map((end) => (end - x) * k + width / 2);
    assert.ok(ends[0] > 0 && ends[1] < width - 44, `${width}: ${ends}`);
    assert.ok(ends[1] > width - 44 - 160 * k, `${width}: no room is lost: ${ends}`);
  }
});

test("plates shrink a little to show the words of the last line before they scroll", () => {
  const plate = { cells: [1], places: [0, 0, 1, 1], unit: [20, 20], gap: 2, room: 80 };
  const nodes = ["n0", "n1"].map((id) => node(id, { plate }));
  /** @param {number} height */
  const picture = (height) => {
    const places = new Float32Array([60, 60, 20, 20, 1_500, height - 100, 20, 20]);
    return readPicture({ nodes, group_by: "plates", width: 1_600, height }, places);
  };
  const [low, high] = [picture(900), picture(1_600)].map((shown) => ({
    shown,
    ...automatic([shown], viewport, false),
  }));
  assert.ok(low.k < 0.45 && (low.shown.height - low.y) * low.k <= 200, "all of it");
  assert.ok(high.k >= 0.45 && (high.shown.height - high.y) * high.k > 200, "its first lines");
});

test("lines above the plates are in sight", () => {
  const plate = { cells: [1], places: [0, 0, 1, 1], unit: [20, 20], gap: 2, room: 180 };
  const nodes = [node("n0", { plate }), node("n1", { plate })];
  const points = [130, 300].map((x) => [x, 8, 1]);
  const edges = [{ source: "n0", target: "n1", change: "kept", count: 1, points }];
  const picture = readPicture(
    { nodes, edges, group_by: "plates", width: 400, height: 400 },
    new Float32Array([120, 60, 20, 20, 320, 60, 20, 20]),
  );
  const { k, y } = whole([picture], viewport);
  assert.ok((8 - y) * k + viewport.height / 2 > 0);
});

test("the map is in the corner in which it covers least of the boxes", () => {
  const viewport = { width: 1000, height: 600 };
  const camera = { k: 2, x: 250, y: 150 }; // the stage shows 0 to 500 and 0 to 300 of the picture
  const at = (x, y) => ({ x, y, w: 60, h: 40, plate: null });
  assert.equal(cornerFor([at(250, 150)], camera, viewport), "bottom-right");
  assert.equal(cornerFor([at(460, 270)], camera, viewport), "bottom-left");
  assert.equal(cornerFor([at(460, 270), at(40, 270)], camera, viewport), "bottom-middle");
  assert.equal(cornerFor([at(460, 270), at(40, 270), at(250, 270)], camera, viewport), "top-left");
  assert.equal(
    cornerFor([at(40, 300), at(460, 270)], camera, viewport, ["bottom-right", "bottom-left"]),
    "bottom-left",
  );
});
