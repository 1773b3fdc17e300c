// @ts-check
/**
 * The model of a page without Python: answers what the view asks from a recording (`RecordingView` of `widgets/schema.py`).
 *
 * `widgets/page.py` puts this text behind that of `graph.js` into one module, so its names must not meet those of that file.
 */

/**
 * @typedef {Record<string, any>} Recording
 * @typedef {{get(name: string): any, set(name: string, value: any): void, save_changes(): void,
 *   on(event: string, callback: () => void): void, off(event: string, callback: () => void): void}} RecordingModel
 */

/**
 * Bytes from base64; none where there is nothing.
 * @param {string | undefined} base64
 */
function recordedBytes(base64) {
  return Uint8Array.from(atob(base64 || ""), (letter) => letter.charCodeAt(0));
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
 * The picture and places under a key; `side` is put together from `before` and `after` where it was not recorded.
 * @param {Recording} recording @param {number} step @param {Record<string, any>} view
 */
function recordedPicture(recording, step, view) {
  const { pictures, coordinates } = recording;
  for (const key of [`${step}/${view.mode}/${view.colour_by}/${view.group_by}`, `${step}/${view.mode}`]) {
    if (pictures[key]) return { picture: pictures[key], bytes: recordedBytes(coordinates[key]) };
  }
  const [before, after] = [`${step}/before`, `${step}/after`];
  if (view.mode === "side" && pictures[before] && pictures[after]) {
    const parts = [recordedBytes(coordinates[before]), recordedBytes(coordinates[after])];
    const bytes = new Uint8Array(parts[0].length + parts[1].length);
    bytes.set(parts[0]);
    bytes.set(parts[1], parts[0].length);
    return { picture: { ...pictures[before], mode: "side", other: pictures[after] }, bytes };
  }
  return { picture: null, bytes: new Uint8Array(0) };
}

/**
 * A model as the hosts have one. What can be chosen is what was recorded.
 * @param {Recording} recording @param {{hash?: string, keep?: (hash: string) => void, height?: string}} [page]
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
  /** @type {Record<string, any>} */
  const values = {
    picture: "",
    coordinates: new Uint8Array(0),
    steps: JSON.stringify(recording.steps),
    step: start,
    selection: asked.getAll("box"),
    view: { mode: modes.includes(mode) ? mode : modes[0] || "diff", colour_by: first.colour_by, group_by: first.group_by },
    details: "",
    options: {
      modes,
      colours: [...new Set(keys.map((key) => key[2] || first.colour_by))],
      groups: [...new Set(keys.map((key) => key[3] || first.group_by))],
      height: page.height || "100vh",
      actions: false,
    },
    request: {},
  };
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

  const answer = () => {
    const { picture, bytes } = recordedPicture(recording, values.step, values.view);
    const missing = { version: 1, step: values.step, mode: values.view.mode, nodes: [], message: "This picture was not recorded." };
    const json = JSON.stringify(picture || missing);
    if (json !== values.picture) put({ picture: json, coordinates: bytes });
    const box = values.selection[values.selection.length - 1];
    const details = box === undefined ? undefined : recording.details[`${values.step}/${box}`];
    put({ details: details ? JSON.stringify({ ...details, id: box }) : "" });
    if (!page.keep) return;
    const hash = new URLSearchParams([["step", String(values.step)], ["mode", values.view.mode]]);
    for (const id of values.selection) hash.append("box", id);
    page.keep(`#${hash}`);
  };

  const announce = () => {
    const names = [...changed];
    changed.clear();
    for (const name of names) for (const callback of listeners.get(`change:${name}`) || []) callback();
  };

  answer();
  changed.clear();
  return {
    get: (name) => values[name],
    set: (name, value) => put({ [name]: value }),
    save_changes() {
      if (["step", "view", "selection"].some((name) => changed.has(name))) answer();
      announce();
    },
    on(event, callback) {
      const known = listeners.get(event) || new Set();
      listeners.set(event, known.add(callback));
    },
    off: (event, callback) => void listeners.get(event)?.delete(callback),
  };
}
