/**
 * The models of a page without Python: they answer a view's requests from a recording, a `RecordingView` of
 * `widgets/explorer_widgets/schema/`.
 *
 * `widgets/explorer_widgets/page.py` appends its bundle to the one of `graph.js` in one module, so it imports nothing that `graph.js`
 * imports: the build fails if two names clash.
 */

import { makeEntries, onlyMessage, recordedDetails, recordedPicture } from "./recordings/pictures.js";
import { openPage } from "./recordings/opening.js";
import { asksForSlides, choicesOf, linkedPlace, linkTo, problemOf } from "./recordings/links.js";

/**
 * @import { Recording } from "./recordings/opening.js"
 * @import { Model as RecordingModel } from "./shared/contract.js"
 */

export { linkedPlace, makeEntries, openPage, problemOf };

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

/** Go where a link leads, after Back or Forward. @param {RecordingModel} model @param {Record<string, any>} place */
export function follow(model, place) {
  for (const [name, value] of Object.entries(traitsOf(place))) model.set(name, value);
  model.save_changes();
}

/**
 * The model of a graph. The choices are what was recorded, unless `options` sets them; `start` is the initial state, in
 * place of the link's.
 * @param {Recording} recording
 * @param {import("./recordings/links.js").Link & {keep?: (hash: string, adds: boolean) => void, height?: string,
 *   options?: Record<string, any>, start?: Record<string, any>, details?: string}} [page]
 * @returns {RecordingModel}
 */
export function recordingModel(recording, page = {}) {
  /** @type {Record<string, any>} */
  const values = {
    picture: "",
    coordinates: new Uint8Array(0),
    steps: JSON.stringify(recording.steps),
    ...traitsOf({ ...linkedPlace(recording, page), ...page.start }),
    details: "",
    values: recording.values ? JSON.stringify(recording.values) : "",
    living: recording.living ? JSON.stringify(recording.living) : "",
    options: page.options || {
      ...choicesOf(recording),
      height: page.height || "100vh",
      actions: false,
      living: Boolean(recording.living),
      main: Boolean(page.keep),
    },
    request: {},
  };

  const asks = asksForSlides(page.search);
  /** What the current entry of the history shows. */
  let entered = "";
  function keepLink() {
    const { step, view, selection } = values;
    const { hash, entry } = linkTo({ step, view, selection }, asks);
    page.keep?.(hash, entry !== entered && entered !== "");
    entered = entry;
  }

  /** What the picture shows: the step and the display. */
  let shown = "";
  /** @param {(step: number, view: Record<string, any>) => import("./recordings/pictures.js").Found} find */
  function pictureOf(find) {
    const { step, view } = values;
    const look = [step, view.mode, view.colour_by, view.group_by].join("/");
    if (look === shown) return {};
    shown = look;
    const { picture, bytes } = find(step, view);
    return { picture, coordinates: bytes };
  }

  /** The picture and the details; or nothing now, and they are set once their part is unpacked. */
  function answer() {
    const { step, view, selection } = values;
    const part = recording.part(step);
    if (!part) {
      recording.load(step).then(
        () => put(answer()),
        (error) => put(pictureOf((...look) => onlyMessage(...look, `Cannot read this step: ${error}.`))),
      );
      return {};
    }
    recording.loadAhead(step);
    const details = recordedDetails(part, step, view, selection[selection.length - 1]);
    return { details, ...pictureOf((...look) => recordedPicture(part, ...look)) };
  }

  keepLink();
  Object.assign(values, answer(), page.details ? { details: page.details } : {});
  const model = plainModel(values, (changed) => {
    if (!["step", "view", "selection"].some((name) => changed.has(name))) return {};
    keepLink();
    return answer();
  });
  /** @param {Record<string, any>} changes */
  function put(changes) {
    for (const [name, value] of Object.entries(changes)) model.set(name, value);
    model.save_changes();
  }
  return model;
}

/** The traits that navigate a graph to a `PictureStateView`. @param {Record<string, any>} place */
function traitsOf({ step, selection, mode, colour_by, group_by, hull, match, slides, closeup, beliefs }) {
  const more = {
    ...(hull ? { hull, ...(match ? { match } : {}) } : {}),
    ...(slides ? { slides } : {}),
    ...(closeup ? { closeup } : {}),
    ...(beliefs ? { beliefs } : {}),
  };
  return { step, selection, view: { mode, colour_by, group_by, ...more } };
}

/**
 * The models of a question: its picture's, and its own. The picture shows the answer while it is revealed.
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
    const place = traitsOf(revealed ? question.revealing : { ...question.asking, selection: chosen });
    for (const [name, value] of Object.entries({ ...place, options: revealed ? revealed_options : options }))
      graph.set(name, value);
    graph.save_changes();
  });
  return { graph, asked };
}

/**
 * Shows an `EmbeddedView` in the last child of an element; `drawings` maps names to views. Returns the model.
 * @param {any} el @param {Record<string, any>} embedded @param {Recording[]} recordings
 * @param {Record<string, (context: {model: RecordingModel, el: any}) => any>} drawings @returns {Promise<RecordingModel>}
 */
export async function showEmbedded(el, embedded, recordings, drawings) {
  const part = () => el.appendChild(el.ownerDocument.createElement("div"));
  const { kind, bars, options = {}, start, details } = embedded;
  if (kind === "bars") {
    const model = plainModel({ bars: JSON.stringify(bars), options });
    drawings.bars({ model, el: part() });
    return model;
  }
  const recording = recordings[embedded.recording];
  if (kind === "question") {
    for (const place of [embedded.question.asking, embedded.question.revealing]) await recording.load(place.step);
    const { graph, asked } = questionModels(recording, embedded);
    asked.on("change:answer", () => {
      const behind = el.closest?.(".cell")?.nextElementSibling; // what follows the question on its page
      if (behind?.localName === "details") behind.open = true;
    });
    drawings.graph({ model: graph, el: part() });
    drawings.question({ model: asked, el: part() });
    return graph;
  }
  await recording.load(start?.step ?? 0);
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
