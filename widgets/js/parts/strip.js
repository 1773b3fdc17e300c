/** The line above the picture: the error of this step, or the message of the picture, with its buttons. */

import { messageOf } from "./state.js";

/**
 * Buttons for what the picture offers.
 * @param {import("./ui.js").Ui} ui @param {Readonly<import("./state.js").State>} state
 * @param {string} beside `message` or `note` @param {(name: string) => void} request
 */
export function actionButtons({ textButton }, { picture, options }, beside, request) {
  const actions = picture && options.actions !== false ? picture.actions : [];
  return actions
    .filter((action) => action.beside === beside)
    .map((action) => textButton(action.label, () => request(action.name)));
}

/** @param {import("../graph.js").Page} page */
export function makeStrip({ ui, store: { state }, saving: { request } }) {
  const { doc, h, textButton, announce } = ui;
  const element = h("div", { class: "ce-strip", hidden: true });

  /** @param {string} words */
  function copy(words) {
    const board = doc.defaultView?.navigator?.clipboard;
    if (!board) return;
    board.writeText(words).then(
      () => announce("Copied."),
      () => announce("The browser did not allow copying."),
    );
  }

  return {
    element,
    reads: /** @type {const} */ (["steps", "step", "picture", "options"]),
    draw() {
      const { picture } = state;
      const current = state.steps[state.step];
      const error = current ? current.error : "";
      const message = picture && picture.boxes.length ? messageOf(state) : "";
      const differs =
        current && current.ok === false && !error
          ? "The output of this step differs from that of the unoptimized circuit."
          : "";
      const buttons = messageOf(state) ? actionButtons(ui, state, "message", request) : [];
      element.hidden = !(error || message || differs) && !buttons.length;
      element.setAttribute("class", `ce-strip${error || differs ? " ce-wrong" : ""}`);
      element.replaceChildren(
        h("p", { text: [error, differs, message].filter(Boolean).join("\n") }),
        ...buttons,
        error ? textButton("Copy", () => copy(`${current.title}\n${error}`)) : h("span", { hidden: true }),
      );
    },
  };
}

export const STYLE = `
.ce-strip{display:flex;flex-wrap:wrap;align-items:center;gap:6px 10px;padding:6px 12px;border-bottom:1px solid var(--ce-line);background:var(--ce-soft)}
.ce-strip.ce-wrong{border-left:4px solid var(--ce-error)}
.ce-strip p{margin:0;flex:1 1 240px;overflow-wrap:anywhere;white-space:pre-wrap}
`;
