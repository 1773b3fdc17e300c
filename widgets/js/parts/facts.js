/** What the picture and the steps alone say about a box and about a step, until the host's details arrive. */

import { CHANGE_WORDS, COLOUR_WORDS, nameHull } from "../picture/words.js";

/**
 * @typedef {import("../picture/types.js").Box} Box
 * @typedef {import("../picture/types.js").Details} Details
 * @typedef {import("../picture/types.js").Edge} Edge
 * @typedef {import("../picture/types.js").Picture} Picture
 * @typedef {import("../picture/types.js").Section} Section
 * @typedef {import("../picture/types.js").Step} Step
 */

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
  };
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
export const andMore = (count) => (count > 0 ? ` and ${count} more` : "");

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
export function factsOfStep(step) {
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
  return { id: "", title: step.title, sections: [{ heading: "Step", name: "", rows, lines }], closeup: null };
}
