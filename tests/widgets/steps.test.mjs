import assert from "node:assert/strict";
import { test } from "node:test";

import view from "../../widgets/js/steps.js";
import { readTree } from "../../widgets/js/steps/reading.js";
import { newDocument, newModel, settled } from "./dom.mjs";

const step = (index, label, groups, more = {}) => ({
  index,
  path: `p${index}`,
  title: `Step ${index} of 5: ${label}`,
  label,
  groups,
  summary: "",
  changed: true,
  ok: null,
  error: "",
  layers: 1000 + index,
  folds: 1,
  matches: 0,
  near_misses: 0,
  seconds: 0,
  ...more,
});

const STEPS = [
  step(0, "compile", []),
  step(1, "collect", ["Optimize", "Round 1"], { changed: false }),
  step(2, "fuse", ["Optimize", "Round 1"], { summary: "Candecomp x12", ok: true }),
  step(3, "shatter", ["Optimize", "Round 2"], { ok: false }),
  step(4, "level 1", ["Fold"], { error: "no rule", changed: false }),
  step(5, "level 2", ["Fold"], { changed: false }),
];

/** The tree in a document of its own; `rows` are what can be reached, in order. */
function open(more = {}) {
  const document = newDocument();
  const el = document.createElement("div");
  document.body.appendChild(el);
  const model = newModel({ steps: JSON.stringify(STEPS), ...more });
  const close = view.render({ model, el });
  const tree = el.of("ces-tree")[0];
  const all = () => tree.all((item) => item.getAttribute("role") === "treeitem");
  const seen = (item) => {
    for (let node = item.parentNode; node !== tree; node = node.parentNode) if (node.hidden) return false;
    return true;
  };
  const name = (item) => item.of("ces-label")[0].textContent;
  const rows = () => all().filter(seen).map(name);
  const item = (label) => all().find((one) => name(one) === label);
  const stop = () =>
    all()
      .filter((one) => one.getAttribute("tabindex") === "0")
      .map(name);
  const press = (key, fields = {}) =>
    (all().find((one) => one.getAttribute("tabindex") === "0") ?? tree).dispatch("keydown", { key, ...fields });
  const filter = (words) => {
    const [input] = el.all((one) => one.getAttribute("type") === "search");
    input.value = words;
    input.dispatch("input");
  };
  const changing = (on) => model.put({ options: { ...model.get("options"), any_step: !on } });
  const chosen = () =>
    all()
      .filter((one) => one.getAttribute("aria-selected") === "true")
      .map(name);
  return { document, el, model, close, tree, rows, item, stop, press, filter, changing, chosen };
}

test("the steps are under their groups, with the roles and levels of a tree", () => {
  const { tree, rows, item, close } = open();
  assert.equal(tree.getAttribute("role"), "tree");
  assert.deepEqual(rows(), ["compile", "Optimize", "Round 1", "fuse", "Round 2", "shatter", "Fold", "level 1"]);
  assert.deepEqual(
    ["compile", "Optimize", "Round 1", "fuse", "level 1"].map((label) => item(label).getAttribute("aria-level")),
    ["1", "1", "2", "3", "2"],
  );
  const above = (label) => {
    let node = item(label).parentNode;
    while (node.getAttribute("role") === "none") node = node.parentNode;
    return node;
  };
  assert.equal(above("compile"), tree);
  assert.equal(above("fuse").getAttribute("role"), "group");
  assert.equal(above("fuse").parentNode.childNodes[0], item("Round 1"), "the group stands with its row");
  assert.equal(item("Optimize").getAttribute("aria-expanded"), "true");
  assert.equal(item("fuse").getAttribute("aria-expanded"), null);
  close();
});

test("a step says name, layers and whether its output agrees; failures are marked", () => {
  const { item, close } = open();
  const mark = (label) => item(label).of("ces-mark")[0].textContent;
  assert.deepEqual(["compile", "fuse", "shatter", "level 1"].map(mark), ["", "✓", "✕", "✕"]);
  const said = (label) =>
    ["ces-label", "ces-what", "ces-count", "ces-said"]
      .map((part) => item(label).of(part)[0].textContent)
      .filter(Boolean)
      .join(" ");
  assert.equal(said("compile"), "compile 1,000 layers");
  assert.equal(said("fuse"), "fuse Candecomp x12 1,002 layers, the output agrees");
  assert.equal(said("shatter"), "shatter 1,003 layers, the output differs");
  assert.equal(said("level 1"), "level 1 1,004 layers, failed");
  assert.equal(item("fuse").of("ces-mark")[0].getAttribute("aria-hidden"), "true", "the words say it");
  assert.match(item("level 1").getAttribute("title"), /no rule/);
  close();
});

