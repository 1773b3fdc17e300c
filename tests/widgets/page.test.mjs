import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { test } from "node:test";

import { PARTS } from "../../widgets/js/closeup/names.js";
import bars from "../../widgets/js/bars.js";
import view from "../../widgets/js/graph.js";
import { follow, problemOf, readRecording, recordingModel, showEmbedded } from "../../widgets/js/page.js";
import question from "../../widgets/js/question.js";
import { newDocument, settled } from "./dom.mjs";
import { fused, picture, places, step } from "./samples.mjs";

const CLOSEUPS = Object.keys(PARTS);
const base64 = (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");

const recording = () => ({
  version: 1,
  title: "Three layers",
  steps: [step(0), step(1, { changed: false }), step(2)],
  pictures: {
    "0/diff": picture(),
    "0/before": picture({ mode: "before" }),
    "0/after": picture({ mode: "after" }),
    "2/diff": fused(),
  },
  coordinates: {
    "0/diff": base64(places(3)),
    "0/before": base64(places(3)),
    "0/after": base64(places(3)),
    "2/diff": base64(places(2)),
  },
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

test("only recorded modes are offered, and side by side is composed of before and after", () => {
  const model = recordingModel(recording());
  assert.deepEqual(model.get("options").modes, ["diff", "before", "after", "side"]);
  model.set("view", { mode: "side" });
  model.save_changes();
  assert.equal(JSON.parse(model.get("picture")).other.mode, "after");
  assert.equal(model.get("coordinates").length, 16 * 6);
});

test("a picture that was not recorded has a message", () => {
  const model = recordingModel(recording());
  model.set("step", 1);
  model.save_changes();
  assert.match(model.get("picture"), /not recorded/);
});

test("the address keeps step, mode and selection", () => {
  let kept = "";
  const first = recordingModel(recording(), {
    keep: (hash) => {
      kept = hash;
    },
  });
  first.set("step", 2);
  first.set("selection", ["cpt"]);
  first.save_changes();
  assert.equal(kept, "#step=2&mode=diff&box=cpt");
  const again = recordingModel(recording(), { hash: kept });
  assert.equal(again.get("step"), 2);
  assert.deepEqual(again.get("selection"), ["cpt"]);
  assert.equal(recordingModel(recording(), { hash: "#step=99&mode=evil" }).get("step"), 2);
});

test("a compressed recording is read like a plain one", async () => {
  const text = JSON.stringify(recording());
  assert.deepEqual(await readRecording(gzipSync(text).toString("base64"), true), await readRecording(text, false));
});

const place = (step, mode, selection = []) => ({ step, mode, colour_by: "kind", group_by: "none", selection });

/** The same pictures under the keys that a page of several views has. */
function named() {
  const { pictures, coordinates, ...rest } = recording();
  const long = (record) =>
    Object.fromEntries(Object.entries(record).map(([key, value]) => [`${key}/kind/none`, value]));
  return { ...rest, pictures: long(pictures), coordinates: long(coordinates) };
}

/** One view in an element, which may hold words below the graph. */
function embed(embedded, tables = []) {
  const document = newDocument();
  const el = document.createElement("div");
  for (const step of tables) {
    const table = el.appendChild(document.createElement("div"));
    table.dataset = { step };
    table.setAttribute("data-step", step);
    table.textContent = `words of ${step || "others"}`;
  }
  el.querySelectorAll = () => el.childNodes.filter((child) => child.dataset);
  const drawings = { graph: view.render, bars: bars.render, question: question.render };
  return { el, model: showEmbedded(el, embedded, [named()], drawings) };
}

test("an embedded graph starts where it was, and the text below it follows its step", () => {
  const options = { compact: true, height: 300, modes: ["diff", "before", "after", "side"] };
  const { el, model } = embed(
    { kind: "graph", recording: 0, options, start: { ...place(2, "diff", ["cpt"]), hull: "m0" } },
    ["", "0", "2"],
  );
  const words = () => el.childNodes.filter((child) => child.dataset && !child.hidden).map((child) => child.textContent);
  assert.deepEqual([model.get("step"), model.get("selection"), model.get("options")], [2, ["cpt"], options]);
  assert.deepEqual(model.get("view"), { mode: "diff", colour_by: "kind", group_by: "none", hull: "m0" });
  assert.deepEqual(
    el.of("ce-boxes")[0].childNodes.map((box) => box.getAttribute("data-id")),
    ["input", "cpt"],
  );
  assert.deepEqual(words(), ["words of 2"]);
  assert.ok(el.childNodes[0].dataset === undefined, "the graph stands over its words");
  model.set("step", 1);
  model.save_changes();
  assert.deepEqual(words(), ["words of others"]);
  model.set("view", { ...model.get("view"), mode: "side" });
  model.set("step", 0);
  model.save_changes();
  assert.equal(JSON.parse(model.get("picture")).other.mode, "after");
});

test("a question is answered in its picture, shows the step and goes back", async () => {
  const asked = {
    version: 1,
    text: "Which?",
    asking: place(0, "after", ["sum"]),
    revealing: place(2, "diff", ["cpt"]),
    clicks: {
      boxes: { input: 1, product: 2, sum: 3 },
      about: 3,
      wanted: [2],
      right: "Right: 1 other layer.",
      why: "",
      apart: { 1: "no." },
    },
  };
  const [options, revealed_options] = [
    { stepper: false, many: true },
    { stepper: false, many: false },
  ];
  const { el, model } = embed({
    kind: "question",
    recording: 0,
    question: asked,
    options,
    revealed_options,
    start: asked.asking,
  });
  assert.deepEqual(model.get("selection"), ["sum"]);
  el.of("ce-box")[1].dispatch("click");
  const chosen = model.get("selection");
  assert.deepEqual([...chosen].sort(), ["product", "sum"]);
  el.button("Check").dispatch("click");
  assert.match(el.textContent, /Right: 1 other layer/);
  el.button("Reveal").dispatch("click");
  await settled();
  assert.deepEqual(
    [model.get("step"), model.get("view").mode, model.get("selection"), model.get("options")],
    [2, "diff", ["cpt"], revealed_options],
  );
  assert.deepEqual(
    el.of("ce-boxes")[0].childNodes.map((box) => box.getAttribute("data-id")),
    ["input", "cpt"],
  );
  el.button("Back to the question").dispatch("click");
  await settled();
  assert.deepEqual(
    [model.get("step"), model.get("view").mode, model.get("selection"), model.get("options")],
    [0, "after", chosen, options],
  );
  assert.equal(el.of("ceq-verdict")[0].hidden, false);
});

test("bars are shown in such a page too", () => {
  const shown = {
    version: 1,
    title: "Layers",
    unit: "layers",
    log: false,
    series: ["layers"],
    note: "",
    bars: [{ label: "compile", value: 5, low: null, high: null, series: "layers", missing: "" }],
    table: { columns: [], rows: [] },
  };
  const { el } = embed({ kind: "bars", bars: shown });
  assert.equal(el.of("ceb-bar").length, 1);
});

test("the hash holds the match in the rule lens and the part of the close-up; only steps and the lens are entries", () => {
  const kept = [];
  const keep = (hash, adds) => kept.push([hash, adds]);
  const hash = "#step=2&mode=diff&hull=hull-1&match=2&closeup=code&box=cpt";
  const model = recordingModel(recording(), { hash, keep, closeups: CLOSEUPS });
  const { hull, match, closeup } = model.get("view");
  assert.deepEqual([hull, match, closeup, model.get("selection")], ["hull-1", 2, "code", ["cpt"]]);
  assert.deepEqual(kept, [[hash, false]]);
  const change = (name, value) => {
    model.set(name, value);
    model.save_changes();
    return kept.at(-1);
  };
  const view = { ...model.get("view"), match: 3 };
  assert.deepEqual(change("view", view), [hash.replace("match=2", "match=3"), false]);
  assert.deepEqual(change("view", { ...view, hull: "", match: 0 }), ["#step=2&mode=diff&closeup=code&box=cpt", true]);
  assert.deepEqual(change("step", 0), ["#step=0&mode=diff&closeup=code&box=cpt", true]);
  follow(model, recordingModel(recording(), { hash, closeups: CLOSEUPS }));
  assert.deepEqual([model.get("step"), model.get("view").hull, model.get("view").match], [2, "hull-1", 2]);
});

test("what a link says that cannot be read is named", () => {
  const problem = (hash) => problemOf(recording(), hash, CLOSEUPS);
  for (const part of CLOSEUPS) assert.equal(problem(`#step=2&mode=side&box=x&utm=1&closeup=${part}`), "");
  assert.equal(problem("#closeup=dust"), "Not understood in the link: closeup=dust.");
  assert.equal(problem("#step=9&mode=odd"), "Not understood in the link: step=9, mode=odd.");
});
