/** Errors of a view, shown in the page instead of lost in the console. */

import { errorText } from "./contract.js";

/** @typedef {<A extends any[]>(action: (...args: A) => any, name?: string) => (...args: A) => void} Guard */

export const STYLE = `
.ce-fatal{padding:14px 16px;border-left:4px solid var(--ce-error);margin:10px;background:var(--ce-panel);overflow-wrap:anywhere}
.ce-fatal b{display:block}
`;

/** @param {import("./elements.js").Make} make @param {(words: string) => void} announce */
export function makeFailures({ h }, announce) {
  /** By the trait that caused them, or "act" for user actions. @type {Map<string, string>} */
  const failures = new Map();
  const element = h("div", { class: "ce-fatal", role: "alert", hidden: true });

  function draw() {
    const words = [...failures.values()];
    element.hidden = !words.length;
    element.replaceChildren(h("b", { text: "Cannot draw this." }), ...words.map((line) => h("div", { text: line })));
    if (words.length) announce(words.join(" "));
  }

  /** Wrap a callback so that its errors are shown; they disappear when it succeeds. @type {Guard} */
  const guard =
    (action, name = "act") =>
    (...args) => {
      try {
        action(...args);
        if (failures.delete(name)) draw();
      } catch (error) {
        failures.set(name, errorText(error));
        draw();
      }
    };
  return { element, guard };
}
