/** Details of the selected box or of the step: beside the picture, or a drawer over it; facts that a picture tells. */

import { CHANGE_WORDS, COLOUR_WORDS, nameHull } from "../picture/words.js";
import { lensHull } from "../plates/lens.js";
import { focusedIn } from "../shared/elements.js";
import { list } from "../shared/reading.js";
import { readsOf, sourceName } from "../closeup/memory.js";
import {
  boxOf,
  inspectedBox,
  inspectedLayer,
  inspectorKind,
  isAsking,
  isDrawer,
  isUnselected,
  layersOf,
} from "./state.js";

/** @import { Box, Details, Edge, Picture, Section, Step } from "../picture/types.js" */

/** Sections with a button and a key: from the details, or requested from the host. */
const SECTIONS = [
  { name: "why-not", words: "Why not", key: "w" },
  { name: "lineage", words: "Lineage", key: "h" },
  { name: "timing", words: "Timing", key: "t" },
];
/** The section of what few look for. */
const MORE = "More";
const MAX_NAMES = 12;
/** Letters of a value that fit into the narrowest column. */
const MAX_UNBROKEN = 16;

/** @param {import("../graph.js").Page} page */
export function makeInspector({ ui: { h, button, textButton }, store, saving: { request }, arrangement }) {
  const { state } = store;
  /** Headings that the user has closed, and those that are closed at first. */
  const closed = new Set([MORE]);
  const heading = h("span", {});
  const closeButton = button("Close the details", "close", close, { class: "ce-bare" });
  const closeup = h("div", {});
  const body = h("div", {});
  const element = h(
    "aside",
    { class: "ce-side", "aria-label": "Details", tabindex: "0", hidden: true },
    h("h2", {}, heading, closeButton),
    closeup,
    body,
  );
  const toggle = button("Details", "panel", flip, { "aria-expanded": "false" });

  /** The details of the last selected box, or of the step. @returns {Details | null} */
  function shownDetails() {
    const box = inspectedBox(state);
    const { picture, selection } = state;
    const received = isAsking(state) ? null : state.details;
    const layer = inspectedLayer(state);
    if (received && received.id && selection.includes(received.id)) {
      return box && layer >= 0 && layer !== received.layer ? factsOfLayer(layer, box, received) : received;
    }
    if (box && picture) return factsOf(box, picture.byId.has(box.id) ? picture : picture.other || picture);
    const current = state.steps[state.step];
    if (!current) return null;
    const facts = factsOfStep(current);
    return received && !received.id ? { ...facts, sections: [...facts.sections, ...received.sections] } : facts;
  }

  /** The section that names the selected boxes, or the layers that were clicked in them. @returns {Section} */
  function selectedSection() {
    const boxes = state.selection.flatMap((id) => boxOf(state, id) ?? []);
    const titleOf = (/** @type {number} */ layer) =>
      boxes.find(({ plate }) => plate?.cells.includes(layer))?.title ?? "layer";
    const layers = layersOf(state);
    const areLayers = layers.length > 1;
    const names = areLayers ? layers.map((layer) => `${titleOf(layer)} #${layer}`) : boxes.map(({ title }) => title);
    const words = names.slice(0, MAX_NAMES).join(", ") + andMore(names.length - MAX_NAMES);
    return {
      heading: `${names.length} ${areLayers ? "layers" : "boxes"} selected`,
      name: "",
      rows: [],
      lines: [words],
    };
  }

  /** The values of a fact; a short one stays in one line. @param {string[]} values */
  function valueElement(values) {
    const parts = values
      .filter(Boolean)
      .flatMap((value, index) => [
        index ? h("span", { text: "  ·  " }) : null,
        h("span", { class: value.length <= MAX_UNBROKEN ? "ce-unbroken" : null, text: value }),
      ]);
    return h("dd", {}, parts);
  }

  /** @param {Section} section */
  function sectionElement({ heading, name: own, rows, lines }) {
    const facts = rows.map(([name, ...values]) => h("div", {}, h("dt", { text: name }), valueElement(values)));
    const part = h(
      "details",
      { open: !closed.has(heading), "data-heading": heading, "data-name": own },
      h("summary", { text: heading }),
      facts.length ? h("dl", { class: "ce-rows" }, facts) : null,
      lines.map((line) => h("p", { text: line })),
    );
    part.addEventListener("toggle", () => (part.open ? closed.delete(heading) : closed.add(heading)));
    return part;
  }

  /** Buttons for sections in the details, or requests that the host answers. @param {Section[]} sections */
  function sectionButtons(sections) {
    const answered = list(state.options.requests);
    const offered = SECTIONS.filter(
      ({ name }) => answered.includes(name) || sections.some((section) => section.name === name),
    );
    const buttons = offered.map(({ name, words, key }) =>
      textButton(words, () => openSection(name), { title: `${words} (${key})` }),
    );
    return buttons.length ? [h("div", { class: "ce-group ce-goto" }, buttons)] : [];
  }

  /** A button that asks whether all steps compute the same values, until it is known. */
  function checkButton() {
    const isKnown = state.steps.some(({ verdict }) => verdict);
    if (isKnown || !list(state.options.requests).includes("check")) return [];
    return [
      h(
        "div",
        { class: "ce-group ce-goto" },
        textButton("Check values", () => request("check")),
      ),
    ];
  }

  /** Open the inspector at a section, for its button and its key; returns whether there is one. @param {string} name */
  function openSection(name) {
    if (isDrawer(state)) store.set({ showSide: true });
    else if (inspectedBox(state)) open();
    for (const child of body.childNodes) {
      if (child.getAttribute?.("data-name") !== name) continue;
      child.setAttribute("open", "");
      if (child.scrollIntoView) child.scrollIntoView({ block: "nearest" });
      if (child.firstChild && child.firstChild.focus) child.firstChild.focus();
      return true;
    }
    const isAnswered = list(state.options.requests).includes(name);
    if (isAnswered) request(name);
    return isAnswered;
  }

  /** Replace the content; the focus stays at its section. @param {any[]} content */
  function replaceContent(content) {
    const active = focusedIn(element);
    const held = body.contains(active);
    let part = active;
    while (held && part !== body && part.parentNode !== body) part = part.parentNode;
    const name = held ? part.getAttribute("data-heading") : null;
    const top = element.scrollTop;
    body.replaceChildren(...content);
    element.scrollTop = top;
    if (!held || body.contains(active)) return;
    const again = [...body.childNodes].find((child) => name && child.getAttribute("data-heading") === name);
    (again ? again.firstChild : element).focus();
  }

  /** Whether the details are closed until they are asked for. */
  const opensOnRequest = () => isDrawer(state) || isUnselected(state) || Boolean(lensHull(state.picture, state.hull));
  const isOpen = () =>
    inspectorKind(state) !== "none" &&
    state.options.tool !== true &&
    (opensOnRequest() ? state.showSide : !state.showSide);

  /** Open or close the details; what a host shows in their place makes room. */
  function flip() {
    const open = !isOpen();
    if (state.options.tool === true) request("close-tool");
    store.set({ showSide: opensOnRequest() === open });
  }

  function open() {
    if (!isOpen()) flip();
  }

  function close() {
    if (isOpen()) flip();
    toggle.focus();
  }

  return {
    element,
    toggle,
    /** Holds the close-up, unless the details are over the picture. */
    closeup,
    openSection,
    open,
    close,
    reads: /** @type {const} */ ([
      "picture",
      "steps",
      "selection",
      "view",
      "details",
      "options",
      "palette",
      "showSide",
      "hull",
      "width",
    ]),
    draw() {
      const open = isOpen();
      toggle.hidden = inspectorKind(state) === "none";
      toggle.setAttribute("aria-expanded", String(open));
      element.hidden = !open;
      if (!open) {
        body.replaceChildren();
        return;
      }
      const shown = shownDetails();
      const many = Math.max(state.selection.length, layersOf(state).length) > 1 && shown ? [selectedSection()] : [];
      const sections = [...many, ...(shown ? shown.sections : [])];
      heading.textContent = shown ? shown.title : "Details";
      replaceContent([
        ...(inspectedBox(state) ? sectionButtons(sections) : checkButton()),
        ...(shown ? sections.map(sectionElement) : [h("p", { text: "Select a box to see what it is." })]),
        arrangement.settings(closed),
      ]);
    },
  };
}
/** @typedef {ReturnType<typeof makeInspector>} Inspector */

