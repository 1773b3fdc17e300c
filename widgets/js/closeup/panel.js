/** The close-up of the selected plate, below the picture: the user switches between its parts. */

import { closeupOf, inspectedBox, isCloseupAwaited, pickedIn } from "../parts/state.js";
import { focusedIn } from "../shared/elements.js";
import { makeSplit } from "../shared/splitting.js";
import { heat } from "../shared/theme.js";
import { memoryDrawing, memoryTable, nameOf as nameOfSlice } from "./memory.js";
import { PARTS } from "./reading.js";
import { STYLE as VALUES, valuesPanel } from "./values.js";

/**
 * @import { Changed } from "../parts/state.js"
 * @import { Closeup, Parameters, Sheet } from "./reading.js"
 */

/** @param {import("../parts/ui.js").Ui} ui @param {import("./reading.js").Code} code */
export function codePanel({ h }, { lines, formula, shapes, source, where, note }) {
  const listing = (/** @type {string} */ text, /** @type {string} */ label) =>
    h("pre", { text, tabindex: "0", "aria-label": label });
  return h(
    "div",
    { class: "ce-code" },
    h(
      "div",
      {},
      listing(lines.join("\n"), "What runs"),
      formula ? h("p", { text: formula }) : null,
      h("p", { class: "ce-code-shapes", text: shapes }),
      note ? h("p", { class: "ce-values-note", text: note }) : null,
    ),
    source ? h("div", {}, listing(source, "Source"), h("p", { class: "ce-values-note", text: where })) : null,
  );
}

const CODE = `
.ce-code{display:flex;flex-wrap:wrap;gap:6px 24px;margin-top:6px}
.ce-code>div{flex:1 1 420px;min-width:0}
.ce-code p{margin:4px 0;overflow-wrap:anywhere}
.ce-code-shapes{font-weight:600}
.ce-code pre{margin:0 0 6px;padding:8px;font:12.5px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--ce-ground);color:inherit;border:1px solid var(--ce-line);border-radius:6px;overflow:auto;white-space:pre}
`;

/** The longest side of a sheet, and the side of a value, in pixels. */
const [SIDE, LEAST, MOST] = [150, 2, 18];

/**
 * `turn` shows another slice: 1 for the next, -1 for the previous one.
 * @param {import("../parts/ui.js").Ui} ui @param {Parameters} parameters
 * @param {import("../shared/theme.js").Palette} palette @param {((way: number) => void) | null} turn
 */
export function parametersPanel({ h, textButton }, parameters, palette, turn) {
  const { of, sheets, overview, missing, count } = parameters;
  const words = h("p", { class: "ce-closeup-words" });
  const turning = turn && sheets.length > 0 && count > 1;
  const pick = turning
    ? [textButton("Previous", () => turn(-1)), h("b", { text: of }), textButton("Next", () => turn(1))]
    : of
      ? [h("b", { text: of })]
      : [];
  return h(
    "div",
    { class: "ce-parameters" },
    missing ? h("p", { class: "ce-values-note", text: missing }) : null,
    h("div", { class: "ce-group ce-parameters-pick" }, pick),
    h(
      "div",
      { class: "ce-sheets" },
      sheets.map((sheet) => sheetElement(h, sheet, palette, words)),
    ),
    overview.length ? h("b", { text: "All of them" }) : null,
    h(
      "div",
      { class: "ce-sheets" },
      overview.map((sheet) => sheetElement(h, sheet, palette, words)),
    ),
    words,
  );
}

/** @param {any} h @param {Sheet} sheet @param {import("../shared/theme.js").Palette} palette @param {any} words */
function sheetElement(h, sheet, palette, words) {
  const { title, shape, rows, columns, values, scale } = sheet;
  const side = Math.max(LEAST, Math.min(MOST, Math.floor(SIDE / Math.max(rows, columns, 1))));
  const label = `${title}, ${shape}, from ${scale.join(" to ")}`;
  const canvas = h("canvas", { width: columns * side, height: rows * side, role: "img", "aria-label": label });
  paintSheet(canvas, sheet, side, palette);
  canvas.addEventListener("pointermove", (/** @type {any} */ event) => {
    const rect = canvas.getBoundingClientRect();
    const column = Math.floor(((event.clientX - rect.left) / rect.width) * columns);
    const row = Math.floor(((event.clientY - rect.top) / rect.height) * rows);
    const value = values[row * columns + column];
    words.textContent = `${title}, row ${row}, column ${column}: ${value === null ? "not finite" : value}`;
  });
  return h(
    "figure",
    { class: "ce-sheet" },
    h("figcaption", {}, h("b", { text: title }), h("span", { text: shape })),
    canvas,
    h("span", { class: "ce-sheet-scale", text: scale[0] === scale[1] ? scale[0] : scale.join(" to ") }),
  );
}

