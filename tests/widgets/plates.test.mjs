import assert from "node:assert/strict";
import { beatsOf } from "../../widgets/js/plates/beats.js";
import { test } from "node:test";

import { stripsOf } from "../../widgets/js/parts/clock.js";
import { heatsOf } from "../../widgets/js/parts/race.js";
import { backendsOf } from "../../widgets/js/parts/timeline.js";
import { cellWords, describeBox } from "../../widgets/js/picture/words.js";
import { barsElement, labelElement, layBars, layLabels, wordLines } from "../../widgets/js/plates/labels.js";
import { platesScene } from "../../widgets/js/scenes/plates.js";
import { maker } from "../../widgets/js/shared/elements.js";
import { paletteFor } from "../../widgets/js/shared/theme.js";
import { newDocument } from "./dom.mjs";
import { open } from "./graph.mjs";
import { picture, step } from "./samples.mjs";
import { readPicture } from "../../widgets/js/picture/reading.js";
import { textWidth } from "../../widgets/js/shared/measuring.js";
import { allCells, cellAt, cellsOf } from "../../widgets/js/plates/cells.js";
import { freePlace } from "../../widgets/js/plates/docking.js";
import { NO_MARKS } from "../../widgets/js/picture/marks.js";
import { closingUp, shareAt } from "../../widgets/js/plates/attempt.js";
import { layLink, layLinks, linkElement } from "../../widgets/js/plates/links.js";
import { between, cellsAt, leavingAt, movement } from "../../widgets/js/plates/movement.js";
import { layPorts, lightPorts, portElements } from "../../widgets/js/plates/ports.js";
import { nameOf, relativesOf } from "../../widgets/js/plates/relatives.js";
import { svgPen } from "../../widgets/js/plates/svg_pen.js";
import { makePins } from "../../widgets/js/plates/pins.js";
import { callRooms, layTags, passingLines, titleRooms } from "../../widgets/js/plates/titles.js";

const plate = (cells, places, gap) => ({
  cells,
  places,
  unit: [10, 10],
  gap,
  room: 80,
  calls: "",
  news: "",
  reads: "",
  shape: "",
});
const node = (id, ids, cells, places, gap = 2) => ({
  id,
  ids,
  title: id,
  kind: "sum",
  level: 0,
  count: ids.length,
  folds: 1,
  change: "kept",
  plate: plate(cells, places, gap),
});

/** Two plates, each 20 x 10, at (0, 0) and (100, 0); the second one reads the first one crosswise. */
const read = (first, second, more = {}) =>
  readPicture(
    {
      version: 1,
      step: 1,
      group_by: "plates",
      nodes: [first, second].filter(Boolean),
      edges: second ? [{ source: first.id, target: second.id, pairs: [0, 1, 1, 0] }] : [],
      ...more,
    },
    new Float32Array([10, 5, 20, 10, 110, 5, 20, 10].slice(0, second ? 8 : 4)),
  );
const row = [0, 0, 1, 1, 1, 0, 1, 1];
const a = node("a", [1, 2], [1, 2], row);
const b = node("b", [3, 4], [3, 4], row);

test("a cell is in its plate with half the gap on each side, and found by position", () => {
  const { boxes } = read(a, b);
  assert.deepEqual(
    cellsOf(boxes[1]).map(({ area }) => area),
    [
      { x: 101, y: 1, w: 8, h: 8 },
      { x: 111, y: 1, w: 8, h: 8 },
    ],
  );
  assert.equal(cellAt(boxes[1], 115, 5)?.layer, 4);
  assert.equal(cellAt(boxes[1], 110.4, 5)?.layer, 4); // in the gap: the nearer one
  assert.equal(cellAt(boxes[1], 121, 5), null);
});

test("the reason of a missed fold is in its room, or shown when its link is lit", () => {
  const link = {
    source: "a",
    target: "b",
    points: [
      [0, 0],
      [0, 20],
      [100, 20],
      [100, 0],
    ],
    lines: ["so", "it is"],
  };
  const { links } = read(a, b, { links: [link, { ...link, at: [50, 40] }, { ...link, target: "gone" }] });
  assert.deepEqual(
    links.map(({ source, target, lines, at }) => [source.id, target.id, lines, at]),
    [
      ["a", "b", ["so", "it is"], null],
      ["a", "b", ["so", "it is"], { x: 50, y: 40 }],
    ],
  );
  const [narrow, roomy] = links.map((one) => linkElement(maker(newDocument()), one));
  const seen = (drawn, k, lit, taken = []) => {
    layLink(drawn, k, 12, lit, taken);
    return drawn.texts.map((text) => text.getAttribute("visibility"));
  };
  assert.deepEqual(seen(narrow, 1, false), ["hidden", "hidden"]);
  assert.deepEqual(seen(narrow, 1, true), ["visible", "visible"]);
  assert.deepEqual(seen(roomy, 1, false), ["visible", "visible"]);
  assert.equal(roomy.texts[0].getAttribute("x"), "50");
  assert.equal(narrow.texts[0].getAttribute("x"), "50");
  const title = { l: 0, t: 30, r: 100, b: 60 };
  assert.deepEqual(seen(roomy, 1, false, [title]), ["hidden", "hidden"]);
  assert.deepEqual(seen(roomy, 1, true, [title]), ["visible", "visible"]);
  assert.ok(Number(roomy.texts[0].getAttribute("x")) > 100, "beside the link, where it covers no title");
  const everywhere = { l: -1e4, t: -1e4, r: 1e4, b: 1e4 };
  assert.deepEqual(seen(roomy, 1, true, [everywhere]), ["hidden", "hidden"]);
});

