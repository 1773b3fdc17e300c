/**
 * The circuits that operators combined, next to what they made of them: a click on a layer lights up all layers that it was
 * made of, and all that were made of it.
 *
 * Reads the traits `derivation` (JSON of `DerivationView` in `widgets/explorer_widgets/schema/`) and `options` ({theme}).
 */

import { keyOf, placeWords, readDerivation, relativesOf } from "./derivation/reading.js";
import { makeRoving } from "./parts/roving.js";
import { errorText } from "./shared/contract.js";
import { maker } from "./shared/elements.js";
import { FONT, prepareMeasuring } from "./shared/measuring.js";
import { asDict } from "./shared/reading.js";
import { applyPalette, paletteFor, watchTheme } from "./shared/theme.js";
import { onChangesTogether } from "./shared/traits.js";

/** @import { Derivation, Drawn } from "./derivation/reading.js" */

/** @typedef {{key: string, circuit: number, layer: number, title: string}} Cell */

/** A drawing is at most this wide, two of them or more, and this high, in pixels; a small one is not enlarged. */
const [WIDE, NARROW, HIGH] = [560, 400, 185];
/** Titles and numbers have this size on the screen. */
const FONT_SIZE = 12;
/** Beyond it, layers are counted. */
const MAX_NAMED = 6;
const HINT =
  "Below each layer is the number of its units. Click a layer: it lights up with the layers that it was made of, and those that were made of it.";

const STYLE = `
.ced-root{box-sizing:border-box;width:100%;font:13px/1.4 ${FONT};color:var(--ced-fg);background:var(--ced-bg);border:1px solid var(--ced-line);border-radius:8px;padding:8px 12px;text-align:left}
.ced-root *{box-sizing:border-box}
.ced-root [hidden]{display:none!important}
.ced-circuits{display:flex;flex-wrap:wrap;gap:8px 20px;align-items:flex-start}
.ced-circuit{padding:6px 12px;border:1px solid var(--ced-line);border-radius:6px;background:var(--ced-ground);max-width:100%}
.ced-name{margin-bottom:2px;overflow-wrap:anywhere}
.ced-name span{color:var(--ced-muted)}
.ced-name,.ced-made{width:0;min-width:100%}
.ced-step{display:flex;gap:12px;align-items:center;max-width:100%}
.ced-arrow{font-size:26px;color:var(--ced-muted)}
.ced-root svg{display:block;max-width:100%;overflow:visible}
.ced-link{fill:none;stroke:var(--ced-control)}
.ced-lit .ced-link{opacity:.35}
.ced-root svg text{font-weight:600;fill:var(--ced-fg);text-anchor:middle;paint-order:stroke;stroke:var(--ced-ground);stroke-width:.3em}
.ced-cell{cursor:pointer;stroke:var(--ced-ground);stroke-width:1}
.ced-lit .ced-cell:not(.ced-on){opacity:.22}
.ced-cell.ced-on{stroke:var(--ced-fg);stroke-width:2.5}
.ced-cell.ced-first{stroke:var(--ced-accent);stroke-width:4}
.ced-cell:focus-visible{outline:3px solid var(--ced-accent);outline-offset:1px}
.ced-root p{margin:2px 0 6px;min-height:1.4em}
@media (forced-colors:active){.ced-root svg{forced-color-adjust:none}}
`;

/** The line from a plate to the one that reads it. @param {number[]} from @param {number[]} to left, top, width, height */
function linkPath([left, top, width, height], [toLeft, toTop, , toHeight]) {
  const [start, end] = [left + width, toLeft];
  const [y, toY] = [top + height / 2, toTop + toHeight / 2];
  const bend = Math.max(20, (end - start) / 2);
  return `M${start} ${y}C${start + bend} ${y} ${end - bend} ${toY} ${end} ${toY}`;
}

/**
 * Draws the circuits into `el`; returns a function that removes them.
 * @param {import("./shared/contract.js").Context} context @returns {() => void}
 */
