import assert from "node:assert/strict";
import { test } from "node:test";

import {
  barOf,
  bufferTable,
  heirOf,
  livePath,
  peakOf,
  readBuffers,
  spansOf,
} from "../../widgets/js/picture/buffers.js";
import { buffersHeight, buffersSvg } from "../../widgets/js/controls/copying.js";
import { readPicture } from "../../widgets/js/picture/reading.js";
import { recordingModel } from "../../widgets/js/page.js";
import { open } from "./graph.mjs";
import { node, picture, places, step, unpacked } from "./samples.mjs";

const buffer = (id, start, end, bottom, users, more = {}) => ({
  id,
  start,
  end,
  bottom,
  bytes: 64,
  kind: "operator",
  label: `%${id} f32[16]`,
  text: `%${id}: f32[16], 64 B`,
  users,
  ...more,
});

const state = (more = {}) => ({
  buffers: [buffer(2, 0, 2, 0, [3, 5]), buffer(4, 1, 3, 64, [5, 7])],
  moments: ["#3 exp", "#5 neg", "#7 add"],
  runs: [3, 5, 7],
  scale: {
    height: 128,
    ticks: [
      [0, "0 B"],
      [64, "64 B"],
      [128, "128 B"],
    ],
  },
  live: [64, 128, 64],
  peak: 1,
  planned: true,
  text: "2 buffers in 128 B.",
  peak_text: "peak 128 B",
  listing: [
    [-1, 0, "%2 = alloc f32[16] at 0"],
    [3, 0, "#3 aten.exp(self=%0) -> %2"],
    [5, 1, "#5 aten.neg(self=%2) -> %4"],
    [7, 2, "#7 aten.add(self=%4) -> %1"],
  ],
  layers: [
    {
      start: 0,
      end: 2,
      label: "Sum layer 12",
      kind: "sum",
      text: "Sum layer 12, made from symbolic layer 3",
      runs: [3, 5],
    },
    { start: 2, end: 3, label: "fc", kind: "operator", text: "fc: 1 instruction #7", runs: [7] },
  ],
  reasons: [[4, 2, "#5 cannot: read later"]],
  sharing_words: {
    shared: "They share memory: {why}.",
    not_shared: "They do not share memory: {why}.",
    at: "both are alive at {start}",
    from: "both are alive from {start} to {last}",
    apart: "%{first} is over after {last}, %{second} from {start}",
    bytes: "bytes {begin} to {end}",
  },
  ...more,
});

const program = (more = {}) =>
  picture({
    nodes: [node("exp", { ids: [3] }), node("neg", { ids: [5] }), node("add", { ids: [7] })],
    edges: [],
    hulls: [],
    buffers: state(),
    ...more,
  });

const show = (more = {}, traits = {}) =>
  open({ picture: JSON.stringify(program(more)), steps: JSON.stringify([step(0), step(1)]), ...traits });

test("a bar is as wide as its buffer is alive and as high as its bytes", () => {
  const shown = readBuffers(state());
  assert.deepEqual(barOf(shown.buffers[1], shown), { x: 100 / 3, y: 0, width: 200 / 3, height: 50 });
  assert.equal(livePath(shown), "M0 100V50H33.333V0H66.667V50H100V100");
  assert.equal(livePath(readBuffers({})), "");
});

test("the peak is in the middle of its moment, and has its name", () => {
  assert.deepEqual(peakOf(readBuffers(state())), { x: 50, y: 0, text: "peak 128 B at #5 neg" });
  assert.equal(peakOf(readBuffers({ peak_text: "peak 0 B" })).text, "peak 0 B");
});

test("a buffer that is gone becomes part of the one that its first user uses now", () => {
  const shown = readBuffers(state());
  assert.equal(heirOf({ ...shown.buffers[0], users: [7] }, shown)?.id, 4);
  assert.equal(heirOf({ ...shown.buffers[0], users: [99] }, shown), null);
});

test("the table names each buffer, its place, its life and its users", () => {
  assert.deepEqual(bufferTable(readBuffers(state())).rows, [
    ["%2 f32[16]", "64", "0", "#3 exp", "#5 neg", "#3 exp; #5 neg"],
    ["%4 f32[16]", "64", "64", "#5 neg", "#7 add", "#5 neg; #7 add"],
  ]);
  assert.equal(bufferTable(readBuffers(state({ planned: false }))).rows[0][2], "");
});

