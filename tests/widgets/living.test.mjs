import assert from "node:assert/strict";
import { test } from "node:test";

import { believe, dream } from "../../widgets/js/living/beliefs.js";
import { completed, marginal, readModel, repeatable, upward } from "../../widgets/js/living/model.js";
import { hasSampled } from "../../widgets/js/controls/living.js";
import { paintBelief, tilesOf } from "../../widgets/js/living/paint.js";
import { svgPen } from "../../widgets/js/plates/svg_pen.js";
import { paletteFor } from "../../widgets/js/shared/theme.js";
import { endWords, nearestOf, valueWords } from "../../widgets/js/living/words.js";
import { open } from "./graph.mjs";

const packed = (numbers) => {
  const bytes = new Uint8Array(Float32Array.from(numbers).buffer);
  const planes = [0, 1, 2, 3].flatMap((plane) => [...bytes].filter((_, at) => at % 4 === plane));
  return btoa(String.fromCharCode(...planes));
};

/** Two coins of which both are heads or both are tails, with probability 0.9 each: a mixture of two products. */
const COINS = {
  version: 1,
  missing: "",
  note: "Two coins.",
  image: [],
  variables: ["left", "right"].map((name) => ({ name, states: 2, span: [0, 1] })),
  layers: [
    { kind: "table", inputs: [], units: 2, at: 0, variables: [0] },
    { kind: "table", inputs: [], units: 2, at: 0, variables: [1] },
    { kind: "product", inputs: [0, 1], units: 2, at: 0 },
    { kind: "sum", inputs: [2], units: 1, at: 4 },
  ],
  root: 3,
  cells: { 1: 3 },
  blocks: [
    [2, 2, 0],
    [1, 2, 0],
  ],
  numbers: packed([0.9, 0.1, 0.1, 0.9, 0.5, 0.5].map(Math.log)),
  codes: "",
  examples: [{ label: "heads", x: [1, 1] }],
};

test("a coin tells of the other one", () => {
  const model = readModel(COINS);
  const { log, units, beliefs } = believe(model, dream(model), [1, null]);
  assert.ok(Math.abs(log - Math.log(0.5)) < 1e-6);
  const shares = marginal(model, 1, [1, null], units);
  assert.ok(Math.abs(shares[1] - (0.9 * 0.9 + 0.1 * 0.1)) < 1e-6);
  assert.ok(Math.abs(beliefs[3].shares[1] - 0.9) < 1e-6);
  assert.ok(Math.abs(beliefs[2].bits - (1 + 0.9 * Math.log2(0.9) + 0.1 * Math.log2(0.1))) < 1e-6);
  assert.deepEqual([...beliefs[0].shown], [0, 1]); // observed
});

test("what is impossible is believed by nobody", () => {
  const never = readModel({ ...COINS, numbers: packed([1, 0, 1, 0, 0.5, 0.5].map(Math.log)) });
  const { log, beliefs } = believe(never, dream(never), [1, null]);
  assert.equal(log, -Infinity);
  assert.deepEqual(beliefs, [null, null, null, null]);
});

test("a zero weight beside a much larger input hides no term", () => {
  const far = readModel({ ...COINS, numbers: packed([0, 0, -900, -900, -Infinity, 0]) });
  assert.ok(Math.abs(upward(far, [0, 0])[3][0] + 1800) < 1e-3);
});

test("numbers in steps below the largest of their row", () => {
  const codes = btoa(String.fromCharCode(0, 2, 4, 0));
  const blocks = [[2, 2, 0.5], COINS.blocks[1]];
  const model = readModel({ ...COINS, blocks, numbers: packed([-1, -3, 0, 0]), codes });
  assert.deepEqual([...model.numbers], [-1, -2, -5, -3, 0, 0]);
});

test("damaged data are said, and never read", () => {
  const [first, ...others] = COINS.layers;
  for (const more of [
    { root: 9 },
    { blocks: [[1e15, 0, 0]] },
    { blocks: [[2, 2, 0]] },
    { layers: [{ ...first, units: 1e9 }, ...others] },
    { layers: [...COINS.layers.slice(0, 3), { ...COINS.layers[3], inputs: [3] }] },
    { layers: [first, others[0], { ...others[1], inputs: [0, 0] }, others[2]] },
    { variables: [{ name: "x", states: 1e9, span: [0, 1] }] },
  ]) {
    assert.match(readModel({ ...COINS, ...more }).missing, /damaged/, JSON.stringify(more));
  }
});

