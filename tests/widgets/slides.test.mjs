import assert from "node:assert/strict";
import { test } from "node:test";

import { recordingModel } from "../../widgets/js/page.js";
import { marksOf } from "../../widgets/js/parts/state.js";
import { open } from "./graph.mjs";
import { node, unpacked } from "./samples.mjs";

const frame = (label, calls) => ({ label, calls, sentence: `${label} leaves ${calls} calls.`, times: {} });
const scene = (name, mode = "diff") => ({ name, title: name.toUpperCase(), mode, sentence: `About ${name}.` });
const steps = JSON.stringify([
  { index: 0, title: "compile", changed: true, frame: frame("compile", 4), scenes: [scene("circuit", "after")] },
  { index: 1, title: "nothing", changed: false },
  { index: 2, title: "fuse", frame: frame("fuse", 3), scenes: [scene("match", "before"), scene("fuse")] },
  { index: 3, title: "fold", frame: frame("fold", 1), scenes: [scene("clock")] },
]);
const shown = (more = {}) => {
  const view = open({ steps, ...more });
  const words = (name) => view.root.of(name)[0].textContent;
  return {
    ...view,
    head: () => words("ce-slide-head"),
    position: () => words("ce-slide-position"),
    isOpen: () => view.root.getAttribute("class").includes("ce-slides"),
    at: () => [view.model.get("step"), view.model.get("view").slides, view.model.get("view").mode],
  };
};

test("slides are the changing steps; a number goes to one, Escape leaves there", () => {
  const { root, press, head, position, isOpen, at, last, close } = shown();
  assert.ok(!isOpen());
  root.button("Slides").dispatch("click");
  assert.ok(isOpen());
  assert.deepEqual([head(), position()], ["Compilecompile leaves 4 calls.", "1 of 3"]);
  press("ArrowRight");
  assert.deepEqual([head(), position(), at()[0]], ["Fusefuse leaves 3 calls.", "2 of 3", 2]);
  press("3");
  assert.equal(position(), "Go to 3: Enter");
  press("Enter");
  assert.deepEqual([position(), at()[0]], ["3 of 3", 3]);
  press(" ");
  assert.equal(position(), "3 of 3");
  press("9");
  press("Escape");
  assert.ok(isOpen());
  press("Home");
  press("Escape");
  assert.ok(!isOpen());
  assert.deepEqual([at()[0], last().view.slides], [0, ""]);
  close();
});

test("the story goes through its scenes, each at its step and in its mode", () => {
  const { root, press, head, at, last, close } = shown({ view: { mode: "side" } });
  root.button("Story").dispatch("click");
  assert.deepEqual([head(), ...at()], ["CIRCUITAbout circuit.", 0, "circuit", "after"]);
  press("ArrowRight");
  assert.deepEqual([head(), ...at()], ["MATCHAbout match.", 2, "match", "before"]);
  assert.deepEqual(Object.keys(last()), ["step", "view"]);
  press(" ");
  assert.deepEqual(at(), [2, "fuse", "diff"]);
  press("PageUp");
  assert.deepEqual(at(), [2, "match", "before"]);
  press("Escape");
  assert.deepEqual(at(), [2, "", "side"]);
  close();
});

test("the story of a circuit made by operators begins with them", () => {
  const derived = JSON.stringify([
    { index: 0, title: "operands", changed: true, frame: frame("operands", 4), scenes: [scene("operator")] },
    {
      index: 1,
      title: "multiply",
      frame: frame("multiply", 4),
      scenes: [scene("operator"), scene("circuit", "after")],
    },
    { index: 2, title: "compile", changed: false },
    { index: 3, title: "fold", frame: frame("fold", 1), scenes: [scene("clock")] },
  ]);
  const { root, press, position, at, close } = shown({ steps: derived });
  root.button("Story").dispatch("click");
  const places = [at(), ...[1, 2, 3, 4].map(() => (press("ArrowRight"), at()))];
  assert.deepEqual(places, [
    [0, "operator", "diff"],
    [1, "operator", "diff"],
    [1, "circuit", "after"],
    [3, "clock", "diff"],
    [3, "clock", "diff"],
  ]);
  assert.equal(position(), "4 of 4");
  const back = [1, 2, 3].map(() => (press("ArrowLeft"), at()[0] + at()[1]));
  assert.deepEqual(back, ["1circuit", "1operator", "0operator"]);
  close();
  const linked = shown({ steps: derived, step: 1, view: { slides: "operator" } });
  assert.deepEqual([linked.position(), ...linked.at()], ["2 of 4", 1, "operator", "diff"]);
  linked.close();
});

