/** The buttons that move the camera: each does what a drag or a key does. */

export const ZOOM_STEP = 1.35;

/** @param {import("../graph.js").Page} page */
export function makeZoom({ ui: { h, button }, camera: { zoom, fit, focusOrFit } }) {
  return {
    element: h(
      "div",
      { class: "ce-float ce-zoom", role: "group", "aria-label": "Zoom" },
      button("Zoom in (+)", "plus", () => zoom(ZOOM_STEP)),
      button("Zoom out (−)", "minus", () => zoom(1 / ZOOM_STEP)),
      button("Fit all (Space on the graph)", "fit", fit),
      button("Focus on the selection (f)", "focus", focusOrFit),
    ),
  };
}

export const STYLE = `
.ce-zoom{right:10px;top:8px;flex-direction:column}
`;
