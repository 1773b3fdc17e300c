/** Answering the question of a scene of the story by choosing plates. */

import { guessOf, isGuessing } from "../parts/state.js";

/** How to answer, by the pointer and by keys. */
const HOW =
  "Click each of them, then Answer. Without a mouse: the keys comma and period go from plate to plate, Space chooses one.";

/** @param {import("../graph.js").Page} page */
export function makeGuessing({ ui: { announce }, store }) {
  const { state } = store;

  /** Choose a plate, or choose it no longer. @param {string} id */
  function toggle(id) {
    const guess = guessOf(state);
    if (!guess || guess.checked) return;
    const chosen = guess.chosen.includes(id) ? guess.chosen.filter((other) => other !== id) : [...guess.chosen, id];
    store.set({ focus: id, guess: { at: guess.name, chosen, checked: false } });
  }

  /** The name of a plate. @param {string} id */
  const nameOf = (id) => state.picture?.byId.get(id)?.title || id;

  /** What is right and wrong in the answer. @param {NonNullable<ReturnType<typeof guessOf>>} guess */
  function verdict({ wanted, chosen, apart, answer }) {
    const wrong = chosen.filter((id) => !wanted.includes(id));
    const missing = wanted.filter((id) => !chosen.includes(id));
    if (!wrong.length && !missing.length) return `Right. ${answer}`;
    const parts = ["Not quite."];
    if (wrong.length) parts.push(`Not ${nameOf(wrong[0])}: ${apart.get(wrong[0]) ?? ""}.`);
    if (missing.length) parts.push(`Missing: ${missing.map(nameOf).join(", ")} (dotted).`);
    return [...parts, answer].join(" ");
  }

  return {
    toggle,
    check() {
      const guess = guessOf(state);
      if (!guess || guess.checked || !guess.chosen.length) return;
      store.set({ guess: { at: guess.name, chosen: guess.chosen, checked: true } });
      announce(verdict(guess));
    },
    /** What the slide says: the question and how to answer it, and then what is right. */
    words() {
      const guess = guessOf(state);
      if (!guess) return "";
      if (guess.checked) return verdict(guess);
      return `${guess.question} ${HOW}`;
    },
    /**
     * What a key does while a scene waits for an answer.
     * @param {{key: string}} event @param {{inPicture: boolean, pressing: boolean, moveFocus(way: "next" | "previous"): boolean}} at
     * @returns {boolean} whether the key was used
     */
    press({ key }, { inPicture, pressing, moveFocus }) {
      if (!isGuessing(state)) return false;
      if (key === "," || key === ".") return moveFocus(key === "." ? "next" : "previous");
      if (key === " " && inPicture) toggle(state.focus);
      else if (key === "Enter" && !pressing && guessOf(state)?.chosen.length) this.check();
      else return false;
      return true;
    },
  };
}
/** @typedef {ReturnType<typeof makeGuessing>} Guessing */
