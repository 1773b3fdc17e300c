/** A painting that the browser moves and scales while the camera moves, instead of painting many cells again. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { makeStill } from "../../widgets/js/plates/sheet.js";

const HOME = { x: 0, y: 0, k: 1 };
const SIZE = /** @type {const} */ ([800, 400]);

function kept(camera = HOME) {
  const layers = [{ style: {} }, { style: {} }];
  const still = makeStill(layers);
  still.keep(camera);
  return { styles: layers.map(({ style }) => style), still };
}

test("without a painting there is nothing to move", () => {
  assert.equal(makeStill([]).move(HOME, ...SIZE), false);
});

test("layers are where the camera sees them: moved and enlarged around the middle", () => {
  const { styles, still } = kept();
  assert.equal(still.move({ x: 100, y: -50, k: 1 }, ...SIZE), true);
  for (const style of styles) assert.equal(style.transform, "translate(-100px, 50px) scale(1)");
  assert.equal(still.move({ x: 100, y: 0, k: 1.25 }, ...SIZE), true);
  for (const style of styles) assert.equal(style.transform, "translate(-125px, 0px) scale(1.25)");
});

for (const [name, camera] of [
  ["enlarged too much", { x: 0, y: 0, k: 2.1 }],
  ["reduced too much", { x: 0, y: 0, k: 0.4 }],
  ["moved by more than half of what is seen", { x: 401, y: 0, k: 1 }],
]) {
  test(`everything is painted again if the image would be ${name}`, () => {
    const { styles, still } = kept();
    assert.equal(still.move(camera, ...SIZE), false);
    assert.deepEqual(styles, [{}, {}]);
  });
}

test("what is painted again is not moved", () => {
  const { styles, still } = kept();
  still.move({ x: 100, y: 0, k: 1 }, ...SIZE);
  still.forget();
  for (const style of styles) assert.deepEqual(style, { transform: "", willChange: "", overflow: "" });
  assert.equal(still.move(HOME, ...SIZE), false);
});
