/**
 * The models of a page without Python: they answer a view's requests from a recording, a `RecordingView` of
 * `widgets/schema/`.
 *
 * `widgets/page.py` appends its bundle to that of `graph.js` in one module, so it imports nothing that `graph.js`
 * imports: the build fails if two names clash.
 */

/**
 * @typedef {Record<string, any>} Recording
 * @typedef {import("./shared/contract.js").Model} RecordingModel
 */

/**
 * Bytes from base64; none for an empty string.
 * @param {string | undefined} base64
 */
function recordedBytes(base64) {
  const letters = atob(base64 || "");
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i += 1) bytes[i] = letters.charCodeAt(i); // a callback per byte took 0.4 s
  return bytes;
}

/**
 * The recording as JSON: from plain text, or from gzip in base64.
 * @param {string} text @param {boolean} packed @returns {Promise<Recording>}
 */
export async function readRecording(text, packed) {
  if (!packed) return JSON.parse(text);
  const stream = new Blob([recordedBytes(text.trim())]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/**
 * The picture and coordinates under a key; `side` is composed of `before` and `after` if it was not recorded.
 * @param {Recording} recording @param {number} step @param {Record<string, any>} view
 */
function recordedPicture(recording, step, view) {
  const { pictures, coordinates } = recording;
  /** @param {string} mode */
  const keyOf = (mode) =>
    [`${step}/${mode}/${view.colour_by}/${view.group_by}`, `${step}/${mode}`].find((key) => pictures[key]) || "";
  const whole = keyOf(view.mode);
  if (whole) return { picture: withBuffers(recording, pictures[whole]), bytes: recordedBytes(coordinates[whole]) };
  const [before, after] = [keyOf("before"), keyOf("after")];
  if (view.mode === "side" && before && after) {
    const parts = [recordedBytes(coordinates[before]), recordedBytes(coordinates[after])];
    const bytes = new Uint8Array(parts[0].length + parts[1].length);
    bytes.set(parts[0]);
    bytes.set(parts[1], parts[0].length);
    const [left, other] = [before, after].map((key) => withBuffers(recording, pictures[key]));
    return { picture: { ...left, mode: "side", other }, bytes };
  }
  return { picture: null, bytes: new Uint8Array(0) };
}

/**
 * A picture with its buffers, of which a recording has each state once.
 * @param {Recording} recording @param {any} picture @returns {any}
 */
function withBuffers(recording, picture) {
  const found = picture.recorded_buffers;
  if (!found) return picture;
  const other = picture.other ? { other: withBuffers(recording, picture.other) } : {};
  return { ...picture, ...other, buffers: { ...recording.buffers[found.state], scale: found.scale } };
}

/**
 * A model like those of the hosts. `answer` receives changed values before the listeners, and returns further changes.
 * @param {Record<string, any>} values @param {(changed: Set<string>) => Record<string, any>} [answer]
 * @returns {RecordingModel}
 */
export function plainModel(values, answer = () => ({})) {
  /** @type {Map<string, Set<() => void>>} */
  const listeners = new Map();
  /** @type {Set<string>} */
  const changed = new Set();
  /** @param {Record<string, any>} changes */
  const put = (changes) => {
    for (const [name, value] of Object.entries(changes)) {
      if (values[name] === value) continue;
      values[name] = value;
      changed.add(name);
    }
  };
  return {
    get: (name) => values[name],
    set: (name, value) => put({ [name]: value }),
    save_changes() {
      put(answer(changed));
      const names = [...changed];
      changed.clear();
      for (const name of names) for (const callback of listeners.get(`change:${name}`) || []) callback();
    },
    on(event, callback) {
      const known = listeners.get(event) || new Set();
      listeners.set(event, known.add(callback));
    },
    off: (event, callback) => void listeners.get(event)?.delete(callback),
  };
}

/** What a link says of the match in the rule lens and of the close-up. */
const CLOSER = ["hull", "match", "closeup"];

/**
 * What of a link is not understood, in a sentence; empty if all is.
 * @param {Recording} recording @param {string} hash @param {string[]} closeups the parts of the close-up
 */
export function problemOf(recording, hash, closeups) {
  const steps = recording.steps.length;
  /** @type {Record<string, (value: string) => boolean>} */
  const fits = {
    step: (value) => /^\d+$/.test(value) && Number(value) < steps,
    match: (value) => /^\d+$/.test(value),
    mode: (value) => value === "side" || Object.keys(recording.pictures).some((key) => key.split("/")[1] === value),
    closeup: (value) => closeups.includes(value),
  };
  const wrong = [...new URLSearchParams(hash.replace(/^#/, ""))].filter(
    ([name, value]) => fits[name]?.(value) === false,
  );
  return wrong.length ? `Not understood in the link: ${wrong.map((pair) => pair.join("=")).join(", ")}.` : "";
}

/** Go where a link leads, after Back or Forward. @param {RecordingModel} model @param {RecordingModel} linked a model of the link */
export function follow(model, linked) {
  for (const name of ["step", "view", "selection"]) model.set(name, linked.get(name));
  model.save_changes();
}

/**
 * The model of a graph. The choices are what was recorded, unless `options` sets them; `start` is the initial state;
 * `closeups` are the parts of the close-up that a link may name.
 * @param {Recording} recording
 * @param {{hash?: string, search?: string, closeups?: string[], keep?: (hash: string, adds: boolean) => void, height?: string, options?: Record<string, any>,
 *   start?: Record<string, any>, details?: string}} [page]
 * @returns {RecordingModel}
 */
export function recordingModel(recording, page = {}) {
  const keys = Object.keys(recording.pictures).map((key) => key.split("/"));
  const modes = ["diff", "before", "after", "side"].filter((mode) => keys.some((key) => key[1] === mode));
  if (modes.includes("before") && modes.includes("after") && !modes.includes("side")) modes.push("side");
  const first = recording.pictures[keys[0]?.join("/")] || {};
  const asked = new URLSearchParams((page.hash || "").replace(/^#/, ""));
  const start = Math.min(recording.steps.length - 1, Math.max(0, parseInt(asked.get("step") || "0", 10) || 0));
  const mode = asked.get("mode") || "";
  const searched = new URLSearchParams(page.search || "");
  const asks = searched.has("slides");
  const here = {
    slides: asked.get("slides") ?? (asks ? searched.get("slides") || "steps" : ""),
    step: start,
    selection: asked.getAll("box"),
    mode: modes.includes(mode) ? mode : modes[0] || "diff",
    hull: asked.get("hull") || "",
    match: parseInt(asked.get("match") || "0", 10) || 0,
    closeup: page.closeups?.includes(asked.get("closeup") || "") ? asked.get("closeup") : "",
    colour_by: first.colour_by,
    group_by: first.group_by,
  };
  /** @type {Record<string, any>} */
  const values = {
    picture: "",
    coordinates: new Uint8Array(0),
    steps: JSON.stringify(recording.steps),
    ...placeOf({ ...here, ...page.start }),
    details: "",
    values: recording.values ? JSON.stringify(recording.values) : "",
    options: page.options || {
      modes,
      colours: [...new Set(keys.map((key) => key[2] || first.colour_by))],
      groups: [...new Set(keys.map((key) => key[3] || first.group_by))],
      height: page.height || "100vh",
      actions: false,
      main: Boolean(page.keep),
    },
    request: {},
  };

  /** What the current entry of the history shows: another match in the lens, or another box, replaces it. */
  let shown = "";
  const answer = () => {
    /** @type {Record<string, any>} */
    const found = {};
    const { picture, bytes } = recordedPicture(recording, values.step, values.view);
    const missing = {
      version: 1,
      step: values.step,
      mode: values.view.mode,
      nodes: [],
      message: "This picture was not recorded.",
    };
    const json = JSON.stringify(picture || missing);
    if (json !== values.picture) Object.assign(found, { picture: json, coordinates: bytes });
    const box = values.selection[values.selection.length - 1];
    const name = `${values.step}/${box}`;
    const isBefore = values.view.mode === "before";
    const details = (isBefore && recording.details[`${name}/before`]) || recording.details[name];
    found.details = details ? JSON.stringify({ ...details, id: box }) : "";
    if (!page.keep) return found;
    const hash = new URLSearchParams([
      ["step", String(values.step)],
      ["mode", values.view.mode],
    ]);
    const { slides } = values.view;
    if (slides || asks) hash.append("slides", slides || "");
    for (const name of CLOSER) if (values.view[name]) hash.append(name, values.view[name]);
    for (const id of values.selection) hash.append("box", id);
    const entry = ["step", "mode", "slides"]
      .map((name) => hash.get(name))
      .concat(hash.has("hull") ? "lens" : "")
      .join();
    page.keep(`#${hash}`, entry !== shown && shown !== "");
    shown = entry;
    return found;
  };

  Object.assign(values, answer(), page.details ? { details: page.details } : {});
  return plainModel(values, (changed) =>
    ["step", "view", "selection"].some((name) => changed.has(name)) ? answer() : {},
  );
}

/** The traits that navigate a graph to a `PictureStateView`. @param {Record<string, any>} place */
function placeOf({ step, selection, mode, colour_by, group_by, hull, match, slides, closeup }) {
  const more = {
    ...(hull ? { hull, ...(match ? { match } : {}) } : {}),
    ...(slides ? { slides } : {}),
    ...(closeup ? { closeup } : {}),
  };
  return { step, selection, view: { mode, colour_by, group_by, ...more } };
}

/**
 * The models of a question: that of its picture, and its own. The picture shows the answer while it is revealed.
 * @param {Recording} recording @param {Record<string, any>} embedded an `EmbeddedView` of kind `question`
 */
export function questionModels(recording, { question, options, revealed_options }) {
  const graph = recordingModel(recording, { options, start: question.asking });
  const asked = plainModel({
    question: JSON.stringify(question),
    selection: graph.get("selection"),
    answer: null,
    revealed: false,
    options: {},
  });
  graph.on("change:selection", () => {
    asked.set("selection", graph.get("selection"));
    asked.save_changes();
  });
  let chosen = graph.get("selection");
  asked.on("change:revealed", () => {
    const revealed = asked.get("revealed");
    if (revealed) chosen = graph.get("selection");
    const place = placeOf(revealed ? question.revealing : { ...question.asking, selection: chosen });
    for (const [name, value] of Object.entries({ ...place, options: revealed ? revealed_options : options }))
      graph.set(name, value);
    graph.save_changes();
  });
  return { graph, asked };
}

/**
 * Shows an `EmbeddedView` in the last child of an element; `drawings` maps names to views. Returns the model.
 * @param {any} el @param {Record<string, any>} embedded @param {Recording[]} recordings
 * @param {Record<string, (context: {model: RecordingModel, el: any}) => any>} drawings @returns {RecordingModel}
 */
export function showEmbedded(el, embedded, recordings, drawings) {
  const part = () => el.appendChild(el.ownerDocument.createElement("div"));
  const { kind, bars, options = {}, start, details } = embedded;
  if (kind === "bars") {
    const model = plainModel({ bars: JSON.stringify(bars), options });
    drawings.bars({ model, el: part() });
    return model;
  }
  const recording = recordings[embedded.recording];
  if (kind === "question") {
    const { graph, asked } = questionModels(recording, embedded);
    asked.on("change:answer", () => {
      let behind = el.nextElementSibling; // the text that follows the question
      while (behind && behind.localName !== "details" && !behind.hasAttribute("data-view"))
        behind = behind.nextElementSibling;
      if (behind && behind.localName === "details") behind.open = true;
    });
    drawings.graph({ model: graph, el: part() });
    drawings.question({ model: asked, el: part() });
    return graph;
  }
  const model = recordingModel(recording, { options, start, details });
  drawings.graph({ model, el: part() });
  // HTML below the graph, for each step that has some: Python wrote it into the page.
  const tables = [...el.querySelectorAll("[data-step]")];
  const follow = () => {
    const own = tables.find((table) => table.dataset.step === String(model.get("step")));
    for (const table of tables) table.hidden = table !== (own || tables[0]);
  };
  if (tables.length) {
    for (const table of tables) el.appendChild(table); // below the graph
    model.on("change:step", follow);
    follow();
  }
  return model;
}
