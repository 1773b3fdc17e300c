/** The image of a painting that is moved while the camera moves, instead of painting many cells again. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { makeStill } from "../../widgets/js/plates/still.js";

/** A canvas of a size whose pen notes what is drawn on it. */
function fakeCanvas(width = 800, height = 400) {
  const drawn = [];
  const pen = {
    setTransform() {},
    clearRect() {},
    drawImage: (source, ...at) => drawn.push(at),
  };
  return { width, height, drawn, pen, getContext: () => pen };
}

function kept(camera = { x: 0, y: 0, k: 1 }) {
  const canvas = fakeCanvas();
  const still = makeStill({ h: () => fakeCanvas() }, canvas);
  still.keep(camera);
  return { canvas, still };
}

test("without an image everything is painted", () => {
  const canvas = fakeCanvas();
  const still = makeStill({ h: () => fakeCanvas() }, canvas);
  assert.equal(still.paint(canvas.pen, { x: 0, y: 0, k: 1 }), false);
});

test("the image is where the camera sees it: moved, and enlarged around the middle", () => {
  const { canvas, still } = kept();
  assert.equal(still.paint(canvas.pen, { x: 0, y: 0, k: 1 }), true);
  assert.equal(still.paint(canvas.pen, { x: 100, y: -50, k: 1 }), true);
  assert.equal(still.paint(canvas.pen, { x: 0, y: 0, k: 1.25 }), true);
  assert.deepEqual(canvas.drawn, [
    [0, 0, 800, 400],
    [-100, 50, 800, 400],
    [-100, -50, 1000, 500],
  ]);
});

for (const [name, camera] of [
  ["enlarged too much", { x: 0, y: 0, k: 1.6 }],
  ["reduced too much", { x: 0, y: 0, k: 0.6 }],
  ["moved by more than half of what is seen", { x: 401, y: 0, k: 1 }],
]) {
  test(`everything is painted again if the image would be ${name}`, () => {
    const { canvas, still } = kept();
    assert.equal(still.paint(canvas.pen, camera), false);
    assert.deepEqual(canvas.drawn, []);
  });
}

test("everything is painted again after the painting has changed, or the canvas its size", () => {
  const { canvas, still } = kept();
  canvas.width = 801;
  assert.equal(still.paint(canvas.pen, { x: 0, y: 0, k: 1 }), false);
  canvas.width = 800;
  still.forget();
  assert.equal(still.paint(canvas.pen, { x: 0, y: 0, k: 1 }), false);
});
