// @ts-check
/**
 * Horizontal bars with whiskers, one unit, one axis. One self-contained ES module for Jupyter (anywidget) and Panel.
 *
 * Reads the traits `bars` (JSON of `BarsView` in `widgets/schema.py`) and `options` ({theme, height}). Setting `bars` again
 * redraws them, so that a measurement is shown as it runs. A missing value is hatched, with the reason. A bar with a `tone` is
 * a change in time: its colour and its sign say faster, slower, or within the noise.
 */

/**
 * @typedef {{get(name: string): any, set(name: string, value: any): void, save_changes(): void,
 *   on(event: string, callback: () => void): void, off(event: string, callback: () => void): void}} Model
 * @typedef {{label: string, value: number | null, low: number | null, high: number | null, series: string, missing: string, tone: string}} Bar
 * @typedef {{title: string, unit: string, log: boolean, series: string[], bars: Bar[], note: string,
 *   columns: string[], rows: string[][]}} Bars
 * @typedef {{fill: string, colour: string}} Look
 * @typedef {{low: number, high: number, log: boolean, ticks: number[], at(value: number): number}} Axis  `at`: 0 to 1
 */

const VERSION = 1;
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Noto Sans", sans-serif';
const ROW = 24;
/** Sign and words of a change in time. @type {Record<string, [string, string]>} */
const TONES = { faster: ["▼", "faster"], slower: ["▲", "slower"], noise: ["≈", "within the noise"] };

/** Series: Okabe-Ito, with a texture and the name next to the bar as further cues. Tones: PuOr and grey. @type {Record<string, Record<string, any>>} */
const THEMES = {
  light: { bg: "#ffffff", fg: "#16191d", muted: "#565d66", line: "#d5d9df", control: "#858c96", soft: "#eaf1f9", accent: "#0a5fb4", hatch: "#9aa1ab", error: "#b3261e", series: ["#0072b2", "#d55e00", "#009e73", "#b35a89", "#7d6500", "#565d66"], faster: "#5e3c99", slower: "#b35806", noise: "#858c96" },
  dark: { bg: "#14171c", fg: "#eceef1", muted: "#a9b1bb", line: "#3a414b", control: "#7d8792", soft: "#23313f", accent: "#7cc0ff", hatch: "#7d8792", error: "#ff8a80", series: ["#56b4e9", "#f0803a", "#1fc796", "#cc79a7", "#e6c84a", "#a9b1bb"], faster: "#b2abd2", slower: "#f1a340", noise: "#7d8792" },
  forced: { bg: "Canvas", fg: "CanvasText", muted: "CanvasText", line: "CanvasText", control: "CanvasText", soft: "Canvas", accent: "Highlight", hatch: "CanvasText", error: "CanvasText", series: ["CanvasText"], faster: "Highlight", slower: "CanvasText", noise: "GrayText" },
};

const STYLE = `
.ceb-root{box-sizing:border-box;width:100%;font:13px/1.4 ${FONT};color:var(--ceb-fg);background:var(--ceb-bg);border:1px solid var(--ceb-line);border-radius:8px;overflow:hidden;text-align:left}
.ceb-root *{box-sizing:border-box}
.ceb-root [hidden]{display:none!important}
.ceb-head{display:flex;flex-wrap:wrap;align-items:center;gap:4px 16px;padding:8px 12px 4px}
.ceb-head h2{margin:0;font-size:14px;font-weight:650;flex:1 1 auto;color:inherit}
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
@media (forced-colors:active){.ceb-body svg,.ceb-legend svg{forced-color-adjust:none}}
`;

/** @param {any} value */
const text = (value) => (typeof value === "string" ? value : value == null ? "" : String(value));
/** @param {any} value */
const numeric = (value) => (typeof value === "number" && Number.isFinite(value) ? value : null);
/** @param {any} value @returns {any[]} */
const list = (value) => (Array.isArray(value) ? value : []);

