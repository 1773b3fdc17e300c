/** A question from its JSON string, and the feedback on an answer. */

import { checkVersion, parseJson } from "../shared/contract.js";
import { list, text } from "../shared/reading.js";

/**
 * @typedef {{right: boolean, text: string}} Verdict
 * @typedef {{noun: string, answer: number, right: string, wrong: string}} NumberAsked
 * @typedef {{boxes: Record<string, number>, about: number, wanted: number[], right: string, why: string,
 *   apart: Record<string, string>}} Clicks
 * @typedef {{text: string, hint: string, choices: Record<string, Verdict> | null, number: NumberAsked | null, clicks: Clicks | null}}
 * Question
 * @typedef {string | number | number[]} Answer
 */

/** Maximum number of nodes listed; beyond it, only their number is shown. */
const LISTED = 6;

/**
 * Throws an Error with a message for the user if the question is malformed.
 * @param {any} json @returns {Question}
 */
export function readQuestion(json) {
  const raw = parseJson("The question is", json);
  if (!raw || typeof raw !== "object" || !(raw.choices || raw.number || raw.clicks)) {
    throw new Error("The question has no answers.");
  }
  checkVersion("The question has", raw.version);
  return {
    text: text(raw.text),
    hint: text(raw.hint),
    choices: raw.choices || null,
    number: raw.number || null,
    clicks: raw.clicks || null,
  };
}

/** @param {number[]} nodes */
const listed = (nodes) =>
  nodes.length <= LISTED
    ? nodes.join(", ")
    : `${nodes.slice(0, LISTED).join(", ")} ... (${nodes.length.toLocaleString("en")} in all)`;

/**
 * The feedback on an answer; the same as that of `explorer.views.check`.
 * @param {Question} question @param {Answer} answer @returns {Verdict}
 */
export function verdictOf({ choices, number, clicks }, answer) {
  if (choices) return choices[text(answer)];
  if (number)
    return answer === number.answer ? { right: true, text: number.right } : { right: false, text: number.wrong };
  const { about, wanted, right, why, apart } = /** @type {Clicks} */ (clicks);
  const given = [...new Set(list(answer))].filter((node) => node !== about);
  const wrong = given.filter((node) => !wanted.includes(node));
  const missing = wanted.filter((node) => !given.includes(node));
  if (!wrong.length && !missing.length) return { right: true, text: right };
  const parts = [];
  if (wrong.length) parts.push(`Not these: ${listed(wrong)}. Layer ${wrong[0]}: ${text(apart[wrong[0]])}`);
  if (missing.length) parts.push(`Missing: ${listed(missing)}.`);
  return { right: false, text: [...parts, why].join(" ") };
}

/**
 * What is said to a wrong first answer: how far it is off where that can be counted, and how to find the right one.
 * @param {Question} question @param {Answer} answer
 */
export function hintOf({ hint, clicks }, answer) {
  if (!clicks) return `Not yet. ${hint} Try once more.`;
  const given = [...new Set(list(answer))].filter((node) => node !== clicks.about);
  const wrong = given.filter((node) => !clicks.wanted.includes(node)).length;
  const missing = clicks.wanted.filter((node) => !given.includes(node)).length;
  const off = [
    wrong && `${wrong} of the chosen ${wrong === 1 ? "does" : "do"} not belong`,
    missing && `${missing} ${missing === 1 ? "is" : "are"} missing`,
  ].filter(Boolean);
  return `Not yet: ${off.join(", ")}. ${hint} Try once more.`;
}