test("buffers, ticks, peak and the ends of time are below the picture of a program", () => {
  const { root, close } = show();
  assert.deepEqual(
    root.of("ce-buffer").map((bar) => bar.getAttribute("data-buffer")),
    ["2", "4"],
  );
  assert.deepEqual(
    root.of("ce-byte").map((tick) => tick.textContent),
    ["0 B", "64 B", "128 B"],
  );
  assert.equal(root.of("ce-peak")[0].textContent, "peak 128 B at #5 neg");
  assert.equal(root.of("ce-buffers-axis")[0].textContent, "#3 exptime →#7 add");
  close();
  const circuit = open();
  assert.equal(circuit.root.of("ce-buffers")[0].hidden, true);
  circuit.close();
});

test("buffers of the selected instruction are outlined; a bar selects its users", () => {
  const { root, box, model, close } = show();
  const classesOf = () => root.of("ce-buffer").map((bar) => bar.getAttribute("class"));
  assert.deepEqual(classesOf(), ["ce-buffer", "ce-buffer"]);
  box("exp").dispatch("click");
  assert.deepEqual(classesOf(), ["ce-buffer ce-used", "ce-buffer ce-unused"]);
  root.of("ce-buffer")[1].dispatch("click");
  assert.deepEqual(model.get("selection"), ["neg", "add"]);
  assert.deepEqual(classesOf(), ["ce-buffer ce-used", "ce-buffer ce-chosen ce-used"]);
  close();
});

const answerIn = (root) => root.of("ce-sharing")[0].textContent;

test("a click and a Shift-click on two buffers say why they do not share memory", () => {
  const { root, model, close } = show();
  const [first, second] = root.of("ce-buffer");
  assert.match(answerIn(root), /^Click a buffer, then Shift-click another one/);
  first.dispatch("click");
  assert.match(answerIn(root), /^Shift-click another buffer: do both share memory/);
  second.dispatch("click", { shiftKey: true });
  assert.equal(answerIn(root), "%2 and %4: They do not share memory: both are alive at #5; #5 cannot: read later.");
  assert.deepEqual(model.get("selection"), ["exp", "neg", "add"]);
  assert.equal(second.getAttribute("aria-selected"), "true");
  second.dispatch("click");
  assert.match(answerIn(root), /^Shift-click another buffer/);
  second.dispatch("click");
  assert.deepEqual(model.get("selection"), []);
  close();
});

