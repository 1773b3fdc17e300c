/**
 * Horizontal bars with whiskers, one unit, one axis.
 *
 * Reads the traits `bars` (JSON of `BarsView` in `widgets/explorer_widgets/schema/`) and `options` ({theme, height}). Setting `bars`
 * again redraws them, so that a measurement is shown as it runs. Python decides what is drawn (`explorer/views/bars.py`);
 * the view stretches the axis to its width.
 */

import { checkVersion, errorText, parseJson } from "./shared/contract.js";
import { maker, uniqueName } from "./shared/elements.js";
import { markElements, placed, readMarks } from "./shared/marks.js";
import { FONT } from "./shared/measuring.js";
import { asDict, like } from "./shared/reading.js";
import { copyOrSave, escaped, insideOf, svgFile } from "./shared/svg_file.js";
import { applyPalette, heightOf, paletteFor, watchTheme } from "./shared/theme.js";
import { onChangesTogether } from "./shared/traits.js";

/** @typedef {ReturnType<typeof readAll>} Bars */
const readAll = like({
  title: "",
  note: "",
  chart: { left: 0, right: 0, height: 0, text: "", marks: readMarks, legend: [{ text: "", swatch: readMarks }] },
  table: { columns: [""], rows: [[""]] },
});

/** Width of a chart without a measurement, and the least one, also of its axis. */
const [WIDTH, MIN_WIDTH, MIN_ROOM] = [760, 320, 80];
const COPY = "Copy SVG";
/** How long its button says what was done. */
const SAID_MS = 2000;
/** Height of the title of a copied chart. */
const HEAD = 30;

const STYLE = `
.ceb-root{box-sizing:border-box;width:100%;font:13px/1.4 ${FONT};color:var(--ceb-fg);background:var(--ceb-bg);border:1px solid var(--ceb-line);border-radius:8px;overflow:hidden;text-align:left}
.ceb-root *{box-sizing:border-box}
.ceb-root [hidden]{display:none!important}
.ceb-head{display:flex;flex-wrap:wrap;align-items:center;gap:4px 16px;padding:8px 12px 4px}
.ceb-head h2{margin:0;padding:0;border:0;font-size:14px;font-weight:650;flex:1 1 auto;color:inherit}
.ceb-legend{display:flex;flex-wrap:wrap;gap:2px 14px;margin:0;padding:0;list-style:none;font-size:12px}
.ceb-legend li{display:inline-flex;align-items:center;gap:6px}
.ceb-root button{font:inherit;font-weight:500;color:inherit;height:28px;padding:0 10px;border:1px solid var(--ceb-control);border-radius:6px;background:var(--ceb-bg);cursor:pointer}
.ceb-root button:hover{background:var(--ceb-soft)}
.ceb-root button[aria-pressed=true]{background:var(--ceb-soft);border-color:var(--ceb-accent);box-shadow:inset 0 -2px 0 var(--ceb-accent)}
.ceb-root :focus-visible{outline:2px solid var(--ceb-accent);outline-offset:2px}
.ceb-body{overflow:auto;padding:0 12px 4px}
.ceb-body svg{display:block;overflow:visible}
.ceb-body text{dominant-baseline:central;font-family:inherit;font-size:12px;fill:var(--ceb-fg);font-variant-numeric:tabular-nums}
.ceb-body text.ceb-quiet{fill:var(--ceb-muted);font-size:11px}
.ceb-body text.ceb-label{font-weight:600}
.ceb-body table{border-collapse:collapse;width:100%;font-size:12.5px;font-variant-numeric:tabular-nums;color:inherit;margin:0 0 8px}
.ceb-body th,.ceb-body td{text-align:left;padding:4px 10px;border-bottom:1px solid var(--ceb-line)}
.ceb-body th{border-bottom:2px solid var(--ceb-control)}
.ceb-note{margin:0;padding:4px 12px 8px;color:var(--ceb-muted)}
.ceb-wrong{margin:8px 12px;padding:8px 12px;border-left:4px solid var(--ceb-error)}
@media print{.ceb-root{print-color-adjust:exact}.ceb-body svg{max-width:100%;height:auto}}
@media (forced-colors:active){.ceb-body svg,.ceb-legend svg{forced-color-adjust:none}}
`;

/**
 * Draws the bars into `el`; returns a function that removes them.
 * @param {import("./shared/contract.js").Context} context @returns {() => void}
 */
