/** The height of the stage where the host leaves it to the view: that of the highest picture so far, within limits. */

import { heightFor } from "../controls/camera_views.js";
import { followsContent, isPresenting, picturesOf } from "./state.js";

/** @param {import("./state.js").Store} store @param {import("./stage.js").Stage} stage @param {any} main what holds it */
export function makeRoom({ state }, stage, main) {
  /** What the heights of pictures are compared for: between steps the page below does not jump up and down. */
  let compared = "";
  let height = 0;
  return {
    reads: /** @type {const} */ (["picture", "options", "width", "view"]),
    draw() {
      const pictures = picturesOf(state);
      const isFree = followsContent(state) && !isPresenting(state);
      if (!isFree) main.style.setProperty("flex-basis", "");
      if (!isFree || !pictures.length) return;
      const form = [state.width, pictures.length, pictures[0].groupBy].join(" ");
      const needed = heightFor(pictures, { ...stage.viewport(), width: state.width / pictures.length });
      height = form === compared ? Math.max(height, needed) : needed;
      compared = form;
      main.style.setProperty("flex-basis", `${height}px`);
    },
  };
}