test("the tag of an entry is next to its cell, or beyond words and tags", () => {
  const at = { x: 50, y: 100 };
  const freeDistance = (...asked) => freePlace(...asked).distance;
  assert.equal(freeDistance(at, 60, true, 1, []), 6);
  const title = { l: 30, t: 80, r: 70, b: 95 };
  assert.equal(freeDistance(at, 60, true, 1, [title]), 20);
  assert.equal(freeDistance(at, 60, true, 2, [{ ...title, t: 90 }]), 20, "sizes are those of the screen");
  assert.equal(freeDistance(at, 60, false, 1, [title]), 6, "below the cell it covers no title");
  /** @type {any[]} */
  const taken = [title];
  freeDistance(at, 60, true, 1, taken);
  assert.equal(freeDistance(at, 60, true, 1, taken), 40, "above the tag of another rule");
  assert.equal(freeDistance(at, 60, true, 1, [{ l: 0, t: -1e4, r: 100, b: 1e4 }]), 6);
  assert.deepEqual(freePlace(at, 60, true, 1, [{ l: 65, t: 0, r: 200, b: 200 }]), { distance: 6, right: -20 });
});

test("folding moves the cells of the layers together", () => {
  const before = allCells(read(a, b));
  const shown = before.map((cell) => ({ cell, area: cell.area }));
  const after = allCells(read(node("n9", [9], [1, 2], row, 0), b));
  const { moving, leaving } = movement(after, shown, []);
  assert.deepEqual(leaving, []);
  assert.ok(moving.every(({ fades }) => !fades));
  assert.deepEqual(moving[0].from, { x: 1, y: 1, w: 8, h: 8 });
  assert.deepEqual(moving[0].cell.area, { x: 0, y: 0, w: 10, h: 10 });
  assert.ok(moving[0].cell.closed);
  assert.deepEqual(between(moving[0].from, moving[0].cell.area, 0.5), { x: 0.5, y: 0.5, w: 9, h: 9 });
});

test("layers gather where the one is made that replaces them, and backwards come out of it", () => {
  const apart = allCells(read(a, b));
  const fused = allCells(read(node("f", [7], [7], [0, 0, 2, 1])));
  const origins = [[7, 1, 3]];
  const forward = movement(
    fused,
    apart.map((cell) => ({ cell, area: cell.area })),
    origins,
  );
  const [made] = forward.moving;
  assert.deepEqual(made.from, { x: 1, y: 1, w: 108, h: 8 }); // around both
  assert.deepEqual(made.middle, { ...fused[0].area, x: 46 }); // in the middle of both
  assert.deepEqual(
    forward.leaving.map(({ cell, to }) => [cell.layer, to]),
    [
      [1, made.middle],
      [3, made.middle],
    ],
  );
  assert.deepEqual([cellsAt([made], 0.9, 0)[0].alpha, cellsAt([made], 1, 0)[0].alpha], [0, 1], "colours do not blend");
  assert.deepEqual([leavingAt(forward.leaving, 0.9).length, leavingAt(forward.leaving, 1).length], [2, 0]);
  assert.deepEqual(cellsAt([made], 1, 1)[0].area, fused[0].area);
  const back = movement(
    apart,
    fused.map((cell) => ({ cell, area: cell.area })),
    origins,
  );
  const from = new Map(back.moving.map(({ cell, from: start }) => [cell.layer, start]));
  assert.deepEqual(from.get(1), fused[0].area);
  assert.deepEqual(from.get(2), apart[1].area); // no relative: it appears where it is
  assert.ok(back.moving.every(({ waits }) => !waits));
});

test("matches are outlined, then cells merge, then the picture settles", () => {
  const beats = beatsOf(true, true);
  const at = (ms) => [beats.isOutlining(ms / 950), beats.merged(ms / 950), beats.settled(ms / 950)];
  assert.equal(beats.lasts, 950);
  assert.deepEqual(at(290), [true, 0, 0]);
  assert.deepEqual(at(475), [false, 0.5, 0]);
  assert.deepEqual(at(650.1).slice(0, 2), [false, 1]);
  assert.deepEqual(at(950), [false, 1, 1]);
  assert.equal(beatsOf(false, false).lasts, 300, "what changes no plate only settles");
});

