/** The memory of a program, below its plates: the buffers over time, before and after side by side, and the program as text. */

import { STYLE as DRAWING, makeBufferDrawing } from "./buffer_drawing.js";
import { STYLE as LISTING, makeListing } from "./listing.js";
import { guessOf, picturesOf } from "./state.js";

/**
 * @typedef {import("../picture/buffers.js").Buffer} Buffer
 * @typedef {import("./state.js").Changed} Changed
 */

/**
 * @param {import("./ui.js").Ui} ui @param {import("./state.js").Store} store
 * @param {{select(ids: string[]): void}} selecting
 */
export function makeBuffers(ui, store, selecting) {
  const { state } = store;
  const { h } = ui;

  /** The boxes of some instructions. @param {number[]} ids */
  const boxesOf = (ids) => {
    const boxes = picturesOf(state).flatMap(({ boxes }) => boxes);
    const found = boxes.filter((box) => box.ids.some((id) => ids.includes(id))).map(({ id }) => id);
    return [...new Set(found)];
  };

  /** Light the users of the buffer at the pointer, or else the instruction. @param {Buffer | null} buffer @param {number} run */
  function point(buffer, run) {
    const box = buffer
      ? undefined
      : picturesOf(state)
          .flatMap(({ boxes }) => boxes)
          .find(({ ids }) => ids.includes(run));
    pointed = run;
    store.set({
      hover: box ? box.id : "",
      cell: box ? box.ids.indexOf(run) : -1,
      lit: buffer ? new Set(boxesOf(buffer.users)) : null,
    });
    listing.mark(selectedIds(), run);
  }

  const actions = {
    point,
    click: (/** @type {Buffer} */ { users }) => selecting.select(boxesOf(users)),
    colour: (/** @type {string} */ kind) => state.palette.roles[kind] || state.palette.roles.operator,
  };
  const drawings = [makeBufferDrawing(ui, actions), makeBufferDrawing(ui, actions)];
  const panes = h("div", { class: "ce-buffers-panes" });
  const listing = makeListing(ui, (run) => selecting.select(boxesOf([run])));
  const element = h(
    "div",
    { class: "ce-buffers", role: "group", "aria-label": "Memory of the program", hidden: true },
    panes,
    listing.element,
  );
  let pointed = -1;
  let drawn = false;

  /** The instructions of the selected boxes. */
  const selectedIds = () =>
    new Set(
      picturesOf(state)
        .flatMap(({ boxes }) => boxes)
        .filter(({ id }) => state.selection.includes(id))
        .flatMap(({ ids }) => ids),
    );

  function show() {
    const shown = picturesOf(state).flatMap(({ buffers }) => buffers ?? []);
    const used = drawings.slice(0, shown.length);
    used.forEach((drawing, at) => drawing.show(shown[at], shown.length > 1 ? ["Before", "After"][at] : ""));
    panes.replaceChildren(...used.map((drawing) => drawing.element));
    listing.show(shown[shown.length - 1].listing);
  }

  return {
    element,
    reads: /** @type {const} */ (["picture", "palette", "selection", "steps", "view", "guess"]),
    /** @param {unknown} _ @param {Changed} changed */
    draw(_, changed) {
      const has = Boolean(state.picture?.buffers) && !guessOf(state);
      element.hidden = !has;
      if (!has) {
        drawn = false;
        return;
      }
      if (changed.has("picture") || changed.has("palette") || !drawn) show();
      drawn = true;
      const ids = selectedIds();
      for (const drawing of drawings) drawing.mark(ids);
      listing.mark(ids, pointed);
    },
  };
}

export const STYLE = `
.ce-buffers{flex:none;padding:5px 12px;border-top:1px solid var(--ce-line);background:var(--ce-panel);font-size:12.5px}
.ce-buffers-panes{display:flex;flex-wrap:wrap;align-items:flex-end;gap:8px 28px}
${DRAWING}${LISTING}`;
