/**
 * A painting that is moved as an image: while the camera moves over a picture of many cells, the browser moves and scales
 * what is painted; cells and words are laid out again when the camera rests.
 */

/** @typedef {import("../picture/types.js").Camera} Camera */

/** Enlarged or reduced by more than this, an image no longer shows what there is to see. */
const FAR = 2;

/** @param {any[]} layers elements of the size of the stage */
export function makeStill(layers) {
  /** The camera of the painting that is kept. @type {Camera | null} */
  let kept = null;
  let moved = false;

  /** @param {string} transform */
  function place(transform) {
    moved = transform !== "";
    for (const { style } of layers) {
      style.transform = transform;
      style.willChange = moved ? "transform" : "";
      style.overflow = moved ? "visible" : ""; // words beyond the edges come into view
    }
  }

  return {
    /** @param {Camera} camera of what is painted now */
    keep(camera) {
      kept = camera;
    },
    /** The layers are painted anew. */
    forget() {
      kept = null;
      if (moved) place("");
    },
    /**
     * Move the layers to where another camera sees them; returns whether they cover about half of what it sees.
     * @param {Camera} camera @param {number} width @param {number} height of the stage
     */
    move(camera, width, height) {
      if (!kept) return false;
      const by = camera.k / kept.k;
      const [right, down] = [(kept.x - camera.x) * camera.k, (kept.y - camera.y) * camera.k];
      if (by < 1 / FAR || by > FAR || Math.abs(right) > width / 2 || Math.abs(down) > height / 2) return false;
      place(`translate(${right}px, ${down}px) scale(${by})`);
      return true;
    },
  };
}
