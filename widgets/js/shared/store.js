/** The state of a view, and the parts of the page that draw it. */

/**
 * Holds the state. `set` changes fields and draws the parts that read one of them, in the order in which they were
 * added. A part never changes the state while it draws.
 * @template {object} State
 * @param {State} state
 */
export function makeStore(state) {
  /**
   * @type {{reads: readonly (keyof State)[], draw(state: Readonly<State>, changed: ReadonlySet<keyof State>): void}[]}
   */
  const parts = [];
  return {
    state: /** @type {Readonly<State>} */ (state),
    /** @param {typeof parts} added */
    add: (...added) => void parts.push(...added),
    /** @param {Partial<State>} changes */
    set(changes) {
      const names = /** @type {(keyof State)[]} */ (Object.keys(changes));
      const changed = new Set(names.filter((name) => changes[name] !== state[name]));
      Object.assign(state, changes);
      for (const part of parts) if (part.reads.some((name) => changed.has(name))) part.draw(state, changed);
    },
    /** Draw all parts. */
    draw() {
      const all = new Set(/** @type {(keyof State)[]} */ (Object.keys(state)));
      for (const part of parts) part.draw(state, all);
    },
  };
}