test("the two ends of a line that is cut have one number, and are lit with their plates", () => {
  const port = { number: 3, out: [[30, 5], [20, 5]], into: [[90, 5], [100, 5]] }; // prettier-ignore
  const picture = read(a, b, { edges: [{ source: "a", target: "b", pairs: [0, 1], port }] });
  assert.deepEqual(picture.edges[0].points, [], "no line is at the pointer between them");
  const drawn = portElements(maker(newDocument()), picture);
  layPorts(drawn, 1, 12);
  assert.deepEqual(
    drawn.circles.map(({ number, x }) => [number.textContent, x]),
    [
      ["3", 30],
      ["3", 90],
    ],
  );
  lightPorts(drawn, (id) => id === "b");
  assert.match(drawn.ports[0].edges[0].group.getAttribute("class"), /ce-lit/);
  lightPorts(drawn, () => false);
  assert.doesNotMatch(drawn.ports[0].group.getAttribute("class"), /ce-lit/);
  const look = (k) => {
    layPorts(drawn, k, 12);
    const [{ circle, number }] = drawn.circles;
    return [circle.getAttribute("class"), Number(circle.getAttribute("r")) * k, number.getAttribute("visibility")];
  };
  assert.deepEqual(look(1), ["", 9, "inherit"]);
  assert.deepEqual(look(0.4), ["ce-port-alone", 6, "inherit"], "a number without a circle");
  assert.deepEqual(look(0.2), ["ce-port-dot", 2.5, "hidden"], "no room for a legible number: no empty circle");
});

test("a long title takes the room of its neighbours if they do not need it", () => {
  const size = 16;
  const named = (title, x, y = 100) => ({ title, x, y, w: 14, h: 20, plate: { room: 40, gap: 2 } });
  const whole = textWidth("Hadamard", size, true);
  const roomBeside = (...others) => {
    const box = named("Hadamard", 100);
    return titleRooms([box, ...others, named("x", -200)], size)[0].room;
  };
  assert.ok(whole > 40);
  assert.ok(roomBeside(named("Sum", 175)) >= whole);
  assert.equal(roomBeside(named("Hadamard", 175)), 40);
  assert.equal(roomBeside(named("Sum", 140, 80)), 40, "its cells are beside the title");
});

test("calls below a plate take the room of their neighbours if these do not need it", () => {
  const named = (calls, x) => ({ title: "x", x, y: 100, w: 14, h: 20, plate: { room: 30, gap: 2, calls } });
  const room = (...others) => callRooms([named("2 → 1 call", 100), ...others], 14, 14)[0];
  assert.ok(room() >= textWidth("2 → 1 call", 14, true));
  assert.ok(room(named("", 160)) > 30);
  assert.equal(room(named("1 call", 160)), 30);
});

test("the long title of a leftmost plate goes on to the right, not out of the picture", () => {
  const named = (title, x) => ({ title, x, y: 100, w: 14, h: 20, plate: { room: 40, gap: 2 } });
  const width = textWidth("Hadamard", 16, true);
  const [first, second] = titleRooms([named("Hadamard", 50), named("Hadamard", 250)], 16);
  assert.equal(first.x, 30 + width / 2); // it begins where the room for its words does
  assert.ok(first.room >= width);
  assert.equal(second.x, 250);
});

test("at a small scale a line below a plate gives way to the title of another", () => {
  const at = (x, y) => ({ ...read(a).boxes[0], x, y, h: 20, plate: { ...plate([1, 2], row, 2), calls: "2" } });
  const texts = (k) => {
    const labels = [at(50, 50), at(50, 120)].map((box) => labelElement(maker(newDocument()), box));
    layLabels(labels, k, 12);
    return labels.map((label) => label.texts.map(({ textContent }) => textContent).filter(Boolean));
  };
  assert.deepEqual(texts(1), [
    ["a", "2"],
    ["a", "2"],
  ]);
  assert.deepEqual(texts(0.45), [["a"], ["a", "2"]]);
});

test("the columns that inputs read are named at every scale, cut if they are long", () => {
  const shown = { ...plate([1, 2], row, 2), calls: "2 calls", columns: "temp, rain mm, income", room: 80 };
  const label = labelElement(maker(newDocument()), { ...read(a).boxes[0], x: 50, y: 50, h: 20, plate: shown });
  const texts = (k) => {
    layLabels([label], k, 12);
    return label.texts.slice(1).map(({ textContent }) => textContent);
  };
  assert.deepEqual(texts(1)[0], "2 calls");
  assert.match(texts(1)[1], /^temp/);
  assert.match(texts(0.6)[0], /^temp/);
  assert.match(texts(0.45)[0], /^te.*…$/);
});

test("a line through the shape below a plate leaves it out, and keeps the calls", () => {
  const shown = read(a, b, {
    edges: [
      {
        source: "a",
        target: "b",
        points: [
          [0, 43],
          [100, 43],
        ],
      },
    ],
  });
  const box = { ...shown.boxes[0], x: 50, y: 5, plate: { ...plate([1, 2], row, 2), calls: "2", shape: "4×4" } };
  const label = labelElement(maker(newDocument()), box);
  const texts = (lines) => {
    layLabels([label], 1, 12, lines);
    return label.texts.map(({ textContent }) => textContent).filter(Boolean);
  };
  assert.deepEqual(texts([]), ["a", "2", "4×4"]);
  assert.deepEqual(passingLines(shown), [{ l: 0, t: 43, r: 100, b: 43 }]);
  assert.deepEqual(texts(passingLines(shown)), ["a", "2"]);
});

