/** The table with the same data as the picture. */

import { bufferTable } from "../picture/buffers.js";

/** @import { Picture } from "../picture/types.js" */

/** Rows beyond it are shown by a button, which says how many there are. */
const MAX_ROWS = 1000;
/** Cells with more letters get a minimum width. */
const LONG = 26;

/**
 * The rows of the boxes that the search found; all without a search. The first cell of a row is the id of its box.
 * @param {Picture} picture @param {Set<string> | null} found
 */
const rowsOf = ({ table }, found) => (found ? table.rows.filter(([id]) => found.has(id)) : table.rows);

/**
 * @param {import("./ui.js").Ui["h"]} h @param {{table: import("../picture/types.js").Table, title: string, note: string}} shown
 * @param {string[][]} known @param {boolean} all
 */
function tableElement(h, { table, title, note }, known, all) {
  const rows = all ? known : known.slice(0, MAX_ROWS);
  const cell = (/** @type {string} */ words) => h("td", { class: words.length > LONG ? "ce-long" : null, text: words });
  const heads = table.columns.map((column) => h("th", { scope: "col", text: column }));
  const caption = [title, note].filter(Boolean).join(". ") || "The picture as a table";
  return h(
    "table",
    {},
    h("caption", { text: caption }),
    h("thead", {}, h("tr", {}, heads)),
    h(
      "tbody",
      {},
      rows.map((row) => h("tr", {}, row.map(cell))),
    ),
  );
}

/** @param {import("../graph.js").Page} page */
export function makeTable({ ui: { h, button, textButton }, store }) {
  const { state } = store;
  const region = { tabindex: "0", role: "region", "aria-label": "The picture as a table", hidden: true };
  const element = h("div", { class: "ce-table", ...region });
  const toggle = button("Table with the same data", "table", () => store.set({ showTable: !state.showTable }), {
    "aria-pressed": "false",
  });
  return {
    element,
    toggle,
    reads: /** @type {const} */ (["picture", "showTable", "showAllRows", "found"]),
    draw() {
      const { picture, showTable, showAllRows, found } = state;
      toggle.setAttribute("aria-pressed", String(showTable));
      element.hidden = !showTable || !picture;
      if (!showTable || !picture) {
        element.replaceChildren();
        return;
      }
      const pictures = picture.other ? [picture, picture.other] : [picture];
      const counts = pictures.flatMap((shown) => [rowsOf(shown, found).length, shown.buffers?.buffers.length ?? 0]);
      const most = Math.max(...counts);
      const more = `Show all ${most.toLocaleString("en")} rows`;
      element.replaceChildren(
        ...pictures.map((shown) => tableElement(h, shown, rowsOf(shown, found), showAllRows)),
        ...pictures.flatMap(({ buffers, title }) => {
          const table = buffers && bufferTable(buffers);
          const named = table && { table, title: `${title}: buffers`, note: buffers.text };
          return named ? [tableElement(h, named, named.table.rows, showAllRows)] : [];
        }),
        ...(most > MAX_ROWS && !showAllRows ? [textButton(more, () => store.set({ showAllRows: true }))] : []),
      );
    },
  };
}

export const STYLE = `
.ce-table{position:absolute;inset:0;z-index:2;overflow:auto;background:var(--ce-bg);padding:0 10px 10px}
.ce-table table{border-collapse:collapse;width:100%;font-size:12.5px;font-variant-numeric:tabular-nums;margin:0;color:inherit}
.ce-table caption{text-align:left;padding:8px 0;color:var(--ce-muted);caption-side:top}
.ce-table th{position:sticky;top:0;background:var(--ce-panel);text-align:left;border-bottom:2px solid var(--ce-control);padding:5px 10px;white-space:nowrap}
.ce-table td{border-bottom:1px solid var(--ce-line);padding:4px 10px;text-align:left;vertical-align:top;overflow-wrap:break-word;max-width:420px}
.ce-table td.ce-long{min-width:210px}
.ce-table tbody tr:nth-child(even){background:var(--ce-ground)}
`;
