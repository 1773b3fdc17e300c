import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { test } from "node:test";

import view from "../../widgets/static/graph.js";
import { readRecording, recordingModel } from "../../widgets/static/page.js";
import { newDocument, settled } from "./dom.mjs";
import { fused, picture, places, step } from "./samples.mjs";

const base64 = (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");

const recording = () => ({
  version: 1, title: "Three layers", steps: [step(0), step(1, { changed: false }), step(2)],
  pictures: { "0/diff": picture(), "0/before": picture({ mode: "before" }), "0/after": picture({ mode: "after" }), "2/diff": fused() },
  coordinates: { "0/diff": base64(places(3)), "0/before": base64(places(3)), "0/after": base64(places(3)), "2/diff": base64(places(2)) },
  details: { "0/sum": { id: "whatever", title: "Sum %7", sections: [] } },
});

test("the view steps and selects in a recording", async () => {
  const document = newDocument();
  const el = document.createElement("div");
  const model = recordingModel(recording());
  const close = view.render({ model, el });
  const drawn = () => el.of("ce-boxes")[0].childNodes.map((box) => box.getAttribute("data-id"));
  assert.deepEqual(drawn(), ["input", "product", "sum"]);
  el.of("ce-box")[2].dispatch("click");
  await settled();
  assert.match(el.of("ce-side")[0].textContent, /Sum %7/);
  el.button("Next step").dispatch("click");
  await settled();
  assert.deepEqual(drawn(), ["input", "cpt"]);
  close();
});

test("only recorded modes are offered, and side by side is made from before and after", () => {
  const model = recordingModel(recording());
  assert.deepEqual(model.get("options").modes, ["diff", "before", "after", "side"]);
  model.set("view", { mode: "side" });
  model.save_changes();
  assert.equal(JSON.parse(model.get("picture")).other.mode, "after");
  assert.equal(model.get("coordinates").length, 16 * 6);
});

test("what was not recorded is said", () => {
  const model = recordingModel(recording());
  model.set("step", 1);
  model.save_changes();
  assert.match(model.get("picture"), /not recorded/);
});

test("the address keeps step, mode and selection", () => {
  let kept = "";
  const first = recordingModel(recording(), { keep: (hash) => { kept = hash; } });
  first.set("step", 2);
  first.set("selection", ["cpt"]);
  first.save_changes();
  assert.equal(kept, "#step=2&mode=diff&box=cpt");
  const again = recordingModel(recording(), { hash: kept });
  assert.equal(again.get("step"), 2);
  assert.deepEqual(again.get("selection"), ["cpt"]);
  assert.equal(recordingModel(recording(), { hash: "#step=99&mode=evil" }).get("step"), 2);
});

test("a packed recording is read like a plain one", async () => {
  const text = JSON.stringify(recording());
  assert.deepEqual(await readRecording(gzipSync(text).toString("base64"), true), await readRecording(text, false));
});