test("buffers that share memory are outlined and named, also after the next step", async () => {
  const shared = state({ buffers: [buffer(2, 0, 1, 0, [3, 5]), buffer(4, 1, 3, 0, [5, 7])] });
  const { root, model, close } = show({ buffers: shared });
  root.of("ce-buffer")[0].dispatch("click");
  assert.match(answerIn(root), /^%2 shares memory with %4, at other times\. Shift-click/);
  assert.match(root.of("ce-buffer")[1].getAttribute("class"), /ce-shares/);
  root.of("ce-buffer")[1].dispatch("click", { shiftKey: true });
  assert.equal(answerIn(root), "%2 and %4: They share memory: %2 is over after #3, %4 from #5: bytes 0 to 64.");
  await model.put({ picture: JSON.stringify(program()) });
  assert.match(answerIn(root), /do not share memory: both are alive at #5/);
  await model.put({ selection: [] });
  assert.match(answerIn(root), /^Click a buffer/);
  close();
});

test("running layers are named below the buffers; a click selects all of one", () => {
  const { root, box, model, close } = show();
  const [sum, module] = root.of("ce-layer");
  assert.deepEqual(
    [sum, module].map((one) => one.textContent),
    ["Sum layer 12", "fc"],
  );
  assert.match(sum.getAttribute("style"), /left:0%;width:66\.6/);
  sum.dispatch("pointerenter");
  assert.match(root.of("ce-buffers-words")[0].textContent, /made from symbolic layer 3/);
  root.of("ce-layers")[0].dispatch("pointerleave");
  assert.match(root.of("ce-buffers-words")[0].textContent, /2 buffers in 128 B/);
  sum.dispatch("click");
  assert.deepEqual(model.get("selection"), ["exp", "neg"]);
  assert.deepEqual(
    [sum, module].map((one) => one.getAttribute("aria-selected")),
    ["true", "false"],
  );
  box("add").dispatch("click");
  assert.deepEqual(
    [sum, module].map((one) => one.getAttribute("aria-selected")),
    ["false", "true"],
  );
  close();
});

test("buffers are chosen by keys: one stop of Tab, arrows, Enter, Shift and Enter", () => {
  const { root, close } = show();
  const [first, second] = root.of("ce-buffer");
  const drawing = root.of("ce-buffers-drawing")[0];
  const press = (key, more = {}) => drawing.dispatch("keydown", { key, ...more });
  assert.deepEqual(
    [first, second].map((bar) => bar.getAttribute("tabindex")),
    ["0", "-1"],
  );
  assert.equal(press("Enter").defaultPrevented, true);
  press("ArrowDown");
  assert.deepEqual(
    [first, second].map((bar) => bar.getAttribute("tabindex")),
    ["-1", "0"],
  );
  press("Enter", { shiftKey: true });
  assert.match(answerIn(root), /^%2 and %4: They do not share memory/);
  const [overlap] = root.of("ce-overlap");
  assert.equal(overlap.hidden, false);
  press("Enter");
  assert.equal(overlap.hidden, true);
  close();
});

test("the pointer names the moment and the buffer, and lights its users", () => {
  const { root, box, close } = show();
  const drawing = root.of("ce-buffers-drawing")[0];
  drawing.dispatch("pointermove", { clientX: 850 });
  assert.equal(root.of("ce-now")[0].textContent, "#7 add");
  assert.match(box("add").getAttribute("class"), /ce-hover/);
  root.of("ce-buffer")[0].dispatch("pointermove", { clientX: 10 });
  assert.match(root.of("ce-buffers-words")[0].textContent, /%2: f32\[16\], 64 B/);
  assert.match(box("exp").getAttribute("class"), /ce-found/);
  assert.match(box("add").getAttribute("class"), /ce-dim/);
  const live = () => root.of("ce-buffer").map((bar) => bar.getAttribute("data-live"));
  assert.ok(live().includes("true") && live().includes("false"));
  drawing.dispatch("pointerleave");
  assert.ok(live().every((one) => one === ""));
  assert.equal(root.of("ce-now")[0].textContent, "time →");
  assert.doesNotMatch(box("add").getAttribute("class"), /ce-dim/);
  close();
});

test("the list of the program lights the selected instruction, and a line selects", () => {
  const { root, box, model, close } = show();
  const list = root.of("ce-listing")[0];
  assert.match(list.textContent, /4 lines/);
  assert.equal(root.of("ce-listed").length, 0);
  list.setAttribute("open", "");
  list.dispatch("toggle");
  assert.equal(root.of("ce-listed").length, 4);
  box("neg").dispatch("click");
  const lit = () => root.of("ce-lit").map((line) => line.textContent);
  assert.deepEqual(lit(), ["#5 aten.neg(self=%2) -> %4"]);
  root.of("ce-listed")[3].dispatch("click");
  assert.deepEqual(model.get("selection"), ["add"]);
  assert.deepEqual(lit(), ["#7 aten.add(self=%4) -> %1"]);
  close();
});

test("side by side both states are drawn, with their names", () => {
  const other = { ...program({ mode: "after" }), buffers: state({ buffers: [buffer(4, 1, 3, 0, [5, 7])] }) };
  const { root, close } = show({ mode: "side", other }, { coordinates: places(6), view: { mode: "side" } });
  assert.deepEqual(
    root.of("ce-buffers-words").map((words) => words.textContent.split(" ")[0]),
    ["Before:", "After:"],
  );
  assert.equal(root.of("ce-buffer").length, 3);
  close();
});

test("a program without buffers says so and draws no bars", () => {
  const empty = state({ buffers: [], live: [], moments: [], runs: [], text: "No buffers.", listing: [] });
  const { root, close } = show({ buffers: empty });
  assert.match(root.of("ce-buffers")[0].textContent, /No buffers\./);
  assert.equal(root.of("ce-buffers-plot")[0].hidden, true);
  assert.equal(root.of("ce-listing")[0].hidden, true);
  close();
});

test("the table of the picture has the buffers", () => {
  const { root, close } = show();
  root.button("Table").dispatch("click");
  assert.match(root.of("ce-table")[0].textContent, /2 buffers in 128 B\..*at byte.*%4 f32\[16\]/);
  close();
});

test("the drawing for the clipboard has the same words", () => {
  const roles = { fg: "#000", line: "#ccc", muted: "#666", panel: "#fff", operator: "#999", onCell: "#000" };
  const drawn = buffersSvg(readBuffers(state()), 800, roles);
  for (const words of ["2 buffers in 128 B.", "peak 128 B at #5 neg", "128 B", "#3 exp", "%4 f32[16]"])
    assert.ok(drawn.includes(`>${words}<`), words);
  assert.equal(drawn.match(/<rect/g)?.length, 2 + state().layers.length);
});

test("the drawing for the clipboard has the layers, or says why they are left out", () => {
  const layer = { start: 0, end: 2, label: "Sum layer 256", kind: "sum", text: "", runs: [3] };
  const layers = [layer, { ...layer, start: 2, end: 3, label: "stem.conv" }];
  const roles = { sum: "#abc" };
  assert.match(buffersSvg(readBuffers(state({ layers })), 800, roles), /#abc.*>Sum layer 256<.*>stem\.conv</);
  const narrow = buffersSvg(readBuffers(state({ layers })), 140, roles);
  assert.match(narrow, />Sum</);
  assert.doesNotMatch(narrow, />stem\.conv</);
  const without = readBuffers(state({ layers: [] }));
  const many = readBuffers(state({ layers: [], undrawn_layers: "Too many." }));
  assert.match(buffersSvg(many, 800, roles), />Too many\.</);
  assert.ok(buffersHeight(many) > buffersHeight(without));
  const { root, close } = show({ buffers: state({ layers: [], undrawn_layers: "Too many." }) });
  assert.equal(root.of("ce-undrawn")[0].textContent, "Too many.");
  assert.equal(root.of("ce-undrawn")[0].hidden, false);
  close();
});

test("a page composes the buffers of a picture from the states of its recording", () => {
  const { buffers, ...bare } = program();
  const { scale, ...kept } = buffers;
  const recording = unpacked({
    steps: [step(0)],
    pictures: { "0/diff/change/plates": { ...bare, recorded_buffers: { state: 0, scale } } },
    coordinates: {},
    details: {},
    buffers: [kept],
  });
  const shown = readPicture(recordingModel(recording).get("picture"), places(3));
  assert.equal(shown.buffers.height, 128);
  assert.equal(shown.buffers.buffers.length, 2);
});

test("the parts of a program begin at lines, and have the names that fit", () => {
  const parts = [
    [0, "parameters"],
    [1, "backward pass"],
  ];
  const shown = readBuffers(state({ parts }));
  assert.deepEqual(spansOf(shown), [
    { x: 0, width: 33.333, text: "parameters", line: 0 },
    { x: 33.333, width: 66.667, text: "backward pass", line: 0 },
  ]);
  assert.deepEqual(spansOf(readBuffers(state())), []);
  const svg = buffersSvg(shown, 400, {});
  assert.match(svg, />backward pass</);
  assert.equal(svg.match(/stroke-width="2"/g)?.length, 2);
});

test("the name of a narrow part is in a line of its own", () => {
  const moments = Array.from({ length: 20 }, (_, at) => `#${at} exp`);
  const parts = [
    [0, "parameters"],
    [1, "forward pass"],
    [19, "backward pass"],
  ];
  const shown = readBuffers(state({ parts, moments, live: moments.map(() => 64) }));
  assert.deepEqual(
    spansOf(shown).map(({ line }) => line),
    [1, 0, 2],
  );
  const svg = buffersSvg(shown, 400, {});
  for (const [, words] of parts) assert.ok(svg.includes(`>${words}<`), words);
  assert.match(svg, /text-anchor="end"[^>]*>backward pass</);
  assert.equal(buffersHeight(shown), buffersHeight(readBuffers(state())) + 36);
});
