/** The bar between the view and the tool below it, for pages that have one: `options.split`. */

import { makeSplit } from "../shared/splitting.js";

/** The height of the tool, for the page: its style and that of the view read it. */
const HEIGHT = "--explorer-tool-height";

/** @param {import("./ui.js").Ui} ui @param {import("./state.js").Store} store */
export function makeToolSplit({ make, doc }, { state }) {
  /** @param {string} height */
  const apply = (height) => doc.documentElement.style.setProperty(HEIGHT, height);
  // The tool is outside of the view, which cannot measure it.
  const lower = () => null;
  const { element } = makeSplit(make, { name: "tool", words: "the tool", lower, apply });
  return {
    element,
    reads: /** @type {const} */ (["options"]),
    draw() {
      element.hidden = state.options.split !== true;
    },
  };
}
