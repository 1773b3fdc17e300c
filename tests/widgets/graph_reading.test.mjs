import assert from "node:assert/strict";
import { test } from "node:test";

import { stopTime } from "./dom.mjs";
import { open } from "./graph.mjs";
import { fused, node, picture, places } from "./samples.mjs";

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
  test(`a malformed picture (${what}) shows its error; a good one is drawn later`, async () => {
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