test("the words of a pin stay in the picture at a small scale, and its dotted line is thick when it is clicked", () => {
  const pin = { id: "pin-0", kind: "levels", text: "same key", nodes: ["a", "b"], box: [40, 60, 80, 24], marks: [] };
  const points = [
    [0, 0],
    [0, 60],
    [100, 60],
    [100, 0],
  ];
  const link = { source: "a", target: "b", points, lines: ["so"] };
  const shown = read(a, b, { pins: [pin], links: [link], extent: [0, 0, 200, 100] });
  const make = maker(newDocument());
  const pins = makePins(make, () => paletteFor({}), { later() {}, labels: () => [], ports: () => [] });
  pins.show(shown);
  pins.lay(0.5, 12, []);
  const at = () => pins.over.childNodes[0].getAttribute("transform");
  assert.equal(at(), "translate(80 60) scale(2)");
  const title = (t) => ({ l: 20, t, r: 60, b: t + 16 });
  pins.lay(0.5, 12, [title(83)]);
  assert.equal(at(), "translate(80 54) scale(2)", "it moves away from a title that it would touch");
  assert.equal(pins.over.childNodes[0].childNodes[0].getAttribute("visibility"), "inherit");
  pins.lay(0.5, 12, [title(52)]);
  assert.equal(pins.over.childNodes[0].childNodes[0].getAttribute("visibility"), "hidden", "far from one it is a sign");
  const drawn = shown.links.map((one) => linkElement(make, one));
  const look = (tried) => {
    layLinks(drawn, 1, 12, () => false, tried, []);
    return drawn[0].group.getAttribute("class");
  };
  assert.equal(look(undefined), "ce-link");
  assert.equal(look(shown.pins[0]), "ce-link ce-lit");
  assert.equal(drawn[0].texts[0].getAttribute("visibility"), "hidden", "the pin says it");
});

