/** The steps of the tree from their JSON string, and those that are shown. */

import { parseJson } from "../shared/contract.js";
import { number, text, texts } from "../shared/reading.js";

/**
 * @typedef {{index: number, label: string, groups: string[], title: string, summary: string, changed: boolean,
 *   ok: boolean | null, error: string, counted: string, layers: number}} Step
 */

/**
 * Throws an Error with a message for the user if the steps are malformed.
 * @param {any} json @returns {Step[]}
 */
export function readTree(json) {
  if (json == null || json === "") return [];
  const raw = parseJson("The steps are", json);
  if (!Array.isArray(raw)) throw new Error("The steps are not a list.");
  return raw.map((step, index) => ({
    index: Number.isInteger(step?.index) ? step.index : index,
    label: text(step?.label || step?.path),
    groups: texts(step?.groups),
    title: text(step?.title),
    summary: text(step?.summary),
    changed: step?.changed !== false,
    ok: typeof step?.ok === "boolean" ? step.ok : null,
    error: text(step?.error),
    counted: text(step?.counted) || "layers",
    layers: number(step?.layers),
  }));
}

/** Whether a step failed, or its output differs. @param {Step} step */
export const isBad = ({ error, ok }) => Boolean(error) || ok === false;

/**
 * The steps with all words of the filter; with `only`, those that changed something or failed, and the first and
 * the current one.
 * @param {Step[]} steps @param {{current: number, only: boolean, filter: string}} wanted
 */
export function stepsShown(steps, { current, only, filter }) {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  return steps.filter((step) => {
    if (only && !step.changed && !isBad(step) && step.index !== current && step.index !== 0) return false;
    const searched = `${step.title} ${step.summary} ${step.groups.join(" ")} ${step.label}`.toLowerCase();
    return words.every((word) => searched.includes(word));
  });
}