/** @param {any} canvas @param {Sheet} sheet @param {number} side @param {import("../shared/theme.js").Palette} palette */
function paintSheet(canvas, { columns, values }, side, palette) {
  const pen = typeof canvas.getContext === "function" ? canvas.getContext("2d") : null;
  if (!pen) return;
  const known = values.filter((value) => value !== null);
  const low = Math.min(...known);
  const span = Math.max(...known) - low || 1;
  values.forEach((value, at) => {
    pen.fillStyle = value === null ? palette.roles.box : heat((value - low) / span);
    pen.fillRect((at % columns) * side, Math.floor(at / columns) * side, side, side);
  });
}

const PARAMETERS = `
.ce-parameters p{margin:4px 0}
.ce-parameters-pick{gap:8px;margin:4px 0}
.ce-sheets{display:flex;flex-wrap:wrap;gap:8px 22px;align-items:flex-start}
.ce-sheet{margin:0;display:flex;flex-direction:column;gap:3px;font-size:12.5px}
.ce-sheet figcaption{display:flex;flex-direction:column}
.ce-sheet figcaption span,.ce-sheet-scale{color:var(--ce-muted)}
.ce-sheet canvas{border:1px solid var(--ce-line);align-self:flex-start}
`;

/** Pixels at the left and the right of the strips. */
const MARGIN = 26;
/** Names of clicked layers in the title. */
const MAX_TITLES = 4;
/** What the pointer changes; the rest of the close-up stays. */
const POINTED = new Set(["hover", "cell", "slice", "view"]);

/** @param {any} element */
const nameOf = (element) => element.getAttribute("aria-label") || element.textContent;

/** @param {import("../graph.js").Page} page */
export function makeCloseup({ ui, store: { state }, closingUp: actions }) {
  const { make, h, button, textButton, guard } = ui;
  const title = h("h2");
  const choose = Object.entries(PARTS).map(([name, words]) => textButton(words, () => actions.choose(name)));
  const choices = h(
    "div",
    { class: "ce-group ce-closeup-parts", role: "group", "aria-label": "Parts of the close-up" },
    choose,
  );
  const sentence = h("p", { class: "ce-closeup-sentence" });
  const body = h("div", { class: "ce-closeup-body" });
  const toggle = button("Show the close-up", "panel", actions.toggle);
  const bar = h("div", { class: "ce-closeup-bar" }, title, choices, sentence, toggle);
  const split = makeSplit(make, {
    name: "closeup",
    words: "the close-up",
    part: () => element,
    apply: (height) => element.style.setProperty("--ce-closeup-height", height),
  });
  const content = h("div", { class: "ce-closeup-content" }, bar, body);
  const element = h("section", { class: "ce-closeup", "aria-label": "Close-up", hidden: true }, split.element, content);
  /** What follows the pointer. */
  let light = () => {};
  /** Says that the host runs an input. */
  let wait = () => {};

  /** Replace what is below the buttons; the focus stays at the element of the same name. @param {any} content */
  function setBody(content) {
    const active = focusedIn(element);
    const name = active && body.contains(active) ? nameOf(active) : "";
    body.replaceChildren(...(content ? [content] : []));
    if (!name) return;
    const again = [...body.querySelectorAll("button,input,canvas,[tabindex]")].find((one) => nameOf(one) === name);
    (again || choose[0]).focus();
  }

  /** The slices whose lines are emphasized: the one at the pointer, or else those that were clicked. @returns {number[]} */
  function lit() {
    const box = inspectedBox(state)?.id;
    return state.hover && state.hover === box && state.cell >= 0 ? [state.cell] : pickedIn(state);
  }

  /** The title, with the names of those that were clicked. @param {Closeup} closeup */
  function titleOf({ title: words, memory }) {
    const own = memory?.own;
    const names = own && own.count > 1 ? pickedIn(state).map((slice) => nameOfSlice(own, slice)) : [];
    const more = names.length > MAX_TITLES ? `, and ${names.length - MAX_TITLES} more` : "";
    return names.length ? `${words}: ${names.slice(0, MAX_TITLES).join(", ")}${more}` : words;
  }

  /** @param {import("./reading.js").Memory} memory */
  function drawMemory(memory) {
    const width = (element.clientWidth || state.width) - MARGIN;
    const hover = guard((/** @type {number} */ slice) => actions.point(inspectedBox(state)?.id ?? "", slice));
    const drawing = memoryDrawing(make, memory, state.palette, width, hover);
    light = () => drawing.light(lit());
    light();
    setBody(drawing.element);
  }

  /** @param {import("./reading.js").Memory} memory */
  function drawTable(memory) {
    /** The row at the pointer, which must not scroll away from it. */
    let own = -1;
    const hover = guard((/** @type {number} */ slice) => {
      own = slice;
      actions.point(inspectedBox(state)?.id ?? "", slice);
    });
    const table = memoryTable(h, memory, hover);
    light = () => table.light(lit(), own < 0);
    light();
    setBody(table.element);
  }

  function drawValues() {
    const panel = valuesPanel(ui, state, actions);
    light = panel.light;
    wait = panel.wait;
    setBody(panel.element);
  }

  /** @param {import("./reading.js").Parameters} parameters */
  function drawParameters(parameters) {
    const turn = (/** @type {number} */ way) => actions.turn(parameters, way);
    const needsPython = state.options.actions === false;
    setBody(parametersPanel(ui, parameters, state.palette, needsPython ? null : turn));
  }

  /** @param {Closeup} closeup */
  function drawBody({ memory, parameters, code }) {
    light = wait = () => {};
    const words = { memory: memory?.sentence, table: memory?.sentence, parameters: parameters?.lines.join(" ") };
    sentence.textContent = /** @type {Record<string, string | undefined>} */ (words)[state.closeup] || "";
    if (state.closeup === "values") drawValues();
    else if (state.closeup === "parameters" && parameters) drawParameters(parameters);
    else if (state.closeup === "code" && code) setBody(codePanel(ui, code));
    else if (!memory) setBody(null);
    else if (state.closeup === "table") drawTable(memory);
    else drawMemory(memory);
  }

  return {
    element,
    reads: /** @type {const} */ ([
      "details",
      "selection",
      "options",
      "palette",
      "width",
      "side",
      "hover",
      "cell",
      "slice",
      "view",
      "step",
      "closeup",
      "showCloseup",
      "values",
      "run",
      "running",
    ]),
    /** @param {unknown} _ @param {Changed} changed */
    draw(_, changed) {
      const shown = closeupOf(state);
      if (shown) title.textContent = titleOf(shown);
      if ([...changed].every((name) => POINTED.has(name))) return light();
      if ([...changed].every((name) => name === "running")) return wait();
      const closeup = closeupOf(state);
      // Until the details of the new selection arrive, the old ones stay: nothing jumps from step to step.
      if (!closeup && !element.hidden && isCloseupAwaited(state)) return undefined;
      element.hidden = !closeup;
      if (!closeup) return undefined;
      const open = state.showCloseup;
      toggle.setAttribute("aria-expanded", String(open));
      body.hidden = sentence.hidden = split.element.hidden = !open;
      element.setAttribute("class", open ? "ce-closeup ce-open" : "ce-closeup");
      for (const [at, name] of Object.keys(PARTS).entries()) {
        choose[at].setAttribute("aria-pressed", String(open && state.closeup === name));
      }
      if (open) drawBody(closeup);
      return undefined;
    },
  };
}

