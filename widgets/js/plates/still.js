/** The last painting as an image: a picture of many cells is moved as that, and painted again when the camera rests. */

/** @typedef {import("../picture/types.js").Camera} Camera */

/** Enlarged or reduced by more than this, an image no longer shows what there is to see. */
const FAR = 1.5;

/** @param {import("../shared/elements.js").Make} make @param {any} canvas whose painting is kept */
export function makeStill({ h }, canvas) {
  const copy = h("canvas", {});
  /** The camera of the painting that is kept. @type {Camera | null} */
  let kept = null;
  return {
    /** @param {Camera} camera */
    keep(camera) {
      [copy.width, copy.height] = [canvas.width, canvas.height];
      copy.getContext("2d").drawImage(canvas, 0, 0);
      kept = camera;
    },
    forget() {
      kept = null;
    },
    /**
     * Paint the image as another camera sees it; say whether there is one that covers about half of what is seen.
     * @param {any} pen @param {Camera} camera
     */
    paint(pen, camera) {
      const { width, height } = canvas;
      if (!kept || copy.width !== width || copy.height !== height) return false;
      const by = camera.k / kept.k;
      const scale = globalThis.devicePixelRatio || 1;
      const [right, down] = [(kept.x - camera.x) * camera.k * scale, (kept.y - camera.y) * camera.k * scale];
      if (by < 1 / FAR || by > FAR || Math.abs(right) > width / 2 || Math.abs(down) > height / 2) return false;
      pen.setTransform(1, 0, 0, 1, 0, 0);
      pen.clearRect(0, 0, width, height);
      pen.imageSmoothingEnabled = false;
      pen.drawImage(copy, right + (width / 2) * (1 - by), down + (height / 2) * (1 - by), width * by, height * by);
      return true;
    },
  };
}
