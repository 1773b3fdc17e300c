/** The traits of a model: saving changes, and reading those that arrive. */

/** @import { Model } from "./contract.js" */

/**
 * Save changes together; a trait that the host keeps as a JSON string stays one.
 * @param {Model} model @param {Record<string, any>} changes
 */
export function saveTraits(model, changes) {
  for (const [name, value] of Object.entries(changes)) {
    const was = model.get(name);
    model.set(name, typeof was === "string" && typeof value === "object" ? JSON.stringify(value) : value);
  }
  model.save_changes();
}

/**
 * Call readers when their traits change; returns a function that stops it.
 * @param {Model} model @param {Record<string, () => void>} readers @returns {() => void}
 */
export function onChanges(model, readers) {
  const known = Object.entries(readers);
  for (const [name, read] of known) model.on(`change:${name}`, read);
  return () => known.forEach(([name, read]) => model.off(`change:${name}`, read));
}

/**
 * Call readers for changes that arrive together, in the order of `readers`; a reader of several traits (a picture and
 * its coordinates) is called once.
 * @param {Model} model @param {Record<string, () => void>} readers @returns {() => void}
 */
export function onChangesTogether(model, readers) {
  /** @type {Set<string>} */
  const changed = new Set();
  let alive = true;
  const read = () => {
    const due = new Set(Object.keys(readers).flatMap((name) => (changed.has(name) ? [readers[name]] : [])));
    changed.clear();
    if (alive) for (const reader of due) reader();
  };
  const notes = Object.keys(readers).map((name) => {
    const note = () => {
      if (!changed.size) Promise.resolve().then(read);
      changed.add(name);
    };
    return [name, note];
  });
  const stop = onChanges(model, Object.fromEntries(notes));
  return () => {
    alive = false;
    stop();
  };
}
