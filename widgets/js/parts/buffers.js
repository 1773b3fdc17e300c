/**
 * The memory of a program, below its plates: the buffers over time, before and after side by side; whether two chosen buffers
 * share memory, and why not; the program as text.
 */

import { peakOf } from "../picture/buffers.js";
import { sharersOf, whyNotShared } from "../picture/sharing.js";
import { makeBufferDrawing, STYLE as DRAWING } from "./buffer_drawing.js";
import { guessOf, picturesOf } from "./state.js";

/**
 * @import { Buffer, Listed } from "../picture/buffers.js"
 * @import { Changed } from "./state.js"
 */

/**
 * @param {import("./ui.js").Ui} ui
 * @param {(run: number) => void} click an instruction that runs was clicked
 */
export function makeListing({ h, guard }, click) {
  const summary = h("summary");
  const body = h("div", {
    class: "ce-listed-lines",
    tabindex: "0",
    role: "region",
  });
  const element = h("details", { class: "ce-listing", ontoggle: guard(() => drawLines()) }, summary, body);
  /** @type {Listed[]} */
  let listing = [];
  /** @type {any[]} */
  let lines = [];
  /** @type {ReadonlySet<number>} */
  let lit = new Set();
  let pointed = -1;

  /** Only an open list has lines: there may be thousands. */
  function drawLines() {
    lines = element.open ? listing.map(lineOf) : [];
    body.replaceChildren(...lines);
    drawMarks();
    const first = lines.find((_, at) => lit.has(listing[at].run));
    if (first) body.scrollTop = first.offsetTop - body.clientHeight / 2;
  }

  /** @param {Listed} line */
  function lineOf({ run, text }) {
    const known = run >= 0 ? { onclick: guard(() => click(run)) } : {};
    return h("div", { class: "ce-listed", text, ...known });
  }

  function drawMarks() {
    lines.forEach((line, at) => {
      const { run } = listing[at];
      const own = [run >= 0 && "ce-runs-now", lit.has(run) && "ce-lit", run >= 0 && run === pointed && "ce-pointed"];
      line.setAttribute("class", ["ce-listed", ...own].filter(Boolean).join(" "));
      if (lit.has(run)) line.setAttribute("aria-current", "true");
      else line.removeAttribute("aria-current");
    });
  }

  return {
    element,
    /** @param {Listed[]} next @param {string} what it is */
    show(next, what) {
      listing = next;
      element.hidden = !next.length;
      const count = next.length.toLocaleString("en");
      summary.textContent = `${what}, ${count} ${next.length === 1 ? "line" : "lines"}`;
      body.setAttribute("aria-label", what);
      drawLines();
    },
    /** @param {ReadonlySet<number>} ids of the selected boxes @param {number} run at the pointer, or -1 */
    mark(ids, run) {
      const moved = ids.size && [...ids].some((id) => !lit.has(id));
      [lit, pointed] = [ids, run];
      drawMarks();
      const first = moved ? lines.find((_, at) => lit.has(listing[at].run)) : null;
      if (first) body.scrollTop = first.offsetTop - body.clientHeight / 2;
    },
  };
}

const LISTING = `
.ce-listing summary{cursor:pointer;font-weight:600;padding:3px 0;min-height:24px}
.ce-listed-lines{position:relative;max-height:220px;overflow:auto;padding:4px 0;font:12px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--ce-ground);border:1px solid var(--ce-line);border-radius:6px}
.ce-listed{padding:0 8px;white-space:pre;color:var(--ce-muted);width:max-content;min-width:100%}
.ce-listed.ce-runs-now{color:var(--ce-fg);cursor:pointer}
.ce-listed.ce-pointed{background:var(--ce-soft)}
.ce-listed.ce-lit{background:var(--ce-soft);box-shadow:inset 3px 0 var(--ce-accent)}
`;

/** So many buffers that share memory are named. */
const MAX_NAMED = 4;

