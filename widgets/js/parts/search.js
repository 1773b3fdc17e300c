/** The search field: it marks the boxes with these words, and Enter goes from one to the next. */

import { picturesOf } from "./state.js";

/** @import { Picture } from "../picture/types.js" */

/**
 * The boxes with these words; null without words.
 * @param {Picture[]} pictures @param {string} query @returns {Set<string> | null}
 */
export function foundIn(pictures, query) {
  const words = query.trim().toLowerCase();
  if (!words) return null;
  const boxes = pictures.flatMap((picture) => picture.boxes);
  const textOf = (/** @type {import("../picture/types.js").Box} */ { title, detail, kind, id, ids, change }) =>
    `${title} ${detail} ${kind} ${id} ${ids.map((node) => `#${node}`).join(" ")} ${change}`.toLowerCase();
  return new Set(boxes.filter((box) => textOf(box).includes(words)).map((box) => box.id));
}

/** @param {import("../graph.js").Page} page */
export function makeSearch({ ui: { h, guard }, store, selecting: { goTo } }) {
  const { state } = store;
  const input = h("input", {
    type: "search",
    placeholder: "Search  /",
    "aria-label": "Search boxes",
    oninput: guard(() => find(input.value, true)),
    onkeydown: guard((/** @type {any} */ event) => key(event)),
  });
  const count = h("span", { class: "ce-count", role: "status" });

  /** @param {string} query @param {boolean} go */
  function find(query, go) {
    store.set({ query, found: foundIn(picturesOf(state), query) });
    const [first] = state.found || [];
    if (go && first !== undefined) goTo(first, false);
  }

  function clear() {
    input.value = "";
    find("", false);
  }

  /** @param {any} event */
  function key(event) {
    if (event.key === "Enter" && state.found && state.found.size) {
      const ids = [...state.found];
      const next = ids[(ids.indexOf(state.focus) + (event.shiftKey ? -1 : 1) + ids.length) % ids.length];
      store.set({ focus: next });
      goTo(next, true);
      event.stopPropagation();
    }
    if (event.key === "Escape" && input.value) {
      clear();
      event.stopPropagation();
      event.preventDefault();
    }
  }

  return {
    element: h("div", { class: "ce-group" }, input, count),
    clear,
    focus: () => input.focus(),
    reads: /** @type {const} */ (["found"]),
    draw() {
      const { found } = state;
      const nothing = `No box of this step contains “${state.query.trim()}”.`;
      count.textContent = found ? (found.size ? `${found.size} found` : nothing) : "";
    },
  };
}
/** @typedef {ReturnType<typeof makeSearch>} Search */

export const STYLE = `
.ce-root input[type=search]{width:132px;cursor:text}
.ce-count{margin-left:4px;color:var(--ce-muted);min-width:4.2em;font-variant-numeric:tabular-nums}
`;
