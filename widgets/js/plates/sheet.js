/** The canvas on which plates are painted: as many pixels as the screen has, and what becomes of them at another size. */

/** @typedef {import("../picture/types.js").Camera} Camera */

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