export const STYLE = `
.ce-closeup{flex:none;display:flex;flex-direction:column;max-height:min(var(--ce-closeup-height,46vh),70%);border-top:2px solid var(--ce-accent);background:var(--ce-panel)}
.ce-closeup.ce-open{height:var(--ce-closeup-height,auto)}
.ce-below{display:contents}
.ce-root .ce-side .ce-closeup{max-height:none;height:auto;border:0;margin:0 -12px 8px}
.ce-side :is(.ce-closeup .ce-split,.ce-closeup-bar>button){display:none}
.ce-side .ce-closeup h2{flex:1 0 100%;font-size:13px}
.ce-side .ce-closeup-content{overflow:visible}
.ce-closeup-content{flex:1;min-height:0;overflow:auto;padding:2px 12px 8px}
.ce-closeup-bar{display:flex;flex-wrap:wrap;align-items:center;gap:4px 12px}
.ce-closeup-parts{flex-wrap:wrap;gap:4px 2px}
.ce-closeup h2{font-size:14px;font-weight:650;margin:0;color:inherit}
.ce-closeup-sentence{flex:1 1 340px;margin:0;font-size:13px}
.ce-closeup-bar>button{margin-left:auto}
.ce-strips{display:block;font:12px system-ui,sans-serif}
.ce-closeup-words{margin:4px 0 0;min-height:1.4em;font-size:13px;overflow-wrap:anywhere}
.ce-closeup-table{max-height:200px;overflow:auto;margin-top:6px}
.ce-closeup-table table{border-collapse:collapse;font-size:12.5px;font-variant-numeric:tabular-nums}
.ce-closeup-table tr.ce-lit td{background:var(--ce-soft);box-shadow:inset 0 1px var(--ce-accent),inset 0 -1px var(--ce-accent)}
.ce-closeup-table :is(th,td){text-align:left;padding:2px 16px 2px 0;border-bottom:1px solid var(--ce-line)}
${CODE}${PARAMETERS}${VALUES}`;