test("a link to a scene goes to its step", () => {
  const { head, at, close } = shown({ view: { slides: "clock" } });
  assert.deepEqual([head(), ...at()], ["CLOCKAbout clock.", 3, "clock", "diff"]);
  close();
});

test("an old view that arrives while slides are shown is not answered", async () => {
  const { root, model, press, close } = shown();
  root.button("Story").dispatch("click");
  const old = model.get("view");
  press("ArrowRight");
  const saved = model.sent.length;
  await model.put({ view: old });
  assert.equal(model.sent.length, saved);
  close();
});

test("a question hides slides and story, which would tell the answer", () => {
  for (const options of [{ film: false }, { asking: true }, { stepper: false }]) {
    const { root, close } = shown({ options });
    assert.ok(root.button("Story").hidden && root.button("Slides").hidden);
    close();
  }
});

test("an exported page keeps ?slides in its address until they are closed", () => {
  const pictures = { "0/diff/change/plates": {} };
  const recording = unpacked({ steps: JSON.parse(steps), pictures, coordinates: {}, details: {} });
  const hashes = [];
  const page = { keep: (hash) => hashes.push(hash) };
  const model = recordingModel(recording, { ...page, search: "?slides" });
  assert.equal(model.get("view").slides, "steps");
  model.set("view", { ...model.get("view"), slides: "" });
  model.save_changes();
  assert.deepEqual(hashes, ["#step=0&mode=diff&slides=steps", "#step=0&mode=diff&slides="]);
  const again = recordingModel(recording, { ...page, search: "?slides", hash: hashes[1] });
  assert.equal(again.get("view").slides, undefined);
  assert.equal(recordingModel(recording, { ...page, hash: "#slides=fuse" }).get("view").slides, "fuse");
  assert.equal(recordingModel(recording, { ...page, hash: "#slides=nonsense" }).get("view").slides, "steps");
});

test("a scene that asks which plates change tells nothing before the check", () => {
  const guess = { question: "Which plates?", wanted: ["b"], apart: { a: "it is on level 0" } };
  const asking = { ...scene("guess-fold", "after"), title: "Guess", sentence: "B becomes one call.", guess };
  const picture = {
    ...{ version: 1, step: 0, mode: "after", group_by: "plates", caption: "B will be folded." },
    nodes: ["a", "b"].map((id) =>
      node(id, {
        title: id.toUpperCase(),
        plate: { cells: [1], places: [0, 0, 1, 1], unit: [10, 10], gap: 0, room: 80 },
      }),
    ),
  };
  const { root, press, head, model, close } = shown({
    steps: JSON.stringify([
      { index: 0, title: "compile", frame: frame("compile", 4), scenes: [asking, scene("fold")] },
    ]),
    picture: JSON.stringify(picture),
    coordinates: new Float32Array([10, 5, 20, 10, 110, 5, 20, 10]),
    view: { slides: "guess-fold", mode: "after" },
  });
  const selected = () => root.of("ce-plate").map((plate) => plate.getAttribute("aria-selected"));
  assert.match(head(), /^GuessWhich plates\? Click each of them, then Answer\./);
  assert.ok(root.button("Answer (Enter)").disabled);
  assert.ok(!root.of("ce-foot")[0].textContent.includes("B will be folded."));
  root.of("ce-plate")[0].dispatch("click");
  assert.deepEqual([selected(), model.get("selection")], [["true", "false"], []]);
  press("Enter");
  assert.equal(head(), "GuessNot quite. Not A: it is on level 0. Missing: B (dotted). B becomes one call.");
  assert.ok(root.of("ce-plate")[1].getAttribute("class").includes("ce-found"));
  assert.ok(root.button("Answer (Enter)").hidden);
  press("Enter");
  assert.equal(model.get("view").slides, "fold");
  press("ArrowLeft");
  assert.match(head(), /^GuessWhich plates/);
  root.of("ce-plate")[1].dispatch("click");
  root.button("Answer (Enter)").dispatch("click");
  assert.equal(head(), "GuessRight. B becomes one call.");
  close();
});

test("cells of a slide have the colours of their kinds, whatever the close-up shows", () => {
  const cells = { 7: [-1, 50] };
  const closer = { closeup: "values", showCloseup: true, details: { id: "sum", closeup: {} }, selection: ["sum"] };
  const run = { values: { runs: [{ cells }] }, run: 0, docked: { at: 0, key: "" } };
  const state = { ...closer, ...run, options: {}, steps: [], step: 0, picture: null };
  assert.equal(marksOf({ ...state, view: {} }).values.cells, cells);
  assert.equal(marksOf({ ...state, view: { slides: "steps" } }).values, null);
});