/** @param {import("../graph.js").Page} page */
export function makeBuffers({ ui, store, selecting }) {
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

  /** Choose a buffer, or no longer; with `add` a second one, which is compared with the first. @param {Buffer} buffer @param {boolean} add */
  function choose({ id }, add) {
    if (add && chosen.length) chosen = [...new Set([chosen[0], id])];
    else chosen = chosen.length === 1 && chosen[0] === id ? [] : [id];
    selecting.select(boxesOf(usersOf(chosen)));
    mark();
    ui.announce(answer.textContent);
  }

  const actions = {
    point,
    click: choose,
    clickLayer: (/** @type {import("../picture/buffers.js").LayerSpan} */ { runs }) => selecting.select(boxesOf(runs)),
    colour: (/** @type {string} */ kind) => state.palette.roles[kind] || state.palette.roles.operator,
  };
  const drawings = [makeBufferDrawing(ui, actions), makeBufferDrawing(ui, actions)];
  const panes = h("div", { class: "ce-buffers-panes" });
  const answer = h("div", { class: "ce-sharing" });
  const listing = makeListing(ui, (run) => selecting.select(boxesOf([run])));
  const heading = h("summary");
  const fold = h("details", {}, heading, panes, h("div", { class: "ce-buffers-foot" }, listing.element, answer));
  const element = h(
    "div",
    { class: "ce-buffers", role: "group", "aria-label": "Memory of the program", hidden: true },
    fold,
  );
  /** Whether it is below a score, which takes its room until it is asked for. */
  let isAside = false;
  let pointed = -1;
  let drawn = false;
  /** @type {number[]} the chosen buffers: none, one, or two that are compared */
  let chosen = [];

  /** What is drawn, the last state first. */
  const states = () =>
    picturesOf(state)
      .flatMap(({ buffers }) => buffers ?? [])
      .reverse();

  const noun = () => states()[0]?.noun ?? "buffer";

  /** The instructions that use some buffers, before or after the step. @param {readonly number[]} buffers */
  const usersOf = (buffers) =>
    states().flatMap((shown) => shown.buffers.filter(({ id }) => buffers.includes(id)).flatMap(({ users }) => users));

  /** What is said of the chosen buffers. */
  function sharingText() {
    const [one, other] = chosen;
    if (other !== undefined) {
      const found = states().map((shown) => whyNotShared(shown, one, other));
      return `%${one} and %${other}: ${found.find(Boolean)?.text ?? "no state here has both."}`;
    }
    const shown = states().find(({ buffers }) => buffers.some(({ id }) => id === one));
    const buffer = shown?.buffers.find(({ id }) => id === one);
    if (!shown || !buffer)
      return `Click a ${noun()}, then Shift-click another one: do they share memory, and if not, why?`;
    const sharers = sharersOf(shown, buffer).map(({ id }) => `%${id}`);
    const named = sharers.length > MAX_NAMED ? `${sharers.length} others (dashed)` : sharers.join(", ");
    const others = sharers.length ? `%${one} shares memory with ${named}, at other times. ` : "";
    return `${others}Shift-click another ${noun()}: do both share memory, and if not, why?`;
  }

  function mark() {
    const ids = selectedIds();
    for (const drawing of drawings) drawing.mark(ids, chosen);
    listing.mark(ids, pointed);
    answer.textContent = sharingText();
    answer.setAttribute("class", chosen.length ? "ce-sharing ce-asked" : "ce-sharing");
  }

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
    const { listing: lines, listingText } = shown[shown.length - 1];
    listing.show(lines, listingText);
  }

  const part = {
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
      const below = Boolean(state.picture?.score);
      if (below && !isAside) fold.removeAttribute("open");
      else if (!below) fold.setAttribute("open", "");
      isAside = below;
      heading.hidden = !below;
      heading.textContent = `Memory: ${states()[0].buffers.length ? peakOf(states()[0]).text : states()[0].text}`;
      element.setAttribute("class", below ? "ce-buffers ce-aside" : "ce-buffers");
      if (fold.getAttribute("open") === null) {
        drawn = false;
        return;
      }
      if (changed.has("picture") || changed.has("palette") || !drawn) show();
      drawn = true;
      const ids = selectedIds();
      if (changed.has("selection") && !usersOf(chosen).some((user) => ids.has(user))) chosen = [];
      answer.hidden = states().every(({ buffers }) => buffers.length < 2);
      mark();
    },
  };
  fold.addEventListener(
    "toggle",
    ui.guard(() => part.draw(null, new Set())),
  );
  return part;
}

export const STYLE = `
.ce-buffers{flex:none;padding:5px 12px;border-top:1px solid var(--ce-line);background:var(--ce-panel);font-size:12.5px}
.ce-aside .ce-buffers-drawing{height:clamp(96px,15vh,420px)}
.ce-buffers summary{cursor:pointer;min-height:24px}
.ce-buffers-panes{display:flex;flex-wrap:wrap;align-items:flex-end;gap:8px 28px}
.ce-buffers-foot{display:flex;flex-wrap:wrap;align-items:center;gap:0 24px}
.ce-buffers-foot .ce-listing[open]{flex:1 1 100%;min-width:0}
.ce-sharing{flex:1 1 420px;color:var(--ce-muted);overflow-wrap:anywhere}
.ce-tool .ce-listing,.ce-tool .ce-sharing:not(.ce-asked){display:none}
.ce-slides .ce-buffers{font-size:16px}
.ce-sharing.ce-asked{color:var(--ce-fg)}
${DRAWING}${LISTING}`;