export const STYLE = `
.ce-side{position:relative;flex:0 0 min(var(--explorer-side-width,380px),70%);min-width:0;overflow:auto;border-left:1px solid var(--ce-line);background:var(--ce-panel);padding:10px 12px 16px}
.ce-drawer .ce-side{position:absolute;right:0;top:0;bottom:0;width:min(320px,92%);z-index:3;box-shadow:-4px 0 18px var(--ce-shade)}
.ce-side h2{display:flex;align-items:center;gap:6px;font-size:14px;line-height:1.3;margin:0 0 6px;font-weight:650;overflow-wrap:anywhere;color:inherit}
.ce-side h2 span{flex:1}
.ce-goto{gap:6px;margin:0 0 8px}
.ce-side details{border-top:1px solid var(--ce-line);padding:2px 0 6px}
.ce-side summary{cursor:pointer;font-weight:600;padding:4px 0;min-height:24px}
.ce-side p{margin:4px 0;overflow-wrap:anywhere;white-space:pre-wrap}
.ce-rows{display:grid;grid-template-columns:fit-content(50%) minmax(0,1fr);gap:2px 12px;margin:2px 0}
.ce-rows>div{display:grid;grid-template-columns:subgrid;grid-column:1/-1}
.ce-rows dt{color:var(--ce-muted);font-weight:400;margin:0;overflow-wrap:anywhere}
.ce-unbroken{white-space:nowrap}
.ce-rows dd{margin:0;overflow-wrap:anywhere;font-variant-numeric:tabular-nums}
.ce-settings{display:flex;flex-direction:column;gap:6px;align-items:flex-start;padding-bottom:6px}
`;