test("steps that change nothing are hidden, except the current one or on request", async () => {
  const { rows, changing, model, close } = open();
  assert.ok(!rows().includes("collect") && !rows().includes("level 2"));
  await model.put({ step: 1 });
  assert.ok(rows().includes("collect"));
  await changing(false);
  assert.deepEqual(
    rows().filter((label) => /collect|level 2/.test(label)),
    ["collect", "level 2"],
  );
  await changing(true);
  assert.ok(!rows().includes("level 2"));
  close();
});

test("the filter looks for all words in titles, summaries and groups, closed ones too", () => {
  const { el, rows, filter, item, close } = open();
  item("Optimize").dispatch("click");
  assert.ok(!rows().includes("fuse"));
  filter("candecomp ROUND");
  assert.deepEqual(rows(), ["Optimize", "Round 1", "fuse"]);
  filter("no such thing");
  assert.deepEqual(rows(), []);
  assert.equal(el.of("ces-none")[0].textContent, "No step matches the filter.");
  assert.equal(el.of("ces-none")[0].hidden, false);
  filter("");
  assert.deepEqual(rows(), ["compile", "Optimize", "Fold", "level 1"], "the group is closed as before");
  close();
});

test("a click closes a group and opens it again", () => {
  const { rows, item, close } = open();
  item("Round 1").dispatch("click");
  assert.deepEqual(rows(), ["compile", "Optimize", "Round 1", "Round 2", "shatter", "Fold", "level 1"]);
  assert.equal(item("Round 1").getAttribute("aria-expanded"), "false");
  item("Round 1").dispatch("click");
  assert.ok(rows().includes("fuse"));
  close();
});

test("selecting a step writes `step` exactly once", () => {
  const { model, item, chosen, close } = open();
  item("fuse").dispatch("click");
  assert.deepEqual(model.sent, [{ step: 2 }]);
  assert.deepEqual(chosen(), ["fuse"]);
  item("fuse").dispatch("click");
  assert.equal(model.sent.length, 1);
  close();
});

test("the arrows, Home and End move the one tab stop, Enter and Space choose", () => {
  const { document, model, press, stop, item, chosen, close } = open();
  assert.deepEqual(stop(), ["compile"]);
  press("ArrowDown");
  assert.deepEqual(stop(), ["Optimize"]);
  assert.equal(document.activeElement, item("Optimize"));
  for (let times = 0; times < 2; times += 1) press("ArrowDown");
  assert.deepEqual(stop(), ["fuse"]);
  assert.deepEqual(model.sent, [], "moving chooses nothing");
  press("Enter");
  assert.deepEqual(model.sent, [{ step: 2 }]);
  press("End");
  assert.deepEqual(stop(), ["level 1"]);
  press("ArrowDown");
  assert.deepEqual(stop(), ["level 1"], "it stays at the end");
  press(" ");
  assert.deepEqual(chosen(), ["level 1"]);
  press("Home");
  assert.deepEqual(stop(), ["compile"]);
  press("ArrowUp");
  assert.deepEqual(stop(), ["compile"]);
  close();
});

test("Left goes to the group and closes it, Right opens it and goes in", () => {
  const { press, stop, rows, item, close } = open();
  for (let times = 0; times < 3; times += 1) press("ArrowDown");
  press("ArrowLeft");
  assert.deepEqual(stop(), ["Round 1"]);
  press("ArrowLeft");
  assert.equal(item("Round 1").getAttribute("aria-expanded"), "false");
  assert.ok(!rows().includes("fuse"));
  press("ArrowLeft");
  assert.deepEqual(stop(), ["Optimize"]);
  press("ArrowLeft");
  assert.deepEqual(rows(), ["compile", "Optimize", "Fold", "level 1"]);
  press("ArrowRight");
  press("ArrowRight");
  assert.deepEqual(stop(), ["Round 1"]);
  press("Enter");
  assert.ok(rows().includes("fuse"), "Enter opens a group");
  close();
});

