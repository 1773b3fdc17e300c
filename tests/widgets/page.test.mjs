import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { test } from "node:test";

import { PARTS } from "../../widgets/js/closeup/reading.js";
import bars from "../../widgets/js/bars.js";
import view from "../../widgets/js/graph.js";
import {
  follow,
  linkedPlace,
  makeEntries,
  openPage,
  problemOf,
  recordingModel,
  showEmbedded,
} from "../../widgets/js/page.js";
import question from "../../widgets/js/question.js";
import { newDocument, settled } from "./dom.mjs";
import { fused, picture, places, step, unpacked, withPlaces } from "./samples.mjs";

const CLOSEUPS = Object.keys(PARTS);
const base64 = (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");

/** The pictures of a recording under the looks of a page, by default those of a page with one view. */
const recorded = (look = "change/fold") => ({
  version: 1,
  title: "Three layers",
  steps: [step(0), step(1, { changed: false }), step(2)],
  pictures: {
    [`0/diff/${look}`]: picture(),
    [`0/before/${look}`]: picture({ mode: "before" }),
    [`0/after/${look}`]: picture({ mode: "after" }),
    [`2/diff/${look}`]: fused(),
  },
  coordinates: {
    [`0/diff/${look}`]: base64(places(3)),
    [`0/before/${look}`]: base64(places(3)),
    [`0/after/${look}`]: base64(places(3)),
    [`2/diff/${look}`]: base64(places(2)),
  },
  details: { "0/sum": { id: "whatever", title: "Sum %7", sections: [] } },
});
const recording = () => unpacked(recorded());

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

test("only recorded modes are offered; side by side is before and after", () => {
  const model = recordingModel(recording());
  assert.deepEqual(model.get("options").modes, ["diff", "before", "after", "side"]);
  model.set("view", { ...model.get("view"), mode: "side" });
  model.save_changes();
  assert.equal(model.get("picture").other.mode, "after");
  assert.equal(model.get("coordinates").length, 16 * 6);
});

test("a picture that was not recorded has a message", () => {
  const model = recordingModel(recording());
  model.set("step", 1);
  model.save_changes();
  assert.match(model.get("picture").message, /not recorded/);
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

/** A page with the elements of a recording, each step in a part; notes which are unpacked. */
function pageOf(data) {
  const pack = (value) => gzipSync(JSON.stringify(value)).toString("base64");
  const { pictures, coordinates, details, ...head } = data;
  const ofStep = (values, at) => Object.fromEntries(Object.entries(values).filter(([key]) => key.startsWith(`${at}/`)));
  const stores = {
    "part-0-0": pack({ pictures: ofStep(pictures, 0), ...withPlaces(ofStep(coordinates, 0)), details, buffers: {} }),
    "part-0-1": pack({
      pictures: ofStep(pictures, 2),
      ...withPlaces(ofStep(coordinates, 2)),
      details: {},
      buffers: {},
    }),
    recording: pack({ views: [], recordings: [{ ...head, looks: Object.keys(pictures), part_of: { 0: 0, 2: 1 } }] }),
  };
  const read = [];
  const getElementById = (id) => {
    read.push(id);
    return { textContent: stores[id] };
  };
  return { read, stores, getElementById };
}

/** Resolves when a model has another picture. */
const nextPicture = (model) => new Promise((resolve) => model.on("change:picture", resolve));

test(
  "a page unpacks the part of a step when it is shown, and the steps around it when nothing else happens",
  { timeout: 30_000 },
  async () => {
    const page = pageOf(recorded());
    const [recording] = (await openPage(page)).recordings;
    assert.deepEqual(page.read, ["recording"]);
    await recording.load(0);
    const model = recordingModel(recording);
    assert.deepEqual([page.read.length, model.get("picture").step], [2, 0]);
    while (!recording.part(2)) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.deepEqual(page.read, ["recording", "part-0-0", "part-0-1"]);
    model.set("step", 2);
    model.save_changes();
    assert.deepEqual([model.get("picture").step, page.read.length], [2, 3]);
  },
);

test("a picture that is not unpacked arrives later, unless another step is wanted", async () => {
  const [recording] = (await openPage(pageOf(recorded()))).recordings;
  await recording.load(0);
  const model = recordingModel(recording);
  const seen = [];
  model.on("change:picture", () => seen.push(model.get("picture").step));
  for (const step of [2, 1, 2]) {
    model.set("step", step);
    model.save_changes();
  }
  assert.deepEqual(seen, [1]);
  await nextPicture(model);
  assert.deepEqual([seen, model.get("coordinates").length], [[1, 2], 16 * 2]);
});

test("a part that is damaged is said in its picture", async () => {
  const page = pageOf(recorded());
  page.stores["part-0-1"] = "AAAA";
  const [recording] = (await openPage(page)).recordings;
  const model = recordingModel(recording, { hash: "#step=2" });
  await nextPicture(model);
  assert.match(model.get("picture").message, /^Cannot read this step: /);
});

const place = (step, mode, selection = []) => ({ step, mode, colour_by: "kind", group_by: "none", selection });

/** One view in an element, which may hold words below the graph. */
async function embed(embedded, tables = []) {
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
  return { el, model: await showEmbedded(el, embedded, [unpacked(recorded("kind/none"))], drawings) };
}

test("an embedded graph starts where it was, and the text below it follows its step", async () => {
  const options = { compact: true, height: 300, modes: ["diff", "before", "after", "side"] };
  const { el, model } = await embed(
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
  assert.equal(model.get("picture").other.mode, "after");
});

test("a question is answered in its picture, shows the step and goes back", async () => {
  const asked = {
    version: 1,
    text: "Which?",
    asking: place(0, "after", ["sum"]),
    revealing: place(2, "diff", ["cpt"]),
    clicks: {
      noun: "Layer",
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
  const { el, model } = await embed({
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

test("bars are shown in such a page too", async () => {
  const marks = [{ tag: "rect", class: "ceb-bar", from: 0, to: 1, y: 18, height: 16, fill: "series-0" }];
  const chart = { left: 0, right: 60, height: 60, text: "Layers: 1 bars.", marks, legend: [] };
  const shown = { version: 1, title: "Layers", note: "", chart, table: { columns: [], rows: [] } };
  const { el } = await embed({ kind: "bars", bars: shown });
  assert.equal(el.of("ceb-bar").length, 1);
});

test("the hash holds match and close-up; only steps and the lens are entries", () => {
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
  follow(model, linkedPlace(recording(), { hash, closeups: CLOSEUPS }));
  assert.deepEqual([model.get("step"), model.get("view").hull, model.get("view").match], [2, "hull-1", 2]);
});

test("what a link says that cannot be read is named", () => {
  const problem = (hash) => problemOf(recording(), hash, CLOSEUPS);
  for (const part of CLOSEUPS) assert.equal(problem(`#step=2&mode=side&box=x&utm=1&closeup=${part}`), "");
  assert.equal(problem("#closeup=dust"), "Not understood in the link: closeup=dust.");
  assert.equal(problem("#step=9&mode=odd"), "Not understood in the link: step=9, mode=odd.");
});

test("the history gets its entries in order when the page is idle, none after Back", () => {
  /** @type {string[]} */
  const written = [];
  /** @param {string} how */
  const write = (how) => (/** @type {any} */ _, /** @type {any} */ __, /** @type {string} */ hash) =>
    written.push(`${how} ${hash}`);
  /** @type {(() => void)[]} */
  const idle = [];
  const history = /** @type {any} */ ({ pushState: write("push"), replaceState: write("replace") });
  const entries = makeEntries(history, (callback) => idle.push(callback));
  entries.keep("#step=1", true);
  entries.keep("#step=1&box=a", false);
  entries.keep("#step=2", true);
  assert.deepEqual(written, []);
  idle.forEach((callback) => callback());
  assert.deepEqual(written, ["push #step=1&box=a", "push #step=2"]);
  entries.keep("#step=2&box=b", false);
  entries.keep("#step=3", true);
  entries.forget();
  entries.keep("#step=1", false);
  idle.splice(0).forEach((callback) => callback());
  assert.deepEqual(written.slice(2), ["replace #step=1"]);
});

test("a page with damaged data says so, not what the browser says", async () => {
  const whole = gzipSync(JSON.stringify({ views: [], recordings: [] })).toString("base64");
  const broken = ["", "no base64: ü", whole.slice(0, 20), "AAAA"];
  const wrong = [{}, [], null, 3, { views: [] }, { views: {}, recordings: [] }];
  for (const textContent of [...broken, ...wrong.map((data) => gzipSync(JSON.stringify(data)).toString("base64"))]) {
    const page = /** @type {any} */ ({ getElementById: () => ({ textContent }) });
    await assert.rejects(openPage(page), /^Error: the data in this page are damaged or incomplete; /);
  }
});