test("a value is drawn of those that are possible", () => {
  const model = readModel(COINS);
  const { units } = believe(model, dream(model), [1, null]);
  for (let draw = 0; draw < 20; draw += 1) assert.ok([0, 1].includes(completed(model, [1, null], units)[1]));
});

test("pixels lie where they are, other variables beside each other", () => {
  const image = tilesOf({ variables: [5, 6, 9, 10], widths: [1, 1, 1, 1] }, [1, 4, 4]);
  assert.deepEqual(
    image.map(({ x, y, w }) => [x, y, w]),
    [
      [0, 0, 0.5],
      [0.5, 0, 0.5],
      [0, 0.5, 0.5],
      [0.5, 0.5, 0.5],
    ],
  );
  const bars = tilesOf({ variables: [0, 1], widths: [2, 1] }, []);
  assert.deepEqual(
    bars.map(({ x, y, h }) => [x, y, h]),
    [
      [0, 0.5, 0.5],
      [0, 0, 0.5],
      [0.5, 0, 1],
    ],
  );
});

/** A plate of the root. */
const living = () => {
  const plate = { cells: [1], places: [0, 0, 1, 1], unit: [10, 10], gap: 2, room: 80 };
  const nodes = [{ id: "a", ids: [1], title: "Sum", kind: "sum", level: 0, count: 1, folds: 1, change: "kept", plate }];
  const picture = { version: 1, step: 0, mode: "diff", group_by: "plates", nodes, edges: [], width: 120, height: 10 };
  const coordinates = new DataView(new Float32Array([10, 5, 20, 10]).buffer);
  return open({ picture: JSON.stringify(picture), coordinates, options: { animate: false, living: true } });
};
const shown = (root) => root.of("ce-living")[0];

test("a host is asked for the weights once, and says why there are none", async () => {
  const { root, model, press, close } = living();
  assert.equal(shown(root).hidden, true);
  press("b");
  assert.equal(model.get("view").beliefs, true);
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(model.get("request").name, "living");
  assert.match(shown(root).textContent, /Asking for the weights/);
  await model.put({ living: JSON.stringify({ ...COINS, missing: "Too large.", layers: [] }) });
  assert.match(shown(root).textContent, /Too large\./);
  press("b");
  assert.equal(shown(root).hidden, true);
  close();
});

test("the film of a training stops by its button and by keys", async () => {
  const { root, model, press, close } = living();
  const { blocks, codes, numbers } = COINS;
  const epochs = [3, 2, 1].map((bits, epoch) => ({ epoch, bits, blocks, codes, numbers }));
  press("b");
  await model.put({ living: JSON.stringify({ ...COINS, epochs }) });
  const current = () => root.of("ce-epoch").findIndex((frame) => frame.getAttribute("aria-current") === "true");
  const button = () => root.of("ce-epochs")[0].all((one) => one.tagName === "button")[0];
  const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  assert.equal(current(), 2);
  button().dispatch("click");
  assert.deepEqual([current(), button().textContent], [0, "Stop"]);
  press(" ");
  assert.deepEqual([current(), button().textContent], [0, "Watch it learn"]);
  await wait(700);
  assert.equal(current(), 0);
  button().dispatch("click");
  await wait(700);
  assert.equal(current(), 1);
  press("Escape");
  await wait(700);
  assert.deepEqual([current(), shown(root).hidden], [1, false]);
  button().dispatch("click");
  await wait(1500);
  assert.deepEqual([current(), button().textContent], [2, "Watch it learn"]);
  close();
});