function render({ model, el }) {
  const doc = el.ownerDocument || document;
  const make = maker(doc);
  const { h, s } = make;
  const name = uniqueName("ceb");
  let showTable = false;
  let width = 0;

  const toggleTable = () => {
    showTable = !showTable;
    draw();
  };
  const title = h("h2");
  const legend = h("ul", { class: "ceb-legend", "aria-label": "Legend" });
  const toggle = h("button", { type: "button", "aria-pressed": "false", text: "Table", onclick: toggleTable });
  const copy = h("button", { type: "button", text: COPY, title: "Copy the chart as SVG", onclick: copyChart });
  const body = h("div", { class: "ceb-body" });
  const note = h("p", { class: "ceb-note" });
  const root = h(
    "div",
    { class: "ceb-root", role: "region", "aria-label": "Bars", "data-lm-suppress-shortcuts": "true" },
    h("div", { class: "ceb-head" }, title, legend, copy, toggle),
    body,
    note,
  );

  const options = () => asDict(model.get("options"));

  async function copyChart() {
    const chart = body.firstChild;
    const [wide, high] = ["width", "height"].map((side) => Number(chart.getAttribute(side)));
    const { roles } = paletteFor(doc, options().theme);
    const heading = `<text x="8" y="18" font-size="14" font-weight="600" fill="${roles.fg}">${escaped(title.textContent)}</text>`;
    const drawing = `<g transform="translate(8 ${HEAD})">${insideOf(chart)}</g>`;
    copy.textContent = await copyOrSave(
      doc,
      svgFile(wide + 16, high + HEAD, roles.panel, heading + drawing),
      "chart.svg",
    );
    setTimeout(() => (copy.textContent = COPY), SAID_MS);
  }

  function colours() {
    const { theme, height } = options();
    const palette = paletteFor(doc, theme);
    applyPalette(root, palette, "ceb");
    body.style.setProperty("max-height", heightOf(height) || "none");
    return palette;
  }

  /** Everything but the bars. @param {Bars | null} bars @param {any[]} entries of the legend */
  function drawFrame(bars, entries) {
    title.textContent = bars ? bars.title : "";
    note.textContent = bars ? bars.note : "";
    note.hidden = !note.textContent;
    toggle.hidden = !bars;
    copy.hidden = !bars || showTable;
    toggle.setAttribute("aria-pressed", String(showTable));
    root.setAttribute("aria-label", bars && bars.title ? bars.title : "Bars");
    legend.replaceChildren(...entries);
  }

  function draw() {
    const palette = colours();
    let bars = null;
    let wrong = "";
    try {
      bars = readBars(model.get("bars"));
    } catch (error) {
      wrong = `Cannot draw these bars. ${errorText(error)}`;
    }
    if (!bars) {
      drawFrame(null, []);
      body.replaceChildren(
        wrong
          ? h("div", { class: "ceb-wrong", role: "alert", text: wrong })
          : h("p", { class: "ceb-note", text: "Nothing measured yet." }),
      );
      return;
    }
    const entries = bars.chart.legend.map(({ text, swatch }, at) => {
      const marks = markElements(make, swatch, palette, `${name}-legend${at}-`);
      return h("li", {}, s("svg", { width: 22, height: 12, "aria-hidden": "true" }, marks), h("span", { text }));
    });
    drawFrame(bars, entries);
    body.replaceChildren(showTable ? tableElement(bars) : chartElement(bars, palette));
  }

  /** The bars over one axis, as wide as the view. @param {Bars} bars @param {import("./shared/theme.js").Palette} palette */
  function chartElement({ chart: { left, right, height, text, marks } }, palette) {
    const full = Math.max(MIN_WIDTH, (width || WIDTH) - 26);
    const size = { width: full, height, viewBox: `0 0 ${full} ${height}`, role: "img", "aria-label": text };
    const onAxis = placed(marks, left, Math.max(MIN_ROOM, full - left - right));
    return s("svg", size, markElements(make, onAxis, palette, `${name}-bar-`));
  }

  /** @param {Bars} bars */
  function tableElement({ title: words, table: { columns, rows } }) {
    const heads = columns.map((column) => h("th", { scope: "col", text: column }));
    const cells = rows.map((row) =>
      h(
        "tr",
        {},
        row.map((cell) => h("td", { text: cell })),
      ),
    );
    return h("table", { "aria-label": words }, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, cells));
  }

  const closing = [onChangesTogether(model, { bars: draw, options: draw }), watchTheme(doc, draw)];
  if (typeof ResizeObserver === "function") {
    const watch = new ResizeObserver(() => {
      if (Math.abs(root.clientWidth - width) < 2) return;
      width = root.clientWidth;
      draw();
    });
    watch.observe(root);
    closing.push(() => watch.disconnect());
  }
  const sheet = h("style", { text: STYLE });
  el.appendChild(sheet);
  el.appendChild(root);
  width = root.clientWidth || 0;
  draw();

  return () => {
    for (const close of closing) close();
    sheet.remove();
    root.remove();
  };
}

/**
 * Throws an Error with a message for the user if the bars are malformed. Null for the empty string.
 * @param {any} json @returns {Bars | null}
 */
function readBars(json) {
  if (json == null || json === "") return null;
  const raw = parseJson("The bars are", json);
  if (!raw || typeof raw !== "object" || !raw.chart) throw new Error("The bars have no chart.");
  checkVersion("The bars have", raw.version);
  return readAll(raw);
}

export default { render };