/**
 * Parse the bars; throws an Error with a message for the user if they are malformed. Null for the empty string.
 * @param {any} json @returns {Bars | null}
 */
export function readBars(json) {
  if (json == null || json === "") return null;
  let raw;
  try {
    raw = typeof json === "string" ? JSON.parse(json) : json;
  } catch (error) {
    throw new Error(`The bars are not JSON: ${error instanceof Error ? error.message : error}`);
  }
  if (!raw || typeof raw !== "object" || !Array.isArray(raw.bars)) throw new Error("The bars have no list of bars.");
  if (numeric(raw.version) !== null && raw.version > VERSION) {
    throw new Error(`The bars have version ${raw.version}; this drawing knows version ${VERSION}. Update the explorer.`);
  }
  const bars = raw.bars.map((/** @type {any} */ bar) => ({
    label: text(bar && bar.label),
    value: numeric(bar && bar.value),
    low: numeric(bar && bar.low),
    high: numeric(bar && bar.high),
    series: text(bar && bar.series),
    missing: text(bar && bar.missing),
    tone: bar && Object.hasOwn(TONES, text(bar.tone)) ? text(bar.tone) : "",
  }));
  const named = list(raw.series).map(text);
  const extra = [...new Set(bars.map((/** @type {Bar} */ bar) => bar.series))].filter((name) => !named.includes(name));
  const table = raw.table && typeof raw.table === "object" ? raw.table : {};
  return {
    title: text(raw.title),
    unit: text(raw.unit),
    log: raw.log === true,
    series: [...named, ...extra],
    bars,
    note: text(raw.note),
    columns: list(table.columns).map(text),
    rows: list(table.rows).map((row) => list(row).map(text)),
  };
}

/** A number with three digits, without trailing zeros. @param {number} value */
export function shown(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e");
  const digits = Math.max(0, 2 - Math.floor(Math.log10(size)));
  return Number(value.toFixed(Math.min(6, digits))).toLocaleString("en", { maximumFractionDigits: 6 });
}

/**
 * The axis of all values and whiskers: from zero, or in steps within decades if it is logarithmic.
 * @param {Bars} bars @returns {Axis}
 */
export function axisOf({ bars, log }) {
  const values = bars.flatMap((bar) => [bar.value, bar.low, bar.high]).filter((value) => value !== null);
  const known = /** @type {number[]} */ (values).filter((value) => !log || value > 0);
  if (log && known.length) {
    const steps = [1, 2, 5];
    /** @param {number} index */
    const mark = (index) => steps[((index % 3) + 3) % 3] * 10 ** Math.floor(index / 3);
    let first = 3 * Math.floor(Math.log10(Math.min(...known))) - 1;
    while (mark(first + 1) <= Math.min(...known) * 0.85) first += 1;
    let last = first + 1;
    while (mark(last) < Math.max(...known)) last += 1;
    const marks = Array.from({ length: last - first + 1 }, (_, index) => first + index);
    const every = marks.length > 16 ? 3 * Math.ceil(marks.length / 24) : marks.length > 8 ? 3 : 1;
    const ticks = marks.filter((index) => every === 1 || index % every === 0).map(mark);
    const [low, high] = [mark(first), mark(last)];
    return { low, high, log, ticks, at: (value) => Math.log(Math.max(low, value) / low) / Math.log(high / low) };
  }
  const [least, most] = [Math.min(0, ...known), Math.max(0, ...known)];
  const reach = most - least || 1;
  const rough = reach / 5;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * unit).find((size) => size >= rough) || unit;
  const [low, high] = [step * Math.floor(least / step), step * Math.ceil((most || 1) / step)];
  const ticks = Array.from({ length: Math.round((high - low) / step) + 1 }, (_, index) => low + index * step);
  return { low, high, log: false, ticks, at: (value) => (value - low) / (high - low || 1) };
}

