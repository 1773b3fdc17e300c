/** While the picture of a step is on its way: a progress bar after 0.3 s, text and Cancel after 2 s. */

import { isAwaited, isLifeAwaited } from "./state.js";

const [BUSY_MS, SLOW_MS] = [300, 2000];

/** @param {import("../graph.js").Page} page */
export function makeLoading(page) {
  const { root } = page;
  const { h, textButton, timers, announce } = page.ui;
  const { state } = page.store;
  const progress = h("div", { class: "ce-progress", hidden: true });
  const words = h("span", {});
  const wait = h(
    "div",
    { class: "ce-wait", hidden: true },
    words,
    textButton("Cancel", () => page.requesting.cancel()),
  );
  return {
    elements: [progress, wait],
    reads: /** @type {const} */ (["picture", "step", "view", "alive", "life", "options"]),
    /** Hide what says that something is on its way, once it has arrived. */
    draw() {
      const isLearning = isLifeAwaited(state);
      page.area.setAttribute("class", isLearning ? "ce-views ce-awaiting" : "ce-views");
      if (isLearning) {
        progress.hidden = false;
        root.setAttribute("aria-busy", "true");
      }
      if (isAwaited(state) || isLearning) return;
      timers.cancel("busy");
      timers.cancel("slow");
      progress.hidden = true;
      wait.hidden = true;
      root.removeAttribute("aria-busy");
    },
    /** Something has been requested. */
    expect() {
      timers.after("busy", BUSY_MS, () => {
        if (!isAwaited(state)) return;
        progress.hidden = false;
        root.setAttribute("aria-busy", "true");
      });
      timers.after("slow", SLOW_MS, () => {
        if (!isAwaited(state)) return;
        const step = state.steps[state.step];
        words.textContent = `Still working: ${step ? step.title : `step ${state.step}`} …`;
        wait.hidden = false;
        announce(words.textContent);
      });
    },
  };
}
/** @typedef {ReturnType<typeof makeLoading>} Loading */

export const STYLE = `
.ce-progress{position:absolute;left:0;right:0;top:0;height:3px;overflow:hidden;z-index:4}
.ce-progress::before{content:"";position:absolute;inset:0;width:35%;background:var(--ce-accent);animation:ce-run 1.1s infinite ease-in-out}
.ce-wait{position:absolute;left:50%;top:12px;transform:translateX(-50%);z-index:4;display:flex;align-items:center;gap:8px;padding:5px 6px 5px 12px;border:1px solid var(--ce-line);border-radius:8px;background:var(--ce-panel);box-shadow:0 2px 10px var(--ce-shade)}
.ce-awaiting .ce-view{cursor:progress}
.ce-awaiting .ce-stage{opacity:.55}
@keyframes ce-run{from{left:-35%}to{left:100%}}
`;
