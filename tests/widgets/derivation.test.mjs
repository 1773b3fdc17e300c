import assert from "node:assert/strict";
import { test } from "node:test";

import view from "../../widgets/js/derivation.js";
import { placeWords, readDerivation, relativesOf } from "../../widgets/js/derivation/reading.js";
import { newDocument, newModel } from "./dom.mjs";

const circuit = (label, cells) => ({
  label,
  text: `${cells.length} layers`,
  made: label === "A" ? "" : "It has no new parameters.",
  width: 200,
  height: 100,
  plates: [
    {
      title: "Sum",
      kind: "sum",
      units: "4",
      at: [10, 20, 90, 30],
      cells,
      places: cells.flatMap((_, at) => [10 + 30 * at, 20, 28, 28]),
    },
  ],
  lines: [],
});
/** A product of A with itself, and the integral of it: layer 0 comes from 1, and layer 1 from 0. */
const derivation = (more = {}) => ({
  version: 1,
  circuits: [circuit("A", [0, 1]), circuit("multiply(A, A)", [0, 1]), circuit("integrate(multiply(A, A))", [0, 1])],
  origins: [
    [1, 0, 0, 1],
    [1, 1, 0, 0],
    [2, 0, 1, 0],
    [2, 1, 1, 1],
  ],
  chosen: [],
  note: "",
  ...more,
});

function open(data) {
  const el = newDocument().createElement("div");
  const model = newModel({
    derivation: data ? JSON.stringify(data) : "",
    options: {},
  });
  const close = view.render({ model, el });
  const lit = () => el.of("ced-on").map((cell) => cell.getAttribute("aria-label"));
  return { el, model, close, lit, cells: () => el.of("ced-cell") };
}

test("relatives are the sources and results of a layer through all operators", () => {
  const { origins } = readDerivation(JSON.stringify(derivation()));
  assert.deepEqual([...relativesOf(origins, ["0/1"])], ["0/1", "1/0", "2/0"]);
  assert.deepEqual([...relativesOf(origins, ["2/1"])].sort(), ["0/0", "1/1", "2/1"]);
  const shared = [
    [1, 0, 0, 0],
    [1, 1, 0, 0],
  ];
  assert.deepEqual([...relativesOf(shared, ["1/0"])], ["1/0", "0/0"], "not the other layer that was made of it");
});

test("a click lights up and names a layer and its relatives; another one ends it", () => {
  const { el, cells, lit, close } = open(derivation());
  assert.equal(el.of("ced-arrow").length, 2, "before each circuit that an operator made");
  assert.match(el.textContent, /Click a layer/);
  cells()[5].dispatch("click");
  assert.deepEqual(lit(), [
    "Sum 0 of A, units: 4",
    "Sum 1 of multiply(A, A), units: 4",
    "Sum 1 of integrate(multiply(A, A)), units: 4",
  ]);
  assert.match(el.textContent, /Sum 0 of A → Sum 1 of multiply\(A, A\) → Sum 1 of integrate/);
  cells()[5].dispatch("click");
  assert.deepEqual(lit(), []);
  close();
});

test("the arrow keys move from layer to layer", () => {
  const { el, lit } = open(derivation());
  el.of("ced-circuits")[0].dispatch("keydown", {
    key: "ArrowDown",
    preventDefault() {},
  });
  assert.deepEqual(lit()[0], "Sum 1 of A, units: 4");
});

test("layers that the host chose are lit, and a note replaces an undrawn picture", async () => {
  const { el, model, lit } = open(derivation({ chosen: [[2, 0]] }));
  assert.deepEqual(lit(), [
    "Sum 1 of A, units: 4",
    "Sum 0 of multiply(A, A), units: 4",
    "Sum 0 of integrate(multiply(A, A)), units: 4",
  ]);
  await model.put({
    derivation: JSON.stringify(derivation({ circuits: [], origins: [], note: "Too many." })),
  });
  assert.match(el.textContent, /Too many\./);
  await model.put({ derivation: "{" });
  assert.match(el.textContent, /Cannot draw this derivation/);
});

test("titles and numbers are written where there is room, and numbers come first", () => {
  const plate = (title, at) => ({ title, kind: "sum", units: "16", at, cells: [], places: [] });
  const drawn = (gap) => ({
    ...circuit("A", []),
    width: 400,
    plates: [plate("Categorical", [40, 40, 20, 20]), plate("Hadamard", [60 + gap, 40, 20, 20])],
  });
  const words = (gap) => placeWords(drawn(gap), 12, 12).map((one) => one.words);
  assert.deepEqual(words(100), ["16", "16", "Categorical", "Hadamard"]);
  assert.deepEqual(words(30), ["16", "16", "Categorical"]);
});

test("a line leads from each plate to those that read it", () => {
  const [below, above] = [circuit("A", [0]).plates[0], { ...circuit("A", [1]).plates[0], at: [150, 60, 28, 28] }];
  const drawn = { ...circuit("A", [0, 1]), plates: [below, above], lines: [[0, 1]] };
  const { el } = open(derivation({ circuits: [drawn], origins: [] }));
  assert.deepEqual(
    el.of("ced-link").map((line) => line.getAttribute("d")),
    ["M100 35C125 35 125 74 150 74"],
  );
});