/** @param {any} doc */
function hostTheme(doc) {
  for (const element of [doc.body, doc.documentElement]) {
    if (!element || !element.getAttribute) continue;
    const lab = element.getAttribute("data-jp-theme-light");
    if (lab) return lab === "true" ? "light" : "dark";
    for (const name of ["data-theme", "data-mui-color-scheme", "data-bs-theme", "data-vscode-theme-kind", "theme"]) {
      const value = element.getAttribute(name) || "";
      if (/dark/.test(value)) return "dark";
      if (/light/.test(value)) return "light";
    }
    const classes = element.getAttribute("class") || "";
    if (/(^|\s)(dark|dark-theme|dark-mode)(\s|$)/.test(classes)) return "dark";
    if (/(^|\s)(light|light-theme|light-mode)(\s|$)/.test(classes)) return "light";
  }
  return asks("(prefers-color-scheme: dark)") ? "dark" : "light";
}

/** @param {string} query */
const asks = (query) => typeof matchMedia === "function" && matchMedia(query).matches;

/** A unique prefix: hosts load the module once per widget, all in one document. */
const OWN = Math.random().toString(36).slice(2, 8);
let serial = 0;

/**
 * Draws the bars into `el`; returns a function that removes them.
 * @param {{model: Model, el: any}} context @returns {() => void}
 */