test("a number is observed on its curve, and forgotten", async () => {
  const { root, model, press, close } = living();
  press("b");
  const right = { name: "age", states: 0, span: [-2, 2], labels: [], zero: 40, unit: 10 };
  const normal = { kind: "normal", inputs: [], units: 2, at: 4, variables: [1] };
  const [left, , product, sum] = COINS.layers;
  const numbers = packed([...[0.9, 0.1, 0.1, 0.9].map(Math.log), -1, 0.5, 1, 0.5, Math.log(0.5), Math.log(0.5)]);
  const blocks = [COINS.blocks[0], [2, 2, 0], [1, 2, 0]];
  const variables = [{ ...COINS.variables[0], labels: ["no", "yes"] }, right];
  const layers = [left, normal, product, { ...sum, at: 8 }];
  await model.put({ living: JSON.stringify({ ...COINS, blocks, numbers, variables, layers, examples: [] }) });
  const value = () => root.of("ce-living-value")[0].textContent;
  const [first, second] = root.of("ce-column");
  assert.match(first.textContent, /leftno50 %yes50 %/);
  assert.match(second.textContent, /ageabout 40/);
  const slider = second.all((one) => one.tagName === "input")[0];
  slider.value = "100"; // a quarter of the way: -1
  slider.dispatch("input");
  assert.match(second.textContent, /= 30, observed/);
  assert.match(first.textContent, /no90 %yes10 %/);
  const density = (0.5 * (1 + Math.exp(-8))) / (0.5 * Math.sqrt(2 * Math.PI)) / 10; // for each year
  assert.ok(value().includes(`log density = −${Math.abs(Math.log(density)).toFixed(2)} nats`), value());
  slider.dispatch("keydown", { key: "Delete" });
  assert.match(second.textContent, /about 40/);
  close();
});

test("buttons and a field observe, forget and sample", async () => {
  const { root, model, press, close } = living();
  press("b");
  await model.put({ living: JSON.stringify(COINS) });
  const value = () => root.of("ce-living-value")[0].textContent;
  assert.match(value(), /log p = 0\.00.*0 of 2 variables observed/);
  shown(root).button("heads").dispatch("click");
  assert.match(value(), /log p = −0\.89.*2 of 2/);
  const column = (name) => root.of("ce-column").find(({ textContent }) => textContent.startsWith(name));
  assert.match(column("right").textContent, /right0.*1✓/);
  column("right").button("right = 1").dispatch("click");
  assert.match(value(), /log p = −0\.69 nats.*1 of 2/);
  assert.match(column("right").textContent, /018 %182 %/);
  shown(root).button("Forget all").dispatch("click");
  assert.match(value(), /log p = 0\.00.*0 of 2/);
  shown(root).button("heads").dispatch("click");
  column("left").button("left = 1").dispatch("click"); // forget it
  press("s");
  await new Promise((resolve) => setTimeout(resolve, 900));
  assert.match(value(), /1 of 2 variables observed, 1 sampled/);
  assert.equal(root.of("ce-living-corner")[0].hidden, false);
  column("right").button("right = 1").dispatch("click");
  assert.match(value(), /0 of 2 variables observed$/);
  close();
});

const own = (more) => ({ ...{ states: 0, span: [-2, 2], labels: [], zero: 0, unit: 1, isInteger: false }, ...more });

test("a sampled pixel has a corner, and the legend says so: it is unlike an observed one", () => {
  const input = { inputs: [], variables: [1] };
  assert.equal(hasSampled(input, [1, null], [1, 0]), true);
  assert.equal(hasSampled(input, [1, 0], [1, 0]), false, "observed");
  assert.equal(hasSampled(input, [1, null], [1, null]), false, "unknown");
  assert.equal(hasSampled({ ...input, inputs: [0] }, [1, null], [1, 0]), false, "a layer that reads it");
  const palette = paletteFor({});
  const belief = { variables: [1], shown: new Float64Array([1]), shares: [] };
  const painted = (isSampled) => {
    const pen = svgPen();
    const cell = { isUnknown: false, isSampled, isMixture: false, image: [1, 1, 2] };
    paintBelief(
      pen,
      palette,
      "#86b2dc",
      1,
      { x: 0, y: 0, w: 20, h: 20 },
      belief,
      [{ x: 0, y: 0, w: 1, h: 1, at: 0 }],
      cell,
    );
    return pen.element();
  };
  const corner = `fill="${palette.roles.accent}" d="M11.6 0L20 0L20 8.4L11.6 0"`;
  assert.ok(painted(true).includes(corner), painted(true));
  assert.ok(!painted(false).includes(palette.roles.accent));
  const { root, press, close } = living();
  press("b");
  assert.deepEqual(
    root.of("ce-living-corner").map(({ textContent, hidden }) => [textContent, hidden]),
    [["sampled", true]],
  );
  close();
});

