/** The canvas of plates: as many pixels as the screen has, moved as an image while the camera moves. */

/** @import { Camera } from "../picture/types.js" */

/** @param {any} canvas */
export function makeSheet(canvas) {
  const pen = typeof canvas.getContext === "function" ? canvas.getContext("2d") : null;
  const sharpness = () => globalThis.devicePixelRatio || 1;

  /** @param {number} width @param {number} height */
  const pixels = (width, height) => [width, height].map((size) => Math.round(size * sharpness()));

  /** Another size empties it. @param {number[]} size */
  function resize([width, height]) {
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
  }

  return {
    pen,
    /** Clear it, to paint what a camera sees. @param {Camera} camera @param {number} width @param {number} height */
    begin({ k, x, y }, width, height) {
      const sharp = sharpness();
      resize(pixels(width, height));
      pen.setTransform(1, 0, 0, 1, 0, 0);
      pen.clearRect(0, 0, canvas.width, canvas.height);
      pen.setTransform(sharp * k, 0, 0, sharp * k, sharp * (width / 2 - k * x), sharp * (height / 2 - k * y));
    },
    /** Give it another size; what is painted stays at the middle. @param {number} width @param {number} height */
    fit(width, height) {
      const size = pixels(width, height);
      const [right, down] = [size[0] - canvas.width, size[1] - canvas.height];
      if (!right && !down) return;
      const before = canvas.cloneNode();
      if (canvas.width && canvas.height) before.getContext("2d").drawImage(canvas, 0, 0);
      resize(size);
      if (!before.width || !before.height) return;
      pen.setTransform(1, 0, 0, 1, 0, 0);
      pen.drawImage(before, Math.round(right / 2), Math.round(down / 2));
    },
  };
}

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
