/** The rule lens: matches and near misses dock entry by entry and question by question. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { readPicture } from "../../widgets/js/picture/reading.js";
import { allCells } from "../../widgets/js/plates/cells.js";
import { areasByBox, rewritten } from "../../widgets/js/plates/paint.js";
import { attemptOf, beatsOf, doneBefore, lensHull } from "../../widgets/js/plates/lens.js";
import { stopTime } from "./dom.mjs";
import { countHulls } from "../../widgets/js/parts/foot.js";
import { open } from "./graph.mjs";
import { node, step } from "./samples.mjs";

const row = [0, 0, 1, 1, 1, 0, 1, 1];
const plate = (id, cells, kind) =>
  node(id, {
    ids: cells,
    kind,
    count: 2,
    plate: { cells, places: row, unit: [10, 10], gap: 2, room: 80, calls: "2 calls" },
  });

const rules = {
  Candecomp: {
    meaning: "A sum over a product is one layer.",
    finds: [
      { place: "1st", title: "Sum", kind: "sum", questions: ["is it a Sum?", "is arity 1?"] },
      {
        place: "2nd",
        title: "Hadamard",
        kind: "product",
        questions: ["is it a Hadamard?", "is it read by at most one node?"],
      },
    ],
    makes: [{ title: "CPT", kind: "fused" }],
  },
  SumCollapse: {
    meaning: "",
    finds: [{ place: "1st", title: "Sum", kind: "sum", questions: ["is it a Sum?"] }],
    makes: [],
  },
};
const match = {
  id: "hull-0",
  kind: "match",
  nodes: ["a", "b"],
  label: "Candecomp: 2 matches",
  lens: {
    rule: "Candecomp",
    count: 2,
    noun: "Match",
    first: 1,
    total: 3,
    stop: "stop 1 of 2: Candecomp: 2 matches",
    verdict: "It matches.",
    attempts: [{ cells: [3, 1] }, { cells: [4, 2] }],
    saved: 1,
    made: [{ title: "CPT", kind: "fused" }],
    fill: "fused",
  },
};
const lost = {
  id: "hull-1",
  kind: "lost",
  nodes: ["b"],
  label: "SumCollapse",
  lens: {
    rule: "SumCollapse",
    count: 1,
    noun: "Match",
    first: 3,
    total: 3,
    stop: "stop 2 of 2: SumCollapse",
    attempts: [{ cells: [3], verdict: "It loses #3.", rival: { rule: "Candecomp", cells: [3, 1] } }],
  },
};
const miss = {
  id: "hull-2",
  kind: "near-miss",
  nodes: ["b", "a"],
  label: "Candecomp: 1 near miss",
  lens: {
    rule: "Candecomp",
    count: 7,
    noun: "Near miss",
    first: 1,
    total: 7,
    stop: "stop 1 of 1: Candecomp: 1 near miss (the first 1 one by one)",
    sign: "feeds 2 or more layers",
    what_if: { text: "Candecomp would match once more: #4 + #2.", matches: [[4, 2]] },
    attempts: [{ cells: [4, 2], question: 3, verdict: "It stops.", lines: [2, 3, 2, 4] }],
  },
};

const data = (more = {}) => ({
  version: 1,
  step: 0,
  mode: "before",
  group_by: "plates",
  nodes: [plate("a", [1, 2], "product"), plate("b", [3, 4], "sum")],
  edges: [{ source: "a", target: "b", count: 2, pairs: [0, 0, 1, 1] }],
  hulls: [match, lost],
  misses: [miss],
  rules,
  ...more,
});
const floats = new Float32Array([10, 5, 20, 10, 110, 5, 20, 10]);
const read = () => readPicture(data(), floats);

test("a match answers all questions; a near miss stops at the first no", () => {
  const picture = read();
  const short = (beats) =>
    beats.map(({ side, entry, question, passed }) => `${side}${entry}${question}${passed ? "" : "!"}`);
  const beats = (id, number = 0) => {
    const hull = lensHull(picture, id);
    return short(beatsOf(attemptOf(hull, number), picture.rules.get(hull.lens.rule), hull.kind === "near-miss"));
  };
  assert.deepEqual(beats("hull-0"), ["00-1", "000", "001", "01-1", "010", "011"]);
  assert.deepEqual(beats("hull-1"), ["00-1", "000", "10-1", "11-1"]);
  assert.deepEqual(beats("hull-2"), ["00-1", "000", "001", "01-1", "010", "011!"]);
  assert.equal(lensHull(picture, "gone"), null);
  const unknown = { ...attemptOf(lensHull(picture, "hull-2"), 0), question: -1 };
  assert.deepEqual(short(beatsOf(unknown, picture.rules.get("Candecomp"), true)).slice(3), ["01-1", "01-1!"]);
});

test("after some matches their layers are replaced by one that has their lines", () => {
  const picture = read();
  const done = doneBefore(picture, lensHull(picture, "hull-0"), 1);
  assert.deepEqual([done.count, done.saved], [1, 1]);
  assert.deepEqual(
    [...done.layers],
    [
      [3, { fill: "fused", root: 3 }],
      [1, { fill: null, root: 3 }],
    ],
  );
  assert.equal(doneBefore(picture, lensHull(picture, "hull-1"), 0).count, 2);
  const cells = allCells(picture).map((cell) => ({ cell, area: cell.area, alpha: 1 }));
  assert.deepEqual(
    rewritten(cells, done.layers).map(({ alpha }) => alpha < 1),
    [true, false, false, false],
  );
  const areas = areasByBox(cells, done.layers);
  assert.equal(areas.get("a")?.[0], areas.get("b")?.[0]);
  assert.notEqual(areas.get("a")?.[1], areas.get("b")?.[1]);
});

const page = (more = {}) =>
  open({
    picture: JSON.stringify(data()),
    coordinates: floats,
    steps: JSON.stringify([step(0), step(1)]),
    view: { mode: "before" },
    ...more,
  });
const said = (root, name) => root.of(name).map((element) => element.textContent);

test("the pager counts matches, and the outlines that stand for them", () => {
  const hulls = [
    { kind: "match", count: 4 },
    { kind: "match", count: 1 },
    { kind: "lost", count: 1 },
  ];
  assert.equal(countHulls(hulls), "5 matches, 1 lost in 3 outlines");
  assert.equal(countHulls(hulls.slice(1)), "1 match, 1 lost");
  assert.equal(countHulls(hulls.slice(0, 1)), "4 matches in 1 outline");
});

test("] leads to the state before the step only where that can be shown", async (context) => {
  const pass = stopTime(context);
  const after = data({ mode: "diff", hulls: [], misses: [], rules: {}, matches: [match] });
  for (const [modes, mode, said] of [
    [["diff"], "diff", "The matches of this step are on the state before it, which is not shown here."],
    [["diff", "before"], "before", ""],
  ]) {
    const steps = JSON.stringify([step(0), step(1)]);
    const { model, root, press, close } = open({
      picture: JSON.stringify(after),
      coordinates: floats,
      steps,
      view: { mode: "diff" },
      options: { modes },
    });
    await pass(30);
    press("]");
    assert.equal(model.get("view").mode, mode);
    assert.equal(root.of("ce-caption")[0].textContent, said);
    close();
  }
});

test("] docks the entries of a match in turn, with a tick for each question", async (context) => {
  const pass = stopTime(context);
  const { root, press, close } = page();
  await pass(700);
  assert.ok(root.of("ce-lens")[0].hidden);
  press("]");
  await pass(30);
  const waiting = () => root.of("ce-dock").filter((one) => one.getAttribute("class").includes("ce-waiting")).length;
  assert.deepEqual([waiting(), said(root, "ce-lens-yes").length], [2, 0]);
  await pass(500);
  assert.equal(waiting(), 1);
  assert.match(said(root, "ce-lens-entries")[0], /1st Sum → #3/);
  await pass(3000);
  assert.deepEqual([waiting(), said(root, "ce-lens-yes").length, said(root, "ce-lens-open").length], [0, 4, 0]);
  assert.match(said(root, "ce-lens-place")[0], /^Match 1 of 3stop 1 of 2: Candecomp: 2 matches$/);
  press("}");
  await pass(30);
  assert.match(said(root, "ce-lens-place")[0], /^Match 2 of 3/);
  assert.match(said(root, "ce-lens-done")[0], /After 1 match: 3 layers/);
  press("}");
  await pass(30);
  assert.match(said(root, "ce-lens-place")[0], /^Match 3 of 3stop 2 of 2/);
  press("Escape");
  assert.ok(root.of("ce-lens")[0].hidden);
  assert.equal(root.of("ce-dock").length, 0);
  close();
});

test("the next match of the only one keeps the lens open", async (context) => {
  const pass = stopTime(context);
  const lens = { ...match.lens, count: 1, total: 1, attempts: [{ cells: [3, 1] }] };
  const { root, press, close } = page({ picture: JSON.stringify(data({ hulls: [{ ...match, lens }], misses: [] })) });
  await pass(700);
  press("]");
  press("}");
  press("{");
  await pass(30);
  assert.equal(root.of("ce-lens")[0].hidden, false);
  close();
});

test("with reduced motion a near miss is at once at the layer that refused", async (context) => {
  const pass = stopTime(context);
  globalThis.matchMedia = (query) => ({
    matches: query.includes("reduced-motion"),
    addEventListener() {},
    removeEventListener() {},
  });
  context.after(() => delete globalThis.matchMedia);
  const { root, press, close } = page();
  await pass(30);
  press("[");
  await pass(30);
  assert.deepEqual(said(root, "ce-lens-no"), ["✕is it read by at most one node?: no"]);
  assert.equal(said(root, "ce-lens-verdict")[0], "It stops.");
  assert.equal(root.of("ce-dock-refused").length, 1);
  assert.deepEqual(
    root.of("ce-blamed").map((line) => line.getAttribute("visibility")),
    ["visible", "visible"],
  );
  assert.match(said(root, "ce-lens-place")[0], /^Near miss 1 of 7.*the first 1 one by one/);
  const otherwise = () => root.of("ce-otherwise")[0].getAttribute("visibility");
  assert.deepEqual([otherwise(), root.of("ce-what-if-answer").length], ["hidden", 0]);
  root.of("ce-what-if")[0].dispatch("click");
  await pass(30);
  assert.deepEqual([otherwise(), root.of("ce-otherwise")[0].childNodes.length], ["visible", 2]);
  assert.deepEqual(said(root, "ce-what-if-answer"), ["Candecomp would match once more: #4 + #2."]);
  assert.equal(root.of("ce-what-if")[0].getAttribute("aria-expanded"), "true");
  close();
});

test("a host that answers on request is asked once; its answer is read out", async (context) => {
  const pass = stopTime(context);
  const answered = { text: "Candecomp would match once more: #4 + #2.", matches: [[4, 2]] };
  const withAnswer = (what_if) => data({ misses: [{ ...miss, lens: { ...miss.lens, what_if } }] });
  const { root, press, model, close } = page({ picture: JSON.stringify(withAnswer({ text: "", matches: [] })) });
  await pass(30);
  press("[");
  await pass(9000);
  root.of("ce-what-if")[0].dispatch("click");
  await pass(30);
  assert.equal(model.get("request").name, "what-if:hull-2");
  assert.equal(root.of("ce-what-if-answer").length, 0);
  await model.put({ picture: JSON.stringify(withAnswer(answered)) });
  await pass(30);
  assert.deepEqual(said(root, "ce-what-if-answer"), [answered.text]);
  assert.equal(root.of("ce-said").at(-1).textContent, answered.text);
  for (const shown of [0, 1]) {
    root.of("ce-what-if")[0].dispatch("click");
    await pass(30);
    assert.equal(root.of("ce-what-if-answer").length, shown);
  }
  assert.equal(model.get("request").n, 1);
  close();
});

test("a link to a match after the last shows the last; an unknown match is named", async (context) => {
  const pass = stopTime(context);
  const traits = { picture: JSON.stringify(data()), coordinates: floats, steps: JSON.stringify([step(0), step(1)]) };
  const linked = open({ ...traits, view: { mode: "before", hull: "hull-0", match: 500 } });
  await pass(30);
  assert.match(said(linked.root, "ce-lens-place")[0], /^Match 2 of 3/);
  linked.press("{");
  await pass(30);
  assert.match(said(linked.root, "ce-lens-place")[0], /^Match 1 of 3/);
  await linked.model.put({ view: { ...linked.model.get("view"), match: 500 } });
  await pass(30);
  assert.match(said(linked.root, "ce-lens-place")[0], /^Match 2 of 3/);
  linked.close();
  const unknown = open({ ...traits, view: { mode: "before", hull: "hull-9" } });
  await pass(30);
  assert.deepEqual(said(unknown.root, "ce-caption"), ["The match that the link names is not in this picture."]);
  assert.ok(unknown.root.of("ce-lens")[0].hidden);
  unknown.close();
});

test("the boxes of a rule are as wide as its longest title", async (context) => {
  const pass = stopTime(context);
  const widthOf = async (title) => {
    const [first, second] = rules.Candecomp.finds;
    const renamed = { ...rules, Candecomp: { ...rules.Candecomp, finds: [{ ...first, title }, second] } };
    const { root, press, close } = page({ picture: JSON.stringify(data({ rules: renamed })) });
    await pass(30);
    press("]");
    await pass(9000);
    const [box] = root.of("ce-lens-picture")[0].all(({ tagName }) => tagName === "rect");
    close();
    return Number(box.getAttribute("width"));
  };
  assert.equal(await widthOf("Sum"), 92);
  assert.ok((await widthOf("any operator at all")) >= 19 * 7);
});

test("another step closes the rule lens", async (context) => {
  const pass = stopTime(context);
  const { root, press, model, close } = page();
  await pass(30);
  press("]");
  await pass(300);
  assert.ok(!root.of("ce-lens")[0].hidden);
  press("ArrowRight");
  await pass(30);
  assert.deepEqual([model.get("step"), model.get("view").hull, root.of("ce-lens")[0].hidden], [1, "", true]);
  close();
});

test("a conflict docks both sides; ] in the state after goes to the first match", async (context) => {
  const pass = stopTime(context);
  const { root, press, model, close } = page();
  await pass(30);
  press("]");
  press("]");
  await pass(3000);
  assert.equal(root.of("ce-dock").length, 3);
  assert.match(said(root, "ce-lens-rival")[0], /The winner: Candecomp at #3, #1/);
  assert.equal(said(root, "ce-lens-verdict")[0], "It loses #3.");
  await model.put({
    picture: JSON.stringify(data({ mode: "diff", hulls: [], misses: [], rules: {}, matches: [match] })),
  });
  await pass(30);
  press("]");
  assert.deepEqual([model.get("view").mode, model.get("view").hull], ["before", "hull-0"]);
  close();
});

test("] says so where nothing matched, until the next picture", async (context) => {
  const pass = stopTime(context);
  const none = data({ hulls: [], misses: [], rules: {}, caption: "Nothing changed." });
  const { root, model, press, close } = open({
    picture: JSON.stringify(none),
    coordinates: floats,
    steps: JSON.stringify([step(0), step(1)]),
    view: { mode: "before" },
  });
  await pass(30);
  press("]");
  const words = "This step has no matches and no near misses.";
  assert.deepEqual([said(root, "ce-caption"), root.of("ce-said").at(-1).textContent], [[words], words]);
  await model.put({ picture: JSON.stringify({ ...none, caption: "Another." }) });
  await pass(30);
  assert.deepEqual(said(root, "ce-caption"), ["Another."]);
  close();
});

test("w says what a step without near misses to show has instead", async (context) => {
  const pass = stopTime(context);
  const pin = { id: "pin-1", kind: "waits", text: "2 equal layers", reason: "", plates: [], at: [0, 0, 10, 10] };
  for (const [misses, pins, words] of [
    [0, [], "This step has no near misses."],
    [0, [pin], "This step has no near misses of a rule; the pins say why layers are not fewer."],
    [12, [pin], "The rule lens shows none of the near misses of this step, 12 in all."],
  ]) {
    const none = data({ hulls: [], misses: [], rules: {}, pins });
    const all = [{ ...step(0), near_misses: misses }, step(1)];
    const { root, press, close } = page({ picture: JSON.stringify(none), steps: JSON.stringify(all) });
    await pass(30);
    press("w");
    assert.deepEqual(said(root, "ce-caption"), [words]);
    close();
  }
});

test("the open rule lens has the only counter, and a button keeps the focus", async (context) => {
  const pass = stopTime(context);
  const { root, press, close } = page();
  await pass(30);
  const pager = root.of("ce-pager")[0];
  assert.ok(!pager.hidden);
  pager.all(({ tagName }) => tagName === "button")[0].focus();
  press("]");
  await pass(30);
  assert.ok(pager.hidden);
  assert.equal(root.ownerDocument.activeElement, root.button("Next match of this kind"));
  press("Escape");
  await pass(30);
  assert.ok(!pager.hidden);
  close();
});

test("the help says what t does in this host", () => {
  for (const [options, words] of [
    [{}, /ttimes in the details/],
    [{ requests: ["timing"] }, /ttime every step and its layers/],
  ]) {
    const { root, press, close } = open({ picture: JSON.stringify(data()), coordinates: floats, options });
    press("?");
    assert.match(root.of("ce-help")[0].textContent, words);
    close();
  }
});