test("a number has the digits that count, at any scale", () => {
  assert.equal(valueWords(own({ unit: 1e-30 }), 1.5), "1.5e-30");
  assert.equal(valueWords(own({ zero: 1.5e-12, unit: 5e-13 }), 0.1), "1.55e-12");
  assert.equal(valueWords(own({ zero: 1.58e12, unit: 5e11 }), 0.1), "1.63e+12");
  assert.equal(valueWords(own({}), 1e200), "1e+200");
  assert.equal(valueWords(own({ zero: 1e6, unit: 0.01 }), 0.5), "1,000,000.005");
  assert.equal(valueWords(own({ unit: 1e-30 }), 0), "0");
});

test("the ends of a curve are apart, and tell which numbers they are", () => {
  const words = (more) => endWords(own(more), 118, 12);
  const width = (more) => words(more).reduce((sum, one) => sum + one.length, 0) * 12 * 0.56;
  assert.deepEqual(words({ zero: 14, unit: 5 }), ["4", "24"]);
  const big = { zero: 1e6, unit: 1.04 };
  assert.deepEqual(words(big), ["999,998", "1,000,002"]);
  const small = { zero: 1e-6, unit: 3e-7 };
  assert.deepEqual(words(small), ["4e-7", "1.6e-6"]);
  assert.deepEqual(words({ zero: 1e8 + 0.5, unit: 0.001 }), ["100,000,000.498", "+0.004"]);
  for (const one of [big, small]) assert.ok(width(one) <= 118, words(one).join(" "));
});

test("a number far off its curve is an arrow at its edge, and its log density is short", async () => {
  const age = { name: "age", states: 0, span: [-2, 2], zero: 40, unit: 10 };
  const { root, close, value } = await single(age, { kind: "gaussian" }, [[3, 1, 0]], [0, 1, 0]);
  const [form, given, off] = [
    root.all((one) => one.tagName === "form")[0],
    root.of("ce-living-given")[0],
    () => root.of("ce-curve-off")[0],
  ];
  assert.ok(off().hidden);
  assert.match(value(), /^log p = 0\.00 nats/); // nothing is observed: no density
  const observe = (number) => {
    given.value = number;
    form.dispatch("submit");
  };
  observe("1000000000");
  assert.equal(off().textContent, "1e9 ▶");
  assert.match(root.of("ce-curve-words")[0].textContent, /^= 1e9, observed$/);
  assert.match(root.of("ce-curve-words")[0].getAttribute("title"), /^= 1,000,000,000, observed, outside/);
  assert.match(value(), /^log density = −5e15 nats/);
  observe("-200");
  assert.match(root.of("ce-curve-below")[0].textContent, /^◀ -200/);
  observe("41");
  assert.ok(off().hidden);
  close();
});

test("until the weights are there, a drag neither paints nor moves the picture", async () => {
  const { root, press, model, close } = living();
  press("b");
  await model.put({ living: "null" });
  assert.equal(root.getAttribute("aria-busy"), "true");
  assert.ok(root.of("ce-awaiting").length);
  const [view, zoom] = [root.of("ce-view")[0], root.getAttribute("data-zoom")];
  const sent = model.sent.length;
  for (const [type, x] of [
    ["pointerdown", 100],
    ["pointermove", 200],
    ["pointerup", 200],
    ["click", 200],
  ])
    view.dispatch(type, { button: 0, buttons: 1, clientX: x, clientY: 50, target: view });
  await new Promise((resolve) => setTimeout(resolve, 500));
  assert.equal(root.getAttribute("data-zoom"), zoom);
  assert.ok(!model.sent.slice(sent).some((one) => one.view?.zoom || one.selection));
  await model.put({ living: JSON.stringify(COINS) });
  assert.equal(root.getAttribute("aria-busy"), null);
  assert.equal(root.of("ce-awaiting").length, 0);
  close();
});

test("integers that the circuit reads as real numbers are observed and shown as integers", () => {
  const age = own({ zero: 47.3, unit: 11.7, isInteger: true });
  assert.equal(valueWords(age, 0.5), "53");
  assert.equal(47.3 + 11.7 * nearestOf(age, 0.5), 53);
  assert.equal(nearestOf(own({ states: 3 }), 7), 2);
});

test("the first number of a repeatable row does not depend on how small its seed is", () => {
  const first = Array.from({ length: 20 }, (_, seed) => repeatable(seed)());
  assert.ok(Math.max(...first) > 0.7 && Math.min(...first) < 0.3);
});

