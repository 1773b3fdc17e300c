/** The program as text: a line for each instruction; those of the selected boxes and of the pointed moment are lit. */

/**
 * @typedef {import("../picture/buffers.js").Listed} Listed
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

export const STYLE = `
.ce-listing summary{cursor:pointer;font-weight:600;padding:3px 0;min-height:24px}
.ce-listed-lines{position:relative;max-height:220px;overflow:auto;padding:4px 0;font:12px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--ce-ground);border:1px solid var(--ce-line);border-radius:6px}
.ce-listed{padding:0 8px;white-space:pre;color:var(--ce-muted);width:max-content;min-width:100%}
.ce-listed.ce-runs-now{color:var(--ce-fg);cursor:pointer}
.ce-listed.ce-pointed{background:var(--ce-soft)}
.ce-listed.ce-lit{background:var(--ce-soft);box-shadow:inset 3px 0 var(--ce-accent)}
`;