test("the thick lines of a pin pass below cells, and ports move with their plates", () => {
  const port = {
    number: 1,
    out: [
      [30, 5],
      [20, 5],
    ],
    into: [
      [90, 5],
      [100, 5],
    ],
  };
  const stroke = { shape: "path", d: "M20 5L100 5", stroke: "nearMiss" };
  const pin = {
    ...{ id: "pin-0", kind: "waits", text: "2 equal", nodes: ["a", "b"], box: [60, 60, 80, 24] },
    marks: [],
  };
  Object.assign(pin, { cells: [1, 3], ends: [1, 3], strokes: [stroke] });
  const [one, other] = [node("a", [1, 2], [1, 2], row, 0), node("b", [3, 4], [3, 4], row)];
  const edges = [{ source: "a", target: "b", pairs: [0, 0], port }];
  const shown = read(one, other, { pins: [pin], edges, extent: [0, 0, 120, 80] });
  const make = maker(newDocument());
  const drawn = portElements(make, shown);
  const pins = makePins(make, () => paletteFor({}), { later() {}, labels: () => [], ports: () => drawn.circles });
  pins.show(shown);
  const mask = `url(#${pins.cover.getAttribute("id")})`;
  assert.equal(pins.under.childNodes[0].childNodes[0].getAttribute("mask"), mask);
  assert.equal(pins.held.getAttribute("mask"), mask);
  const [seen, hidden] = pins.cover.childNodes;
  assert.equal(seen.getAttribute("fill"), "#fff");
  const places = () => hidden.getAttribute("d").match(/M[^h]*h[^v]*/g);
  assert.deepEqual(places(), ["M0 0h20", "M101 1h8", "M111 1h8"], "a folded plate, and each cell of another one");
  const moves = () => drawn.circles.map(({ parts }) => parts.map((part) => part.getAttribute("transform")));
  assert.deepEqual(moves(), [[null, null], [null, null]]); // prettier-ignore
  globalThis.matchMedia = () => ({ matches: true }); // no motion: the attempt is held at once
  pins.mark(shown, { tried: "pin-0", shut: false, hidden: false });
  delete globalThis.matchMedia;
  const [[out, circle], into] = moves();
  assert.match(out, /^translate\(\d/);
  assert.equal(circle, out);
  assert.deepEqual(into, [null, null], "of the second plate only a cell moves");
  assert.ok(Number(places()[0].match(/M([\d.]+)/)[1]) > 0, "and the cover with them");
});

test("layers far apart move into the one that replaces them", () => {
  const apart = allCells(read(a, b));
  const far = apart.map((cell) => ({ cell, area: { ...cell.area, x: 20 * cell.area.x, y: 30 * cell.area.x } }));
  const fused = allCells(read(node("f", [7], [7], [0, 0, 2, 1])));
  const origins = [[7, 1, 3]];
  const forward = movement(fused, far, origins);
  assert.deepEqual(forward.moving[0].from, fused[0].area);
  assert.deepEqual(
    forward.leaving.map(({ to }) => to),
    [fused[0].area, fused[0].area],
  );
  const drawn = fused.map((cell) => ({ cell, area: cell.area }));
  const back = movement(
    far.map(({ cell, area }) => ({ ...cell, area })),
    drawn,
    origins,
  );
  assert.deepEqual(back.leaving[0].to, fused[0].area); // it fades where it is
  assert.deepEqual(back.moving[0].from, fused[0].area); // and they come out of it
});

test("slices that were folded before the trace stay where they are", () => {
  const cells = allCells(read(node("n5", [5], [-1, -1], row, 0)));
  const shown = cells.map((cell) => ({ cell, area: cell.area }));
  const { moving, leaving } = movement(cells, shown, []);
  assert.deepEqual(
    moving.map(({ from }) => from),
    cells.map(({ area }) => area),
  );
  assert.deepEqual(leaving, []);
});

test("a cell lights up all that it depends on and all that depends on it", () => {
  const picture = read(a, b);
  assert.deepEqual([...relativesOf(picture, "a", 0)].sort(), [nameOf("a", 0), nameOf("b", 1)]);
  assert.deepEqual([...relativesOf(picture, "b", 1)].sort(), [nameOf("a", 0), nameOf("b", 1)]);
  assert.equal(relativesOf(picture, "b", -1).size, 4);
});

const frame = (calls, times, plates = [{ kind: "sum", at: [0, 0, 9, 9], calls, ms: {} }]) => ({
  step: 0,
  label: "",
  calls,
  sentence: "",
  times,
  missing: {},
  plates,
});

test("words that do not fit go on in the next line, and are cut in the last", () => {
  const fits = (_, text) => text.length <= 12;
  const below = [
    { kind: "calls", text: "1 call" },
    { kind: "news", text: "was Hadamard + Sum" },
    { kind: "line", text: "4×4" },
  ];
  const lines = (most, words = below) => wordLines(words, most, fits).map(({ text }) => text);
  assert.deepEqual(lines(4), ["1 call", "was Hadamard", "+ Sum", "4×4"]);
  assert.deepEqual(lines(3), ["1 call", "was Hadamard", "+ Sum"]);
  assert.deepEqual(lines(2), ["1 call", "was Hadamard + Sum"]);
  assert.deepEqual(lines(3, [{ kind: "news", text: "CategoricalLogSoftmax" }]), ["CategoricalLogSoftmax"]);
  const reads = [below[0], { kind: "line", text: "view, no copy" }];
  assert.deepEqual(lines(3, reads), ["1 call", "view, no", "copy"]);
  assert.deepEqual(lines(2, reads), ["1 call"], "half of it would say something else");
  reads[1].short = "no copy";
  assert.deepEqual(lines(2, reads), ["1 call", "no copy"], "in short where the whole has no room");
});

test("the description of a plate has its words in full", () => {
  const long = node("a", [1], [1], [0, 0, 1, 1]);
  Object.assign(long.plate, { calls: "1 call, 2 outputs", news: "was Hadamard + Sum" });
  assert.match(describeBox(read(long).boxes[0]), /, 1 call, 2 outputs, was Hadamard \+ Sum, level 0/);
});

/** A clock with a lane of stairs: steps with their shares. */
const laneOf = (lane, shares) => ({
  lane,
  name: lane.toUpperCase(),
  machine: "this machine",
  about: "",
  stairs: Object.entries(shares).map(([step, share]) => ({ step: Number(step), share, text: `${share}`, about: "" })),
});

test("the stair of the step is thick, and the strips of a lane fill it whatever the step is", () => {
  const lane = laneOf("cpu", { 0: 1, 3: 0.5, 7: 0.1 });
  for (const strong of [lane.stairs.slice(0, 1), lane.stairs.slice(2), lane.stairs.slice(1), []]) {
    const strips = stripsOf(lane, new Set(strong));
    const heights = strips.map(({ height }) => height);
    assert.ok(Math.abs(heights.reduce((sum, height) => sum + height, 0) - 15) < 1e-9);
    const [thick, thin] = [true, false].map((wanted) => heights.filter((_, at) => strips[at].strong === wanted));
    assert.ok(!thick.length || !thin.length || Math.min(...thick) > Math.max(...thin));
  }
});

test("the original races with the step, or at the first step with the last, where both were measured", () => {
  const clock = { lanes: [laneOf("cpu", { 0: 1, 3: 0.5, 7: 0.1 }), laneOf("cuda", { 7: 0.2 })] };
  const racing = (step) => heatsOf(clock, step).map(({ lane, runners }) => [lane.lane, runners.map((one) => one.step)]);
  assert.deepEqual(racing(3), [["cpu", [0, 3]]]);
  assert.deepEqual(racing(0), [["cpu", [0, 7]]]);
  assert.deepEqual(heatsOf({ lanes: [laneOf("cuda", { 7: 0.2 })] }, 7), []);
});

/** A view with times after two steps: a quarter of the original, on its clock. */
const timed = () =>
  open({
    steps: JSON.stringify(
      [0, 1].map((at) => ({
        ...step(at, { frame: frame(at ? 5 : 170, { cpu: at ? 1 : 4 }) }),
        ...(at
          ? {}
          : {
              clock: {
                scale: "Full width: 4 ms",
                lanes: [laneOf("cpu", { 0: 1, 1: 0.25 })],
                lens: { factor: 4, words: "4 times as wide" },
                race: { seconds: 4, words: "1,000 times slower than in reality" },
              },
            }),
      })),
    ),
  });

test("no step changes the scale of the time line; the lens has its own", () => {
  const { root, press, close } = timed();
  const widths = () => root.of("ce-run").map((svg) => svg.of("ce-faint").map((bar) => bar.getAttribute("width")));
  assert.deepEqual(widths(), [["250"]]);
  press("ArrowRight");
  assert.deepEqual(widths(), [["1000"]]);
  assert.match(root.of("ce-clock")[0].textContent, /Full width: 4 ms/);
  press("z");
  assert.match(root.of("ce-clock")[0].textContent, /4 times as wide/);
  assert.equal(root.of("ce-run").length, 2);
  press("z");
  assert.equal(root.of("ce-run").length, 1);
  close();
});

test("the race is in proportion of the times, and another step ends it; with reduced motion it is a still picture", () => {
  const { root, press, close } = timed();
  globalThis.matchMedia = () => ({ matches: true });
  press("r");
  delete globalThis.matchMedia;
  const lefts = root.of("ce-racer").map((dot) => dot.style.getPropertyValue("left"));
  assert.deepEqual(lefts, ["100%", "25%"]);
  assert.match(root.of("ce-race-words")[0].textContent, /^CPU, this machine: 1 → 0\.25\.$/);
  press("ArrowRight");
  assert.equal(root.of("ce-racer").length, 0);
  close();
});

test("backends of other steps are a table of steps and lanes", () => {
  const frames = [
    { ...frame(170, { cpu: 9, "native-cpu": 1 }), step: 0 },
    { ...frame(149, { cpu: 8 }), step: 3 },
    { ...frame(8, { cpu: 2, "torch-cpu": 0.5 }), step: 7 },
  ];
  const found = backendsOf(frames, 7);
  assert.deepEqual(found.lanes, ["cpu", "native-cpu", "torch-cpu"]);
  assert.deepEqual(
    found.frames.map(({ step }) => step),
    [0, 7],
  );
  assert.deepEqual(backendsOf(frames.slice(1), 7), { frames: [], lanes: [] });
});

test("without drawings, the time line says why there are none", () => {
  const { root, close } = open({
    steps: JSON.stringify(
      [0, 1].map((at) => step(at, { frame: { calls: 9 - at, undrawn: "No small drawings: too many." } })),
    ),
  });
  const [line] = root.of("ce-timeline");
  assert.equal(line.hidden, false);
  assert.match(line.textContent, /No small drawings: too many\.$/);
  assert.equal(line.of("ce-run").length, 0);
  close();
});

test("half bars are as long as their share, and never thinner than at full scale", () => {
  const timed = { ...a, plate: { ...a.plate, times: [{ lane: "cpu", share: 0.5, text: "CPU: 2 ms" }] } };
  const { boxes } = read(timed);
  const document = newDocument();
  const { s } = maker(document);
  const bars = barsElement(s, boxes[0]);
  const [full, half] = [1, 0.5].map((k) => {
    const room = layBars(bars, boxes[0], k);
    return {
      room,
      width: Number(bars[0].bar.getAttribute("width")),
      height: Number(bars[0].bar.getAttribute("height")),
    };
  });
  assert.equal(full.width, Number(bars[0].track.getAttribute("width")) / 2);
  assert.equal(half.width, full.width);
  assert.equal(half.height, 2 * full.height);
  assert.ok(half.room > full.room);
  assert.match(describeBox(boxes[0]), /CPU: 2 ms/);
  assert.equal(layBars(barsElement(s, read(a).boxes[0]), read(a).boxes[0], 1), 0);
});

/** A pen that notes the opacity of what it fills. */
const penOf = (alphas) =>
  new Proxy(
    { globalAlpha: 1 },
    {
      get: (pen, name) => (name === "fill" ? () => alphas.push(pen.globalAlpha) : (pen[name] ?? (() => undefined))),
      set: (pen, name, value) => ((pen[name] = value), true),
    },
  );

test("a cell is named by number and layer, a plate by its first names", () => {
  const named = { ...a, plate: { ...a.plate, names: ["x0", ""] } };
  const [box] = read(named).boxes;
  assert.deepEqual(
    [0, 1, -1, 7].map((at) => cellWords(box, at)),
    ["#1 x0", "#2", "", ""],
  );
  assert.match(describeBox(box), /^a, .*x0/);
  const many = { ...a, plate: { ...a.plate, cells: [1, 2, 3, 4, 5, 6], names: [..."uvwxyz"] } };
  assert.match(describeBox(read(many).boxes[0]), /u, v, w, x, and 2 more names/);
});

test("hovering dims unrelated cells, but nothing if their reads are unknown", () => {
  const alphasOf = (first, second, more) => {
    const document = newDocument();
    const make = maker(document);
    const alphas = [];
    const pen = penOf(alphas);
    const scene = platesScene(
      {
        ...make,
        h: (name, ...rest) => Object.assign(make.h(name, ...rest), name === "canvas" ? { getContext: () => pen } : {}),
      },
      () => paletteFor(document, "light"),
    );
    scene.show(read(first, second, more), new Map());
    scene.look({ k: 1, x: 0, y: 0 }, 200, 100);
    scene.mark({ ...NO_MARKS, hover: "a", cell: 0 });
    return new Promise((done) => setTimeout(() => done((scene.close(), alphas)), 60));
  };
  return Promise.all([
    alphasOf(a, b).then((alphas) => assert.deepEqual(new Set(alphas), new Set([1, 0.16]))),
    alphasOf(a, b, { edges: [{ source: "a", target: "b", count: 2 }] }).then((alphas) =>
      assert.deepEqual(new Set(alphas), new Set([1])),
    ),
  ]);
});

test("the pen of SVG writes what the canvas paints", () => {
  const pen = svgPen();
  pen.setTransform(2, 0, 0, 2, 10, 20);
  Object.assign(pen, { fillStyle: "#abc", strokeStyle: "#123", lineWidth: 1.5, globalAlpha: 0.5 });
  pen.beginPath();
  pen.roundRect(0, 0, 10, 8, 2);
  pen.fill();
  pen.setLineDash([3, 3]);
  pen.strokeRect(1, 2, 3, 4);
  pen.setLineDash([]);
  Object.assign(pen, { globalAlpha: 1, font: "600 12px system-ui", textAlign: "center", textBaseline: "middle" });
  pen.fillText("a<b", 5, 6);
  pen.beginPath();
  pen.moveTo(0, 0);
  pen.arcTo(20, 0, 20, 20, 5);
  pen.stroke();
  assert.deepEqual(pen.element().split(/(?=<[a-z])/), [
    '<g transform="translate(10 20) scale(2)">',
    '<path fill="#abc" opacity="0.5" d="M2 0h6q2 0 2 2v4q0 2 -2 2h-6q-2 0 -2 -2v-4q0 -2 2 -2z"/>',
    '<path fill="none" stroke="#123" stroke-width="1.5" stroke-dasharray="3 3" opacity="0.5" d="M1 2h3v4h-3z"/>',
    '<text x="5" y="10.3" font-size="12" text-anchor="middle" fill="#abc">a&#60;b</text>',
    '<path fill="none" stroke="#123" stroke-width="1.5" d="M0 0L15 0Q20 0 20 5"/></g>',
  ]);
});

test("a tag that would cover another or a title is its sign or hidden", () => {
  const element = (more) => {
    const values = { ...more };
    return {
      textContent: "",
      values,
      getAttribute: (name) => values[name],
      setAttribute: (name, value) => (values[name] = value),
    };
  };
  const at = (x, y, words) => Object.assign(element({ x, y, "font-size": 10 }), { textContent: words });
  const hull = (l, t, width) => {
    const childNodes = [element(), element(), element()];
    return { at: { l, t, r: l + width, b: t + 18 }, tag: { ...element(), childNodes } };
  };
  const label = (x, top) => ({ box: { x, w: 20 }, texts: [at(x, top, "Sum"), at(x, top + 60, "4x4")] });
  const labels = [label(50, 10), label(150, 10), label(150, 75)];
  const hulls = [hull(40, 55, 200), hull(145, 130, 60), hull(45, 0, 30)];
  layTags(
    hulls,
    labels.map(({ box }) => box),
    labels,
    1,
  );
  const shown = hulls.map(({ tag }) => tag.values.visibility);
  assert.deepEqual(shown, ["visible", "visible", "hidden"]);
  assert.equal(hulls[0].tag.childNodes[0].values.width, 20);
  assert.deepEqual(
    [hulls[1].tag.childNodes[0].values.width, hulls[1].tag.values.transform],
    [60, "translate(120 130) scale(1)"],
  );
  assert.deepEqual(
    labels.map(({ texts }) => texts[1].values.visibility),
    ["hidden", "inherit", "hidden"],
  );
});

/** Two plates of two layers at scale 1; `click` clicks at a point of the picture. */
async function openPlates(more = {}) {
  const nodes = [a, b];
  const picture = { version: 1, step: 0, mode: "diff", group_by: "plates", nodes, edges: [], width: 120, height: 10 };
  const coordinates = new DataView(new Float32Array([10, 5, 20, 10, 110, 5, 20, 10]).buffer);
  const opened = open({ picture: JSON.stringify(picture), coordinates, options: { animate: false }, ...more });
  await opened.model.put({ view: { zoom: { k: 1, x: 0, y: 0 } } });
  const pane = opened.root.of("ce-view")[0];
  const click = (x, y, fields = {}) => {
    const event = { clientX: x + pane.clientWidth / 2, clientY: y + pane.clientHeight / 2, ...fields };
    for (const type of ["pointermove", "pointerdown", "pointerup", "click"]) pane.dispatch(type, event);
    return [opened.model.get("selection"), opened.model.get("view").layers ?? []];
  };
  return { ...opened, click };
}

test("Shift adds and removes a layer of a plate; a click on another replaces it", async () => {
  const { root, click, close } = await openPlates();
  const shiftKey = true;
  assert.deepEqual(click(5, 5), [["a"], [1]]);
  assert.deepEqual(click(15, 5, { shiftKey }), [["a"], [1, 2]]);
  assert.match(root.of("ce-side")[0].textContent, /2 layers selected/);
  assert.deepEqual(click(105, 5, { shiftKey }), [
    ["a", "b"],
    [1, 2, 3],
  ]);
  assert.deepEqual(click(5, 5, { shiftKey }), [
    ["a", "b"],
    [2, 3],
  ]);
  assert.deepEqual(click(15, 5, { shiftKey }), [["b"], [3]]);
  assert.deepEqual(click(115, 5), [["b"], [4]]);
  assert.deepEqual(click(115, 5), [[], []]);
  close();
});

test("the plate of the layer that was added last is inspected", async () => {
  const { click, close } = await openPlates();
  const shiftKey = true;
  click(5, 5);
  click(105, 5, { shiftKey });
  assert.deepEqual(click(15, 5, { shiftKey }), [
    ["b", "a"],
    [1, 3, 2],
  ]);
  close();
});

test("layers are selected as the host says, in the selected plates", async () => {
  const { root, model, click, close } = await openPlates();
  const words = () => root.of("ce-side")[0]?.textContent ?? "";
  click(5, 5);
  click(15, 5, { shiftKey: true });
  const view = model.get("view");
  await model.put({ selection: ["b"] });
  assert.doesNotMatch(words(), /selected/);
  await model.put({ selection: [], view: { ...view, layers: [] } });
  await model.put({ selection: ["a"] });
  assert.doesNotMatch(words(), /selected/);
  await model.put({ view: { ...view, layers: [2, 1] } });
  assert.match(words(), /2 layers selected/);
  click(15, 5, { shiftKey: true });
  assert.deepEqual([model.get("selection"), model.get("view").layers], [["a"], [1]]);
  close();
});

test("where plates are chosen as an answer, a click on any layer chooses its plate", async () => {
  const { click, close } = await openPlates({ options: { animate: false, many: true } });
  assert.deepEqual(click(5, 5), [["a"], []]);
  assert.deepEqual(click(15, 5), [[], []]);
  close();
});

test("cells of an attempt would close up in the middle of their line, those that go on in another one at its end", () => {
  const at = (x, y) => ({ x, y, w: 10, h: 10 });
  assert.deepEqual(closingUp([at(0, 0), at(50, 20)]), [
    { x: 20, y: 10 },
    { x: -20, y: -10 },
  ]);
  const ways = closingUp([at(0, 0), at(50, 0), at(0, 90), at(50, 90)]);
  assert.deepEqual(
    ways.map(({ x }) => x),
    [40, 0, 0, -40],
  );
  assert.deepEqual(closingUp([at(0, 0)]), [{ x: 0, y: 0 }]);
});

test("cells come nearer than lines hold them, and touch if nothing holds them", () => {
  assert.equal(shareAt(0, false, 0), 0);
  assert.ok(shareAt(520, false, 0) > shareAt(5000, false, 0));
  assert.ok(shareAt(Infinity, false, 0) > 0);
  assert.equal(shareAt(Infinity, true, 0.3), 1);
});

test("coloured by value, the host is asked for the values, and the legend has their scale and not the kinds", async () => {
  const legend = [{ channel: "cell", role: "sum", sign: "", text: "kind of sum", swatch: [] }];
  const { root, model, close } = open({
    picture: JSON.stringify({
      ...picture(),
      nodes: [a],
      edges: [],
      hulls: [],
      legend,
      group_by: "plates",
      colour_by: "value",
    }),
    view: { mode: "diff", colour_by: "value", group_by: "plates" },
  });
  const words = () => root.of("ce-legend")[0].textContent;
  await new Promise((done) => setTimeout(done, 30));
  assert.equal(model.get("request").name, "values");
  assert.match(words(), /^Running some inputs …/);
  const run = { label: "7", x: [0], outputs: {}, same: "", cells: { 1: [-3, 40] } };
  const scale = ["-9", "0", "log-likelihood"];
  await model.put({ values: JSON.stringify({ version: 1, answer: 1, runs: [run], steps: [], looks: [], scale }) });
  assert.match(words(), /input 7:.*−9.*log-likelihood/);
  assert.doesNotMatch(words(), /kind of sum/);
  close();
});