test("at the top Left stays where it is", () => {
  const { press, stop, rows, item, close } = open();
  press("End");
  press("ArrowLeft");
  assert.deepEqual(stop(), ["Fold"]);
  press("ArrowLeft");
  assert.equal(item("Fold").getAttribute("aria-expanded"), "false");
  press("ArrowLeft");
  assert.deepEqual(stop(), ["Fold"]);
  assert.ok(rows().includes("compile"));
  close();
});

test("keys of the tree do not reach the page; other keys and those with Ctrl do", () => {
  const { press, close } = open();
  const taken = press("ArrowDown");
  assert.ok(taken.defaultPrevented && taken.stopped);
  for (const event of [press("x"), press("ArrowDown", { ctrlKey: true }), press("ArrowDown", { altKey: true })])
    assert.ok(!event.defaultPrevented && !event.stopped);
  close();
});

test("a step that Python sets is the tab stop, and its group stays closed if it was", async () => {
  const { model, chosen, stop, item, rows, close } = open({ step: 3 });
  assert.deepEqual([chosen(), stop()], [["shatter"], ["shatter"]]);
  await model.put({ step: 2 });
  assert.deepEqual([chosen(), stop()], [["fuse"], ["fuse"]]);
  assert.deepEqual(model.sent, [], "what Python set is not sent back");
  item("Fold").dispatch("click");
  await model.put({ step: 4 });
  assert.ok(!rows().includes("level 1"));
  assert.deepEqual(stop().length, 1);
  close();
});

test("a redrawn tree keeps the focus", async () => {
  const { document, model, press, item, close } = open();
  press("ArrowDown");
  await model.put({ steps: JSON.stringify(STEPS.slice(0, 4)) });
  assert.equal(document.activeElement, item("Optimize"));
  close();
});

test("malformed steps show their error; good ones are shown afterwards", async () => {
  const { el, model, rows, press, close } = open({ steps: "[{" });
  assert.match(el.of("ces-none")[0].textContent, /^Cannot show the steps\. The steps are not JSON/);
  press("ArrowDown");
  await model.put({ steps: '{"a": 1}' });
  assert.match(el.of("ces-none")[0].textContent, /not a list/);
  await model.put({ steps: "[]" });
  assert.equal(el.of("ces-none")[0].textContent, "No steps yet.");
  await model.put({ steps: JSON.stringify(STEPS) });
  assert.equal(rows()[0], "compile");
  assert.equal(el.of("ces-none")[0].hidden, true);
  close();
});

test("unknown fields are ignored and missing ones have defaults", () => {
  assert.deepEqual(readTree('[{"path": "optimize/fuse", "novelty": {"a": 1}}]'), [
    {
      index: 0,
      label: "optimize/fuse",
      groups: [],
      title: "",
      summary: "",
      changed: true,
      ok: null,
      error: "",
      counted: "layers",
      layers: 0,
    },
  ]);
  assert.deepEqual(readTree(""), []);
  assert.equal(readTree([null])[0].label, "");
});

test("the requested theme, or the system's", async () => {
  globalThis.matchMedia = (query) => ({
    matches: query.includes("dark"),
    addEventListener() {},
    removeEventListener() {},
  });
  try {
    const { el, model, close } = open();
    const ground = () => el.of("ces-root")[0].style.getPropertyValue("--ces-bg");
    assert.equal(ground(), "#14171c");
    await model.put({ options: { theme: "light", height: 300 } });
    assert.equal(ground(), "#ffffff");
    assert.equal(el.of("ces-root")[0].style.getPropertyValue("height"), "300px");
    close();
  } finally {
    delete globalThis.matchMedia;
  }
});

test("closing removes all elements and listeners", async () => {
  const heard = [];
  globalThis.matchMedia = () => ({
    matches: false,
    addEventListener: (_, callback) => heard.push(callback),
    removeEventListener: (_, callback) => heard.splice(heard.indexOf(callback), 1),
  });
  try {
    const { el, model, close } = open();
    assert.equal(heard.length, 2);
    close();
    assert.equal(el.childNodes.length, 0);
    assert.equal(heard.length, 0);
    assert.equal(model.listening(), 0);
    await model.put({ step: 2 });
    await settled();
  } finally {
    delete globalThis.matchMedia;
  }
});
