/** What a view tells its host: changed traits, the state of the view, and requests. */

import { saveTraits } from "../shared/traits.js";

/** @param {import("../graph.js").Page} page */
export function makeSaving({ model, store }) {
  let requests = 0;
  return {
    /** Save traits. @param {Record<string, any>} changes */
    save: (changes) => saveTraits(model, changes),
    /** Ask the host to do something. @param {string} name */
    request: (name) => saveTraits(model, { request: { name, n: (requests += 1) } }),
    /** Change keys of the view, the others are preserved, and other traits with it. @param {Record<string, any>} changes @param {Record<string, any>} [more] */
    setView(changes, more = {}) {
      const view = { ...store.state.view, ...changes };
      store.set({ view });
      saveTraits(model, { view, ...more });
    },
  };
}
/** @typedef {ReturnType<typeof makeSaving>} Saving */
