import assert from "node:assert/strict";
import { test } from "node:test";

import { FIRST, PARTS, readCloseup, lookOf, readValues, valueOf } from "../../widgets/js/closeup/reading.js";
import {
  layStrips,
  linesPath,
  nameOf,
  numbersIn,
  readsOf,
  slicesPath,
  sourceName,
} from "../../widgets/js/closeup/memory.js";
import { paintPad } from "../../widgets/js/closeup/values.js";
import { maker } from "../../widgets/js/shared/elements.js";
import { newDocument, stopTime } from "./dom.mjs";
import { open } from "./graph.mjs";

const strip = (node, count) => ({
  title: `${count} slices of Sum #${node}`,
  kind: "sum",
  count,
  prefix: `#${node}[`,
  suffix: "]",
  numbers: [],
  apart: false,
});

/** Two slices that read the four slices of two other layers, crosswise. */
const MEMORY = {
  sentence: "Reads by gather.",
  line: "copyLine",
  sources: [strip(1, 2), strip(2, 2)],
  own: strip(3, 2),
  arity: 2,
  reads: [2, 0, 1, 3],
  copy: "copied: 4 KiB per example",
  cut: "",
};
const read = (more = {}) => readCloseup({ title: "Sum #3, 2 slices", memory: { ...MEMORY, ...more } }).memory;

test("slices are named by their layer and their number", () => {
  const memory = read();
  assert.deepEqual(
    readsOf(memory, 0).map((at) => sourceName(memory, at)),
    ["#2[0]", "#1[0]"],
  );
  assert.equal(nameOf({ ...strip(0, 2), prefix: "#", suffix: "", numbers: [7, 9] }, 1), "#9");
});

test("reading in order is drawn as vertical lines, whatever the width", () => {
  const memory = read({ copy: "", sources: [strip(1, 4)], reads: [0, 1, 2, 3] });
  for (const width of [60, 900]) {
    assert.match(linesPath(memory, layStrips(memory, width), 0, 2), /^(M[\d.]+ \d+V\d+){4}$/);
  }
});

test("a number is not wider than its slice: it is turned, or a narrow slice has none", () => {
  const numbers = (count, first, unit, gap = 0) => {
    const own = { ...strip(0, count), numbers: Array.from({ length: count }, (_, at) => first + at) };
    return numbersIn({ strip: own, unit, gap });
  };
  assert.deepEqual(numbers(3, 10, 18), { texts: ["10", "11", "12"], turned: false });
  assert.deepEqual(numbers(3, 98, 18, 4), { texts: ["98", "99", "100"], turned: true });
  assert.deepEqual(numbers(3, 98, 9).texts, []);
  assert.deepEqual(numbers(3, 9_998, 18).texts, []);
});

test("a copy is a strip of its own between what is read and the slices", () => {
  const copied = layStrips(read(), 400);
  assert.equal(copied.copy.count, 4);
  assert.ok(copied.rows[0].y < copied.copy.y && copied.copy.y < copied.own.y);
  assert.equal(layStrips(read({ copy: "" }), 400).copy, null);
  assert.equal((linesPath(read(), copied, 1, 2).match(/M/g) || []).length, 2);
});

test("slices without room for an outline are one block", () => {
  const row = { strip: strip(1, 500), x: 0, y: 0, unit: 1, gap: 0 };
  assert.equal((slicesPath(row, 22).match(/M/g) || []).length, 1);
  assert.equal((slicesPath({ ...row, unit: 8 }, 22).match(/M/g) || []).length, 500);
});

const details = (more = {}) =>
  JSON.stringify({
    id: "sum",
    title: "Sum",
    sections: [],
    closeup: { title: "Sum #3, 2 slices", memory: MEMORY },
    ...more,
  });

