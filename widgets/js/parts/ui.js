/** What every part of a page needs: making elements, buttons, announcements, timers, and errors shown in the page. */

import { maker } from "../shared/elements.js";
import { makeFailures } from "../shared/failures.js";
import { icon } from "../shared/icons.js";
import { prepareMeasuring } from "../shared/measuring.js";
import { makeTimers } from "../shared/timing.js";

/** @param {any} doc */
export function makeUi(doc) {
  prepareMeasuring(doc);
  const make = maker(doc);
  const { h } = make;
  const live = h("div", { class: "ce-said", role: "status", "aria-live": "polite" });
  /** Say something to screen readers, politely. @param {string} words */
  const announce = (words) => {
    live.textContent = words;
  };
  const failures = makeFailures(make, announce);
  const { guard } = failures;
  /**
   * A button with an icon.
   * @param {string} label @param {string} picture @param {() => void} action @param {Record<string, any>} [more]
   */
  const button = (label, picture, action, more = {}) =>
    h(
      "button",
      { type: "button", "aria-label": label, title: label, onclick: guard(action), ...more },
      icon(make, picture),
    );
  /** A button with words. @param {string} words @param {() => void} action @param {Record<string, any>} [more] */
  const textButton = (words, action, more = {}) =>
    h("button", { type: "button", onclick: guard(action), ...more, text: words });
  return {
    doc,
    make,
    h,
    s: make.s,
    live,
    announce,
    button,
    textButton,
    guard,
    wrong: failures.element,
    timers: makeTimers(guard),
  };
}
/** @typedef {ReturnType<typeof makeUi>} Ui */