function render({ model, el }) {
  const doc = el.ownerDocument || document;
  const { h, s } = maker(doc);
  prepareMeasuring(doc);
  /** @type {Derivation | null} */
  let derivation = null;
  /** @type {{item: Cell, element: any}[]} */
  let cells = [];
  /** @type {string[]} keys of the chosen layers */
  let chosen = [];

  const words = h("p", { role: "status" });
  const circuits = h("div", {
    class: "ced-circuits",
    role: "listbox",
    "aria-label": "Layers of the circuits that operators combined, and of what they made",
    "aria-multiselectable": "true",
    onkeydown: (/** @type {any} */ event) => roving.press(event),
  });
  const root = h(
    "div",
    { class: "ced-root", role: "region", "aria-label": "Operators", "data-lm-suppress-shortcuts": "true" },
    words,
    circuits,
  );
  const roving = makeRoving({
    items: () => cells,
    choose: (/** @type {Cell} */ cell) => light(chosen.length === 1 && chosen[0] === cell.key ? [] : [cell.key]),
    enter: (/** @type {Cell} */ cell) => light([cell.key]),
  });

  /** @param {Drawn} drawn @param {number} at @param {Record<string, string>} roles */
  function figure(drawn, at, roles) {
    const { label, text, made, width, height, plates, lines } = drawn;
    const widest = (derivation?.circuits.length ?? 0) > 2 ? NARROW : WIDE;
    const scale = Math.min(1, widest / width, HIGH / height);
    const line = FONT_SIZE / scale;
    const words = placeWords(drawn, line, FONT_SIZE).map(({ words: text, x, y }) =>
      s("text", { x, y, "font-size": line.toFixed(1), text, "aria-hidden": "true" }),
    );
    const links = lines.map(([from, to]) =>
      s("path", { class: "ced-link", d: linkPath(plates[from].at, plates[to].at), "stroke-width": 1.2 / scale }),
    );
    const shapes = plates.flatMap(({ title, kind, units, cells: layers, places }) =>
      layers.map((layer, position) => {
        const [x, y, w, hi] = places.slice(4 * position, 4 * position + 4);
        const item = { key: keyOf(at, layer), circuit: at, layer, title };
        const element = s("rect", {
          class: "ced-cell",
          role: "option",
          "aria-label": `${title} ${layer} of ${label}, units: ${units}`,
          "aria-selected": "false",
          x,
          y,
          width: w,
          height: hi,
          rx: Math.min(3, w / 4),
          fill: roles[kind] || roles.operator,
          onclick: () => roving.click(element, false),
        });
        cells.push({ item, element });
        return element;
      }),
    );
    const size = { width: Math.round(width * scale), height: Math.round(height * scale) };
    const card = h(
      "div",
      { class: "ced-circuit", role: "group", "aria-label": `${label}, ${text}. ${made}` },
      h("div", { class: "ced-name", "aria-hidden": "true" }, h("b", { text: label }), h("span", { text: ` ${text}` })),
      made ? h("div", { class: "ced-made", "aria-hidden": "true", text: made }) : null,
      s("svg", { viewBox: `0 0 ${width} ${height}`, ...size, role: "presentation" }, links, words, shapes),
    );
    if (!made) return card;
    return h("div", { class: "ced-step" }, h("span", { class: "ced-arrow", "aria-hidden": "true", text: "→" }), card);
  }

  /** Light up some layers with all that they were made of, and all that were made of them. @param {string[]} keys */
  function light(keys) {
    chosen = keys;
    const lit = relativesOf(derivation?.origins ?? [], keys);
    circuits.setAttribute("class", keys.length ? "ced-circuits ced-lit" : "ced-circuits");
    for (const { item, element } of cells) {
      const on = lit.has(item.key);
      element.setAttribute("class", `ced-cell${on ? " ced-on" : ""}${keys.includes(item.key) ? " ced-first" : ""}`);
      element.setAttribute("aria-selected", String(on));
    }
    words.textContent = keys.length ? litWords(lit) : derivation?.note || HINT;
  }

  /** The lit layers of each circuit. @param {Set<string>} lit */
  function litWords(lit) {
    const parts = (derivation?.circuits ?? []).flatMap(({ label }, at) => {
      const own = cells.filter(({ item }) => item.circuit === at && lit.has(item.key)).map(({ item }) => item);
      if (!own.length) return [];
      const named = own.map(({ title, layer }) => `${title} ${layer}`).join(", ");
      return [`${own.length > MAX_NAMED ? `${own.length} layers` : named} of ${label}`];
    });
    return `${parts.join(" → ")}.`;
  }

  function draw() {
    const palette = paletteFor(doc, asDict(model.get("options")).theme);
    applyPalette(root, palette, "ced");
    cells = [];
    try {
      derivation = readDerivation(model.get("derivation"));
    } catch (error) {
      derivation = null;
      circuits.replaceChildren();
      words.textContent = `Cannot draw this derivation. ${errorText(error)}`;
      return;
    }
    root.hidden = !derivation;
    circuits.replaceChildren(...(derivation?.circuits ?? []).map((one, at) => figure(one, at, palette.roles)));
    roving.renew();
    light((derivation?.chosen ?? []).map(([circuit, layer]) => keyOf(circuit, layer)));
  }

  const closing = [onChangesTogether(model, { derivation: draw, options: draw }), watchTheme(doc, draw)];
  const sheet = h("style", { text: STYLE });
  el.appendChild(sheet);
  el.appendChild(root);
  draw();

  return () => {
    for (const close of closing) close();
    sheet.remove();
    root.remove();
  };
}

export default { render };
