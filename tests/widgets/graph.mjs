import view from "../../widgets/js/graph.js";
import { newDocument, newModel } from "./dom.mjs";
import { traits } from "./samples.mjs";

/** The view in a document of its own. */
export function open(more = {}) {
  const document = newDocument();
  const el = document.createElement("div");
  document.body.appendChild(el);
  const model = newModel(traits(more));
  const close = view.render({ model, el });
  const root = el.of("ce-root")[0];
  const press = (key, from = root, fields = {}) => from.dispatch("keydown", { key, ...fields });
  const boxes = () => root.of("ce-boxes")[0]?.childNodes ?? [];
  const box = (id) => boxes().find((element) => element.getAttribute("data-id") === id);
  return { document, el, root, model, close, press, boxes, box, last: () => model.sent.at(-1) };
}