const MAX_IDS = 12;
const MAX_READS = 40;

/** @param {Box} box @param {Picture} picture @returns {Details} */
export function factsOf(box, picture) {
  const reads = picture.edges.filter((edge) => edge.target === box).map((edge) => edgeRow(edge, edge.source));
  const readBy = picture.edges.filter((edge) => edge.source === box).map((edge) => edgeRow(edge, edge.target));
  const hulls = picture.hulls.filter((hull) => hull.boxes.includes(box));
  const badges = box.badges.map((badge) => `${badge.sign} ${badge.text}`);
  /** @type {Section[]} */
  const sections = [
    { heading: "Node", name: "node", rows: nodeRows(box, picture), lines: badges },
    cutSection("Reads", reads),
    cutSection("Read by", readBy),
    { heading: "Matches", name: "", rows: hulls.map((hull) => [nameHull(hull), hull.reason]), lines: [] },
  ];
  return {
    id: box.id,
    title: box.title,
    sections: sections.filter(({ name, rows }) => name === "node" || rows.length),
    closeup: null,
    layer: -1,
  };
}

/**
 * A layer of a plate, while only the details of the whole plate are known: in a page, or until those of the layer arrive.
 * @param {number} layer @param {Box} box @param {Details} whole @returns {Details}
 */
function factsOfLayer(layer, box, whole) {
  const memory = whole.closeup?.memory;
  const at = memory?.own.numbers.indexOf(layer) ?? -1;
  const reads = memory && at >= 0 ? readsOf(memory, at).map((source) => sourceName(memory, source)) : [];
  const rows = [["id", String(layer)], ...(reads.length ? [["reads", reads.join(", ")]] : [])];
  const lines = [`What follows is about all ${box.ids.length} layers of the plate: ${whole.title}.`];
  const own = { heading: `Layer #${layer}`, name: "", rows, lines };
  return { ...whole, title: `${box.title} #${layer}`, sections: [own, ...whole.sections] };
}

/** @param {Box} box @param {Picture} picture @returns {string[][]} */
function nodeRows(box, picture) {
  const { ids } = box;
  const rows = [
    box.detail && ["About", box.detail],
    ["Kind", box.kind],
    ["Level", String(box.level)],
    box.count > 1 && ["Stands for", `${box.count} nodes`],
    box.folds > 1 && ["Slices", `F = ${box.folds}`],
    box.change !== "kept" && ["In this step", CHANGE_WORDS[box.change]],
    box.matched && ["Match", "a pattern matched here"],
    box.fillText && [COLOUR_WORDS[picture.colourBy] || "Value", box.fillText],
    ids.length && ["Ids", ids.slice(0, MAX_IDS).join(", ") + andMore(ids.length - MAX_IDS)],
  ];
  return /** @type {string[][]} */ (rows.filter(Boolean));
}

/** @param {number} count */
const andMore = (count) => (count > 0 ? ` and ${count} more` : "");

/** @param {string} heading @param {string[][]} rows @returns {Section} */
const cutSection = (heading, rows) => ({
  heading,
  name: "",
  rows: rows.slice(0, MAX_READS),
  lines: rows.length > MAX_READS ? [`and ${rows.length - MAX_READS} more`] : [],
});

/** @param {Edge} edge @param {Box} other */
function edgeRow({ label, read, count, change }, other) {
  const facts = [label || read, count > 1 ? `${count} edges` : "", change === "kept" ? "" : change];
  return [other.title, facts.filter(Boolean).join(", ")];
}

/** @param {number} count */
const grouped = (count) => count.toLocaleString("en");

/** @param {number} seconds */
const timeText = (seconds) =>
  seconds < 0.9995 ? `${(1000 * seconds).toPrecision(3)} ms` : `${seconds.toPrecision(3)} s`;

/** @param {Step} step @returns {Details} */
function factsOfStep(step) {
  const sizes = step.counted
    ? [[step.counted, grouped(step.layers)]]
    : [
        ["Calls", grouped(step.layers)],
        ["Layers", grouped(step.folds)],
      ];
  const rows = [
    ["Path", step.path],
    ...sizes,
    ["Matches", grouped(step.matches)],
    ["Near misses", grouped(step.nearMisses)],
    ["Compiled in", step.seconds ? timeText(step.seconds) : "not recorded"],
    ["Values", step.verdict || "not checked"],
  ];
  const lines = [step.summary, step.error, "Select a box to see what it is."].filter(Boolean);
  return {
    id: "",
    title: step.name,
    sections: [{ heading: "Step", name: "", rows, lines }],
    closeup: null,
    layer: -1,
  };
}
