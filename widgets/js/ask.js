/**
 * A graph with a question below it, for hosts that show one view at a time: the two share a model, and so the selection.
 */

import graph from "./graph.js";
import question from "./question.js";

/** @param {import("./shared/contract.js").Context} context @returns {() => void} */
function render(context) {
  const closing = [graph, question].map((view) => view.render(context));
  return () => closing.forEach((close) => close());
}

export default { render };