test("selecting a plate opens its close-up, and the index table is one switch away", async () => {
  const { root, model, close } = open({ selection: ["sum"] });
  const panel = root.of("ce-closeup")[0];
  assert.equal(panel.hidden, true);
  await model.put({ details: details() });
  assert.equal(panel.hidden, false);
  assert.match(panel.textContent, /Sum #3, 2 slices.*Reads by gather\..*copied: 4 KiB per example/s);
  root.button("Index table").dispatch("click");
  assert.match(panel.textContent, /#3\[0\]#2\[0\]#1\[0\]#3\[1\]#1\[1\]#2\[1\]/);
  close();
});

test("each part of the close-up has a button, and a link reopens it", async () => {
  assert.deepEqual(Object.values(PARTS), ["Memory", "Index table", "Parameters", "Values", "Code"]);
  assert.equal(FIRST, "memory");
  for (const [part, words] of Object.entries(PARTS)) {
    const { root, model, close } = open({ selection: ["sum"], details: details() });
    root.button(words).dispatch("click");
    assert.equal(model.get("view").closeup, part);
    close();
    const linked = open({ selection: ["sum"], details: details(), view: { closeup: part } });
    assert.equal(linked.root.button(words).getAttribute("aria-pressed"), "true");
    linked.close();
  }
});

test("a row of the index table lights its cell, and a cell lights its row", async () => {
  const { root, model, close } = open({ selection: ["sum"] });
  await model.put({ details: details() });
  root.button("Index table").dispatch("click");
  const [, first, second] = root.of("ce-closeup-table")[0].all((element) => element.tagName.toLowerCase() === "tr");
  second.dispatch("pointerenter");
  assert.deepEqual(
    [first, second].map((row) => row.getAttribute("class") || ""),
    ["", "ce-lit"],
  );
  second.parentNode.dispatch("pointerleave");
  assert.equal(second.getAttribute("class") || "", "");
  close();
});

test("without a close-up, or during a question, there is none", async () => {
  for (const [options, closeup] of [
    [{ asking: true }, undefined],
    [{}, null],
  ]) {
    const { root, close } = open({
      selection: ["sum"],
      options,
      details: details(closeup === null ? { closeup } : {}),
    });
    assert.equal(root.of("ce-closeup")[0].hidden, true);
    close();
  }
});

const VALUES = {
  version: 1,
  missing: "",
  image: [],
  most: 1,
  paints: true,
  runs: [0, 1].map((n) => ({
    label: `row ${n}`,
    x: [n, 0],
    outputs: { 0: "−4.2", 3: "−4.2" },
    same: `The output of row ${n} is −4.2 after each of these 2 steps.`,
    cells: { 7: [-1, 1], "12/1": [-2, 0] },
  })),
  looks: ["heat-0", "heat-50", "box"].map((fill) => ({ fill, ink: "fg" })),
  steps: [
    ["0", "compile"],
    ["3", "fuse"],
  ],
  scale: ["-3", "-1", "log-likelihood per variable"],
  note: "",
};

test("the host is asked for values once; the reader picks an input or runs their own", async () => {
  const { root, model, close } = open({ selection: ["sum"], details: details() });
  root.button("Values").dispatch("click");
  assert.equal(model.get("request").name, "values");
  const asked = model.get("request").n;
  root.button("Values").dispatch("click");
  assert.equal(model.get("request").n, asked);
  await model.put({ values: JSON.stringify(VALUES) });
  const panel = root.of("ce-closeup")[0];
  assert.match(panel.textContent, /The output of row 0 is −4\.2/);
  root.all((element) => element.getAttribute("title") === "row 1: 1, 0")[0].dispatch("click");
  assert.match(panel.textContent, /The output of row 1 is −4\.2/);
  const line = root.all((element) => element.getAttribute("type") === "text")[0];
  line.value = "1, no";
  root.button("Run").dispatch("click");
  assert.match(root.textContent, /expected 2 numbers, one for each variable/);
  line.value = "1, 1";
  root.button("Run").dispatch("click");
  assert.deepEqual(model.get("view").painted, [1, 1]);
  assert.equal(model.get("request").n, asked + 1);
  const runs = [...VALUES.runs, { ...VALUES.runs[0], label: "yours", same: "The output is −5." }];
  await model.put({ values: JSON.stringify({ ...VALUES, runs }) });
  assert.match(panel.textContent, /The output is −5\./);
  close();
});

test("a link to the values asks for them once the close-up is there, not before", async (context) => {
  const pass = stopTime(context);
  const { model, close } = open({ view: { closeup: "values" } });
  await pass(30);
  assert.notEqual(model.get("request")?.name, "values");
  await model.put({ selection: ["sum"], details: details() });
  await pass(30);
  assert.deepEqual(model.get("request"), { name: "values", n: 1 });
  await model.put({ details: details({ title: "Sum again" }) });
  await pass(30);
  assert.equal(model.get("request").n, 1);
  close();
});

test("why there are no values is said in words", async () => {
  const { root, close } = open({
    selection: ["sum"],
    details: details(),
    values: JSON.stringify({ missing: "This trace has no tensors." }),
  });
  root.button("Values").dispatch("click");
  assert.match(root.of("ce-closeup")[0].textContent, /This trace has no tensors\./);
  assert.ok(!root.button("Run inputs"));
  close();
});

test("after a run that was cancelled the inputs can be run again", async () => {
  const { root, model, close } = open({ selection: ["sum"], details: details() });
  root.button("Values").dispatch("click");
  await model.put({ values: JSON.stringify({ missing: "The run was cancelled.", paints: true }) });
  const asked = model.get("request").n;
  root.button("Run inputs").dispatch("click");
  assert.deepEqual(model.get("request"), { name: "values", n: asked + 1 });
  close();
});

test("the value and the look of a cell are those of its layer, or of its slice", () => {
  const { runs, looks } = readValues(VALUES);
  const box = (cells) => ({ ids: [12], plate: { cells } });
  assert.deepEqual(valueOf(runs[0].cells, box([7]), 0), [-1, 1]);
  assert.deepEqual(valueOf(runs[0].cells, box([-1, -1]), 1), [-2, 0]);
  assert.equal(valueOf(runs[0].cells, box([8]), 0), undefined);
  const values = { cells: runs[0].cells, looks };
  const fills = [7, 8].map((layer) => lookOf(values, box([layer]), 0).fill);
  assert.deepEqual(fills, ["heat-50", "box"]);
});

const sheet = (title, rows, columns) => ({
  title,
  shape: `${rows}×${columns}`,
  rows,
  columns,
  values: Array.from({ length: rows * columns }, (_, at) => at),
  scale: ["0", String(rows * columns - 1)],
});
const PARAMETERS = {
  lines: ["weight: 3 sheets of 4×5, MatMul(Tensor 4×1, Tensor 1×5)"],
  slice: 2,
  count: 3,
  of: "slice 2 of 3",
  sheets: [sheet("A", 4, 1), sheet("B", 1, 5), sheet("weight = A · B", 4, 5)],
  overview: [],
  missing: "",
};

test("a product of sheets is thin, thin and full, and the reader goes through slices", async () => {
  const closeup = { title: "Sum #3, 3 slices", memory: MEMORY, parameters: PARAMETERS };
  const { root, model, close } = open({ selection: ["sum"], details: details({ closeup }) });
  root.button("Parameters").dispatch("click");
  assert.equal(model.get("view").closeup, "parameters");
  const sizes = root
    .of("ce-sheet")
    .map((figure) => figure.all((element) => element.tagName.toLowerCase() === "canvas")[0])
    .map((canvas) => ["height", "width"].map((side) => Number(canvas.getAttribute(side)) / 18));
  assert.deepEqual(sizes, [
    [4, 1],
    [1, 5],
    [4, 5],
  ]);
  root.button("Next").dispatch("click");
  assert.equal(model.get("view").slice, 0); // the last one was shown
  close();
});

test("a page without Python cannot show other slices", () => {
  const closeup = { title: "Sum #3, 3 slices", memory: MEMORY, parameters: PARAMETERS };
  const { root, close } = open({ selection: ["sum"], details: details({ closeup }), options: { actions: false } });
  root.button("Parameters").dispatch("click");
  assert.equal(root.all((element) => element.textContent === "Next").length, 0);
  assert.match(root.of("ce-closeup")[0].textContent, /slice 2 of 3/);
  close();
});

test("the code is the lines that run, the formula and the shapes", () => {
  const lines = ["x = y1.reshape(4, 1, B, 16)", "y2 = Sum(x, weight)"];
  const code = {
    lines,
    formula: "y = w x",
    shapes: "x 4×1×B×16",
    source: "def forward(self):",
    where: "inner, line 3",
  };
  const closeup = { title: "Sum #2, 4 slices", memory: MEMORY, code };
  const { root, close } = open({ selection: ["sum"], details: details({ closeup }) });
  root.button("Code").dispatch("click");
  const words = root.of("ce-closeup")[0].textContent;
  for (const part of [...lines, "y = w x", "x 4×1×B×16", "def forward", "inner, line 3"])
    assert.ok(words.includes(part));
  close();
});

test("a stroke that the browser cancels ends, too", () => {
  const runs = [];
  const ui = { ...maker(newDocument()), guard: (action) => action, announce: () => undefined };
  const pad = paintPad(ui, [0, 0, 0, 0], [1, 2, 2], 9, (x) => runs.push([...x]));
  pad.dispatch("pointerdown", { clientX: 1, clientY: 1 });
  pad.dispatch("pointercancel");
  pad.dispatch("pointermove", { clientX: 899, clientY: 1 });
  pad.dispatch("pointerup");
  assert.deepEqual(runs, [[9, 0, 0, 0]]);
});
