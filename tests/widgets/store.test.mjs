import assert from "node:assert/strict";
import { test } from "node:test";

import { makeStore } from "../../widgets/js/shared/store.js";
import { onChangesTogether } from "../../widgets/js/shared/traits.js";
import { newModel, settled } from "./dom.mjs";

/** A store of three numbers, with parts that note what they draw. */
function open() {
  const drawn = [];
  const store = makeStore({ a: 1, b: 2, c: 3 });
  const part = (name, ...reads) => ({ reads, draw: (state, changed) => drawn.push([name, state.a, [...changed]]) });
  store.add(part("one", "a"), part("two", "b", "a"), part("three", "c"));
  return { store, drawn };
}

test("a change draws the parts that read it, in their order", () => {
  const { store, drawn } = open();
  store.set({ a: 5 });
  assert.deepEqual(drawn, [
    ["one", 5, ["a"]],
    ["two", 5, ["a"]],
  ]);
});

test("what has not changed is not drawn again", () => {
  const { store, drawn } = open();
  store.set({ a: 1, b: 7, c: 3 });
  assert.deepEqual(drawn, [["two", 1, ["b"]]]);
  assert.equal(store.state.b, 7);
});

test("a reader of two traits that change together is called once, and in order", async () => {
  const called = [];
  const model = newModel({});
  const both = () => called.push("picture");
  const stop = onChangesTogether(model, { options: () => called.push("options"), picture: both, coordinates: both });
  await model.put({ coordinates: new Uint8Array(4), picture: "{}", options: {} });
  assert.deepEqual(called, ["options", "picture"]);
  stop();
  await model.put({ picture: "" });
  await settled();
  assert.equal(called.length, 2);
});
