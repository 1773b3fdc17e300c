/** Pictures to draw: three layers before a fuse, and what is left after it. */

export const node = (id, more = {}) => ({
  id,
  ids: [1],
  title: id,
  detail: "2 → 2",
  kind: "sum",
  level: 0,
  count: 1,
  folds: 1,
  change: "kept",
  look: 0,
  fill_text: "",
  matched: false,
  badges: [],
  ...more,
});

const REMOVED = {
  fill: "matchedFill",
  ink: "fg",
  stroke: "removed",
  width: 2,
  dash: [6, 4],
  hatch: "removed",
  signs: [
    { sign: "−", fill: "removed", ink: "onRemoved", stroke: "box" },
    { sign: "M", fill: "matched", ink: "onMatched", stroke: "matchedLine" },
  ],
};

export const edge = (source, target, more = {}) => ({
  source,
  target,
  change: "kept",
  count: 1,
  read: null,
  copied_bytes: 0,
  label: "",
  ...more,
});

export const picture = (more = {}) => ({
  version: 1,
  step: 0,
  mode: "diff",
  colour_by: "change",
  group_by: "fold",
  title: "Step 0",
  caption: "1 layer created, 2 removed",
  note: "3 layers.",
  message: "",
  width: 400,
  height: 300,
  looks: [{ fill: "box", ink: "fg" }, REMOVED],
  nodes: [
    node("input", { kind: "input", count: 4, pill: "4" }),
    node("product", { kind: "product", level: 1, look: 1, change: "removed", matched: true }),
    node("sum", {
      level: 2,
      look: 1,
      change: "removed",
      matched: true,
      badges: [{ sign: "?", text: "near miss", tone: "warning" }],
    }),
  ],
  edges: [edge("input", "product"), edge("product", "sum", { change: "removed" })],
  hulls: [
    {
      id: "m0",
      kind: "match",
      nodes: ["sum", "product"],
      label: "Candecomp",
      reason: "in the optimizer",
      tag: [130, 10],
    },
  ],
  legend: [{ channel: "border", role: "removed", sign: "−", text: "removed" }],
  table: {
    columns: ["node", "change"],
    rows: [
      ["input", ""],
      ["product", "removed"],
      ["sum", "removed"],
    ],
  },
  ...more,
});

export const fused = () =>
  picture({
    step: 2,
    title: "Step 2",
    caption: "2 layers became 1",
    hulls: [],
    nodes: [
      node("input", { kind: "input", count: 4 }),
      node("cpt", { kind: "fused", level: 1, change: "added", folds: 8, pill: "×8", came_from: ["product", "sum"] }),
    ],
    edges: [
      edge("input", "cpt", {
        change: "added",
        read: "gather",
        copied_bytes: 4096,
        label: "gather 4 KiB",
        label_at: [200, 200],
      }),
    ],
  });

/** Places in a column, from the bottom up, as bytes in the middle of a longer buffer, as hosts give them. */
export function places(count, gap = 100) {
  const floats = new Float32Array(4 * count);
  for (let index = 0; index < count; index += 1) floats.set([200, 250 - gap * index, 150, 44], 4 * index);
  const buffer = new ArrayBuffer(8 + floats.byteLength);
  new Uint8Array(buffer, 4).set(new Uint8Array(floats.buffer));
  return new DataView(buffer, 4, floats.byteLength);
}

export const step = (index, more = {}) => ({
  index,
  path: `step/${index}`,
  title: `Step ${index} of 2: fuse`,
  summary: "",
  changed: true,
  ok: null,
  error: "",
  layers: 3,
  folds: 3,
  matches: 1,
  near_misses: 0,
  seconds: 0.001,
  ...more,
});

export const traits = (more = {}) => ({
  picture: JSON.stringify(picture()),
  coordinates: places(3),
  steps: JSON.stringify([step(0), step(1, { changed: false }), step(2)]),
  ...more,
});

/** The coordinates of a part, which it stores among its long values. */
export function withPlaces(coordinates) {
  const keys = Object.keys(coordinates);
  return { coordinates: Object.fromEntries(keys.map((key, at) => [key, at])), shared: Object.values(coordinates) };
}

/** A recording all of which is unpacked. */
export function unpacked({ pictures, coordinates, details, buffers = [], ...head }) {
  const part = { pictures, details, buffers, ...withPlaces(coordinates) };
  return { ...head, looks: Object.keys(pictures), part: () => part, load: async () => part, loadAhead() {} };
}