function render({ model, el }) {
  const doc = el.ownerDocument || document;
  const name = `ceb${OWN}-${(serial += 1)}`;
  /** @type {(() => void)[]} */
  const closing = [];
  /** @type {Bars | null} */
  let bars = null;
  let showTable = false;
  let width = 0;

  /** @param {string} space @param {string} tag @param {Record<string, any>} attributes @param {any[]} children */
  const element = (space, tag, attributes, children) => {
    const made = space ? doc.createElementNS(space, tag) : doc.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) {
      if (value == null || value === false) continue;
      if (key === "text") made.textContent = value;
      else if (typeof value === "function") made.addEventListener(key.slice(2), value);
      else made.setAttribute(key, value === true ? "" : String(value));
    }
    for (const child of children.flat()) if (child) made.appendChild(child);
    return made;
  };
  /** @param {string} tag @param {Record<string, any>} [attributes] @param {any[]} children @returns {any} */
  const h = (tag, attributes = {}, ...children) => element("", tag, attributes, children);
  /** @param {string} tag @param {Record<string, any>} [attributes] @param {any[]} children @returns {any} */
  const s = (tag, attributes = {}, ...children) => element("http://www.w3.org/2000/svg", tag, attributes, children);
  const canvas = h("canvas");
  const pen = typeof canvas.getContext === "function" ? canvas.getContext("2d") : null;
  /** @param {string} words @param {number} size @param {boolean} [bold] */
  const wide = (words, size, bold = false) => {
    if (!pen) return words.length * size * 0.57;
    pen.font = `${bold ? "600 " : ""}${size}px ${FONT}`;
    return pen.measureText(words).width;
  };
  /** @param {string} words @param {number} size @param {number} room @param {boolean} [bold] */
  const clip = (words, size, room, bold = false) => {
    let cut = words;
    while (cut.length > 1 && wide(cut === words ? cut : `${cut}…`, size, bold) > room) cut = cut.slice(0, -1);
    return cut === words ? words : `${cut.trimEnd()}…`;
  };

  const sheet = h("style", { text: STYLE });
  const title = h("h2");
  const legend = h("ul", { class: "ceb-legend", "aria-label": "Series" });
  const toggle = h("button", { type: "button", "aria-pressed": "false", text: "Table", onclick: () => { showTable = !showTable; draw(); } });
  const body = h("div", { class: "ceb-body" });
  const note = h("p", { class: "ceb-note" });
  const root = h("div", { class: "ceb-root", role: "region", "aria-label": "Bars", "data-lm-suppress-shortcuts": "true" },
    h("div", { class: "ceb-head" }, title, legend, toggle), body, note);

  const options = () => {
    const value = model.get("options");
    if (value instanceof Map) return Object.fromEntries(value);
    return value && typeof value === "object" ? value : {};
  };

  function colours() {
    const wish = options().theme;
    const theme = wish === "dark" || wish === "light" ? wish : hostTheme(doc);
    const roles = asks("(forced-colors: active)") ? THEMES.forced : THEMES[theme];
    root.setAttribute("data-theme", theme);
    for (const [role, colour] of Object.entries(roles)) if (typeof colour === "string") root.style.setProperty(`--ceb-${role}`, colour);
    root.style.setProperty("color-scheme", theme);
    const { height } = options();
    body.style.setProperty("max-height", typeof height === "number" ? `${height}px` : text(height) || "none");
    return roles;
  }

  /**
   * Textures (plain, stripes, dots, lines) distinguish the series without colour; the sign next to the value, the tones.
   * @param {number} index @param {string} tone @param {Record<string, any>} roles @param {Map<string, any>} defs patterns in use, by id
   * @param {string} place @returns {Look}
   */
  function lookOf(index, tone, roles, defs, place) {
    const colour = tone ? roles[tone] : roles.series[index % roles.series.length];
    const kind = index % 4;
    if (!kind) return { fill: colour, colour };
    const id = `${name}-${place}-${index}${tone}`;
    if (!defs.has(id)) {
      const mark = kind === 2 ? s("circle", { cx: 3, cy: 3, r: 1.2, fill: roles.bg }) : s("path", { d: "M0 0V6", stroke: roles.bg, "stroke-width": 2 });
      defs.set(id, s("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: kind === 1 ? "rotate(45)" : null },
        s("rect", { width: 6, height: 6, fill: colour }), mark));
    }
    return { fill: `url(#${id})`, colour };
  }

  /** An entry of the legend. @param {string} words @param {number} index @param {string} tone @param {Record<string, any>} roles */
  function entry(words, index, tone, roles) {
    /** @type {Map<string, any>} */
    const defs = new Map();
    const look = lookOf(index, tone, roles, defs, "legend");
    const swatch = s("rect", { width: 22, height: 12, rx: 2, fill: look.fill, stroke: look.colour });
    return h("li", {}, s("svg", { width: 22, height: 12, "aria-hidden": "true" }, defs.size ? s("defs", {}, [...defs.values()]) : null, swatch), h("span", { text: words }));
  }

  /** @param {Bar} bar */
  function say(bar) {
    if (bar.value === null) return `missing: ${bar.missing || "no value"}`;
    const spread = bar.low !== null && bar.high !== null ? ` (${shown(bar.low)} to ${shown(bar.high)})` : "";
    const way = bar.tone ? `, ${TONES[bar.tone][1]}` : "";
    return `${shown(bar.value)} ${bars ? bars.unit : ""}${spread}${way}`;
  }

  /** The value next to its bar, after the sign of its tone. @param {Bar} bar @param {string} unit */
  function worded(bar, unit) {
    return `${bar.tone ? `${TONES[bar.tone][0]} ` : ""}${shown(bar.value || 0)} ${unit}`;
  }

  function draw() {
    try {
      bars = readBars(model.get("bars"));
    } catch (error) {
      body.replaceChildren(h("div", { class: "ceb-wrong", role: "alert", text: `Cannot draw these bars. ${error instanceof Error ? error.message : error}` }));
      title.textContent = "";
      note.textContent = "";
      legend.replaceChildren();
      toggle.hidden = true;
      colours();
      return;
    }
    const roles = colours();
    title.textContent = bars ? bars.title : "";
    note.textContent = bars ? bars.note : "";
    note.hidden = !note.textContent;
    toggle.hidden = !bars;
    toggle.setAttribute("aria-pressed", String(showTable));
    root.setAttribute("aria-label", bars && bars.title ? bars.title : "Bars");
    if (!bars) {
      legend.replaceChildren();
      body.replaceChildren(h("p", { class: "ceb-note", text: "Nothing measured yet." }));
      return;
    }
    const tones = tonesOf(bars);
    legend.setAttribute("aria-label", tones.length ? "Legend" : "Series");
    legend.replaceChildren(
      ...(bars.series.length > 1 ? bars.series.map((series, index) => entry(series, index, "", roles)) : []),
      ...tones.map((tone) => entry(TONES[tone].join(" "), 0, tone, roles)));
    body.replaceChildren(showTable ? tableOf(bars) : chartOf(bars, roles));
  }

  /** @param {Bars} shownBars */
  function tableOf({ columns, rows, bars: all, unit, title: caption }) {
    const toned = all.some((bar) => bar.tone);
    const heads = columns.length ? columns : ["", "series", unit, "spread", ...(toned ? ["change"] : [])];
    const cells = columns.length ? rows : all.map((bar) => [bar.label, bar.series, bar.value === null ? bar.missing : shown(bar.value), bar.low !== null && bar.high !== null ? `${shown(bar.low)} to ${shown(bar.high)}` : "", ...(toned ? [bar.tone ? TONES[bar.tone][1] : ""] : [])]);
    return h("table", { "aria-label": caption }, h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col", text: head })))),
      h("tbody", {}, cells.map((row) => h("tr", {}, row.map((cell) => h("td", { text: cell }))))));
  }

  /** The tones that occur, in the order of `TONES`. @param {Bars} all */
  const tonesOf = (all) => Object.keys(TONES).filter((tone) => all.bars.some((bar) => bar.tone === tone && bar.value !== null));

  /** @param {Bars} all @param {Record<string, any>} roles */
  function chartOf(all, roles) {
    /** @type {Map<string, any>} */
    const defs = new Map();
    const axis = axisOf(all);
    const several = all.series.length > 1;
    const full = Math.max(320, (width || 760) - 26);
    const labels = all.bars.map((bar) => bar.label);
    const labelRoom = Math.min(0.32 * full, 12 + Math.max(0, ...labels.map((label) => wide(label, 12, true))));
    const seriesRoom = several ? Math.min(110, 12 + Math.max(...all.series.map((series) => wide(series, 11)))) : 0;
    const valueRoom = 16 + Math.max(40, ...all.bars.map((bar) => (bar.value === null ? 0 : wide(worded(bar, all.unit), 12))));
    const left = labelRoom + seriesRoom;
    const room = Math.max(80, full - left - valueRoom);
    const parts = [];
    let y = 26;
    /** @type {any[]} */
    const marks = [];
    all.bars.forEach((bar, index) => {
      const same = index > 0 && all.bars[index - 1].label === bar.label;
      if (index) y += same ? ROW - 3 : ROW + (several ? 8 : 3);
      const look = lookOf(Math.max(0, all.series.indexOf(bar.series)), bar.tone, roles, defs, "bar");
      const group = s("g", { transform: `translate(0 ${y})`, "data-bar": index }, s("title", { text: [bar.label, bar.series, say(bar)].filter(Boolean).join(", ") }));
      if (!same) group.appendChild(s("text", { class: "ceb-label", x: labelRoom - 10, "text-anchor": "end", text: clip(bar.label, 12, labelRoom - 12, true) }));
      if (several) group.appendChild(s("text", { class: "ceb-quiet", x: left - 8, "text-anchor": "end", text: clip(bar.series, 11, seriesRoom - 8) }));
      const zero = axis.log ? 0 : axis.at(0);
      if (bar.value === null || (axis.log && bar.value <= 0)) {
        const why = bar.value === null ? bar.missing || "no value" : `${shown(bar.value)} ${all.unit} cannot be shown on a logarithmic axis`;
        group.appendChild(s("rect", { x: left, y: -8, width: 46, height: 16, rx: 2, fill: `url(#${name}-missing)`, stroke: roles.hatch, "stroke-dasharray": "3 3" }));
        group.appendChild(s("text", { class: "ceb-quiet", x: left + 54, text: clip(why, 11, full - left - 60) }));
      } else {
        const [from, to] = [Math.min(zero, axis.at(bar.value)), Math.max(zero, axis.at(bar.value))];
        group.appendChild(s("rect", { class: "ceb-bar", x: left + room * from, y: -8, width: Math.max(1.5, room * (to - from)), height: 16, rx: 2, fill: look.fill, stroke: look.colour }));
        let end = to;
        if (bar.low !== null && bar.high !== null && (!axis.log || bar.low > 0)) {
          const [a, b] = [left + room * axis.at(bar.low), left + room * axis.at(bar.high)];
          end = Math.max(end, axis.at(bar.high));
          for (const [stroke, thick] of [[roles.bg, 4.5], [roles.fg, 1.6]]) {
            group.appendChild(s("path", { class: "ceb-whisker", d: `M${a} 0H${b}M${a} -5V5M${b} -5V5`, stroke, "stroke-width": thick, fill: "none" }));
          }
        }
        group.appendChild(s("text", { x: left + room * end + 7, text: worded(bar, all.unit) }));
      }
      marks.push(group);
    });
    const bottom = y + ROW / 2 + 4;
    let edge = -Infinity;
    for (const tick of axis.ticks) {
      const x = left + room * axis.at(tick);
      parts.push(s("path", { d: `M${x} 14V${bottom}`, stroke: roles.line, "stroke-width": 1 }));
      const words = shown(tick);
      const half = wide(words, 11) / 2;
      if (x - half < edge + 8) continue;
      edge = x + half;
      parts.push(s("text", { class: "ceb-quiet", x, y: 6, "text-anchor": "middle", text: words }));
    }
    const unit = `${all.unit}${axis.log ? ", logarithmic" : ""}`;
    parts.push(s("text", { class: "ceb-quiet", x: left, y: bottom + 9, text: unit }));
    const missing = s("pattern", { id: `${name}-missing`, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(-45)" }, s("path", { d: "M0 0V6", stroke: roles.hatch, "stroke-width": 2 }));
    const counts = tonesOf(all).map((tone) => `${all.bars.filter((bar) => bar.tone === tone).length} ${TONES[tone][1]}`);
    const label = `${all.title}: ${all.bars.length} bars in ${unit}${counts.length ? `; ${counts.join(", ")}` : ""}. The table has the same values.`;
    return s("svg", { width: full, height: bottom + 20, role: "img", "aria-label": label }, s("defs", {}, missing, [...defs.values()]), parts, marks);
  }

  let alive = true;
  let waiting = false;
  const later = () => {
    if (waiting) return;
    waiting = true;
    Promise.resolve().then(() => {
      waiting = false;
      if (alive) draw();
    });
  };
  for (const trait of ["bars", "options"]) {
    model.on(`change:${trait}`, later);
    closing.push(() => model.off(`change:${trait}`, later));
  }
  if (typeof matchMedia === "function") {
    for (const query of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) {
      const media = matchMedia(query);
      if (!media.addEventListener) continue;
      media.addEventListener("change", later);
      closing.push(() => media.removeEventListener("change", later));
    }
  }
  if (typeof MutationObserver === "function") {
    const watch = new MutationObserver(later);
    const filter = { attributes: true, attributeFilter: ["class", "theme", "data-theme", "data-jp-theme-light", "data-mui-color-scheme", "data-bs-theme", "data-vscode-theme-kind"] };
    for (const part of [doc.documentElement, doc.body]) if (part) watch.observe(part, filter);
    closing.push(() => watch.disconnect());
  }
  if (typeof ResizeObserver === "function") {
    const watch = new ResizeObserver(() => {
      if (Math.abs(root.clientWidth - width) < 2) return;
      width = root.clientWidth;
      later();
    });
    watch.observe(root);
    closing.push(() => watch.disconnect());
  }
  el.appendChild(sheet);
  el.appendChild(root);
  width = root.clientWidth || 0;
  draw();

  return () => {
    alive = false;
    for (const close of closing) close();
    sheet.remove();
    root.remove();
  };
}

export default { render };
