import assert from "node:assert/strict";
import { test } from "node:test";

import view from "../../widgets/js/ask.js";
import { plainModel } from "../../widgets/js/page.js";
import { newDocument } from "./dom.mjs";
import { traits } from "./samples.mjs";

test("a click in the picture answers the question below it, in one model", () => {
  const document = newDocument();
  const el = document.createElement("div");
  document.body.appendChild(el);
  const own = traits({ options: { asking: true, many: true } });
  const [first, second] = JSON.parse(own.picture).nodes.map(({ id }) => id);
  const place = { step: 0, mode: "after", colour_by: "kind", group_by: "none", selection: [] };
  const clicks = {
    noun: "Layer",
    boxes: { [first]: 1, [second]: 2 },
    about: 1,
    wanted: [2],
    right: "Right.",
    why: "Equal.",
    apart: {},
  };
  const asked = { version: 1, text: "Which?", asking: place, revealing: place, clicks };
  const state = { step: 0, selection: [], view: {}, answer: null, revealed: false };
  const model = plainModel({ ...own, ...state, question: JSON.stringify(asked) });
  const close = view.render({ model, el });
  const box = el.of("ce-box").find((one) => one.getAttribute("data-id") === second);
  box.dispatch("click");
  assert.match(el.of("ceq-picked")[0].textContent, /^Chosen: 2\./);
  el.button("Check").dispatch("click");
  assert.equal(el.of("ceq-verdict")[0].textContent, "✓Right.");
  assert.deepEqual(model.get("answer"), [2]);
  close();
  assert.equal(el.childNodes.length, 0);
});
