import assert from "node:assert/strict";
import { test } from "node:test";

import { readCloseup } from "../../widgets/js/closeup/reading.js";
import { layStrips, linesPath, nameOf, readsOf, slicesPath, sourceName } from "../../widgets/js/closeup/strips.js";
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