/** A page with one variable, of these values and this table or density, and another one that no layer reads. */
async function single(variable, layer, blocks, numbers) {
  const found = living();
  found.press("b");
  const variables = [variable, { name: "gone", states: 0, span: [0, 1] }];
  const layers = [{ inputs: [], units: 1, at: 0, variables: [0], ...layer }];
  const more = { variables, layers, root: 0, cells: { 1: 0 }, blocks, numbers: packed(numbers), examples: [] };
  await found.model.put({ living: JSON.stringify({ ...COINS, ...more }) });
  return { ...found, value: () => found.root.of("ce-living-value")[0].textContent };
}

test("the density of a sample is one of the cells of the table", async () => {
  const age = { name: "age", states: 0, span: [-2, 2], zero: 40, unit: 1000 };
  const { root, press, close, value } = await single(age, { kind: "gaussian" }, [[3, 1, 0]], [0, 1, 0]);
  assert.match(value(), /0 of 1 variables observed/);
  press("s");
  await new Promise((resolve) => setTimeout(resolve, 50));
  const cell = Number(
    root
      .of("ce-curve-words")[0]
      .textContent.match(/= ([-\d,.]+), sampled/)[1]
      .replaceAll(",", ""),
  );
  const log = -0.5 * ((cell - 40) / 1000) ** 2 - Math.log(1000) - 0.5 * Math.log(2 * Math.PI);
  const shown = Number(
    value()
      .match(/log density = (−[\d.]+)/)[1]
      .replace("−", "-"),
  );
  assert.ok(Math.abs(shown - log) < 0.02, `${shown} ${log}`);
  close();
});

test("of many categories the likeliest one is named, not the one at their mean", async () => {
  const labels = Array.from({ length: 15 }, (_, at) => `land ${at}`);
  const shares = labels.map((_, at) => (at === 0 ? 0.4 : 0.6 / 14));
  const land = { name: "land", states: 15, span: [0, 14], labels };
  const { root, close } = await single(land, { kind: "table" }, [[1, 15, 0]], shares.map(Math.log));
  assert.deepEqual(root.of("ce-column").length, 1);
  assert.equal(root.of("ce-curve-words")[0].textContent, "probably land 0, 40 %");
  close();
});

test("given something impossible, no value is said", async () => {
  const { root, model, press, close } = living();
  press("b");
  const [left, right, product, sum] = COINS.layers;
  const variables = [
    { name: "left", states: 2, span: [0, 1] },
    { name: "age", states: 0, span: [-2, 2], zero: 40, unit: 10 },
  ];
  const numbers = packed([...[1, 0, 1, 0].map(Math.log), -1, 1, 1, 1, 0, 0, ...[0.5, 0.5].map(Math.log)]);
  const layers = [left, { ...right, kind: "gaussian", at: 4 }, product, { ...sum, at: 10 }];
  const blocks = [
    [2, 2, 0],
    [3, 2, 0],
    [1, 2, 0],
  ];
  await model.put({ living: JSON.stringify({ ...COINS, variables, layers, blocks, numbers, examples: [] }) });
  const [first, second] = root.of("ce-column");
  assert.match(second.textContent, /ageabout 40/);
  first.button("left = 1").dispatch("click");
  assert.match(root.of("ce-living-value")[0].textContent, /^impossible/);
  assert.match(first.textContent, /left0–1✓/);
  assert.match(second.textContent, /ageimpossible/);
  close();
});

test("a host that asks for it hears what is observed, as it would be typed", async () => {
  const age = { name: "age", states: 0, span: [-2, 2], zero: 40, unit: 10 };
  const { root, model, close } = await single(age, { kind: "gaussian" }, [[3, 1, 0]], [0, 1, 0]);
  await model.put({ options: { ...model.get("options"), requests: ["observed"] } });
  root.of("ce-living-given")[0].value = "52.5";
  root.all((one) => one.tagName === "form")[0].dispatch("submit");
  await new Promise((resolve) => setTimeout(resolve, 350));
  assert.equal(model.get("request").name, 'observed ["52.5",""]');
  close();
});

test("the field of a value refuses what a variable cannot be", async () => {
  const rooms = { name: "rooms", states: 3, span: [0, 2], zero: 4 };
  const { root, close } = await single(rooms, { kind: "table" }, [[1, 3, 0]], [0, 0, 0]);
  const given = root.of("ce-living-given")[0];
  assert.deepEqual(
    ["min", "max", "step"].map((name) => given.getAttribute(name)),
    ["4", "6", "1"],
  );
  close();
});
