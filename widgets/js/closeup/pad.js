/** An image to paint with the pointer, or with the arrow keys and the space bar. */

/** The longest side of the pad and of a thumbnail, in pixels. */
const SIDE = 132;
/** @type {Record<string, number[]>} */
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/**
 * Draw the mean of the channels of an image in shades of grey.
 * @param {any} canvas @param {number[]} x @param {number[]} shape channels, height, width @param {number} most
 * @param {number} side the longest side in pixels
 */
export function drawImage(canvas, x, [channels, height, width], most, side) {
  const scale = Math.max(1, Math.floor(side / Math.max(width, height)));
  canvas.width = width * scale;
  canvas.height = height * scale;
  const pen = typeof canvas.getContext === "function" ? canvas.getContext("2d") : null;
  if (!pen) return;
  const size = width * height;
  for (let at = 0; at < size; at += 1) {
    let sum = 0;
    for (let channel = 0; channel < channels; channel += 1) sum += x[channel * size + at] || 0;
    const shade = Math.round(255 * (1 - Math.min(1, Math.max(0, sum / (channels * (most || 1))))));
    pen.fillStyle = `rgb(${shade} ${shade} ${shade})`;
    pen.fillRect((at % width) * scale, Math.floor(at / width) * scale, scale, scale);
  }
}

/**
 * @param {import("../parts/ui.js").Ui} ui @param {number[]} start @param {number[]} shape @param {number} most
 * @param {(x: number[]) => void} done called with the image after each stroke
 */
export function paintPad({ h, guard, announce }, start, shape, most, done) {
  const [channels, height, width] = shape;
  const size = width * height;
  const x = [...start];
  let ink = most;
  let stroke = false;
  let cursor = [Math.floor(width / 2), Math.floor(height / 2)];
  const label = "Paint: drag, or arrow keys and space";
  const canvas = h("canvas", {
    class: "ce-pad",
    tabindex: "0",
    role: "application",
    "aria-label": label,
    title: label,
  });

  const redraw = () => {
    drawImage(canvas, x, shape, most, SIDE);
    const pen = typeof canvas.getContext === "function" ? canvas.getContext("2d") : null;
    const scale = canvas.width / width;
    if (!pen || !canvas.matches?.(":focus-visible")) return;
    pen.strokeStyle = "#e69f00";
    pen.lineWidth = 2;
    pen.strokeRect(cursor[0] * scale + 1, cursor[1] * scale + 1, scale - 2, scale - 2);
  };
  /** @param {number} at */
  const isInked = (at) => x[at] >= most / 2;
  /** @param {number} column @param {number} row */
  function put(column, row) {
    if (column < 0 || row < 0 || column >= width || row >= height) return;
    for (let channel = 0; channel < channels; channel += 1) x[channel * size + row * width + column] = ink;
    redraw();
  }
  /** @param {any} event */
  function pixel(event) {
    const rect = canvas.getBoundingClientRect();
    const column = Math.floor(((event.clientX - rect.left) / rect.width) * width);
    return [column, Math.floor(((event.clientY - rect.top) / rect.height) * height)];
  }

  /** @param {string} type @param {(event: any) => void} action */
  const on = (type, action) => canvas.addEventListener(type, guard(action));
  on("pointerdown", (event) => {
    const [column, row] = pixel(event);
    ink = isInked(row * width + column) ? 0 : most;
    stroke = true;
    canvas.setPointerCapture?.(event.pointerId);
    put(column, row);
  });
  on("pointermove", (event) => {
    const [column, row] = pixel(event);
    if (stroke) put(column, row);
  });
  const lift = () => {
    if (stroke) done(x);
    stroke = false;
  };
  on("pointerup", lift);
  on("pointercancel", lift); // the browser takes the pointer, to scroll for example
  on("keydown", (event) => {
    const by = ARROWS[event.key];
    if (!by && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    if (by) {
      cursor = [
        Math.min(width - 1, Math.max(0, cursor[0] + by[0])),
        Math.min(height - 1, Math.max(0, cursor[1] + by[1])),
      ];
      announce(`row ${cursor[1] + 1}, column ${cursor[0] + 1}`);
      return redraw();
    }
    ink = isInked(cursor[1] * width + cursor[0]) ? 0 : most;
    put(cursor[0], cursor[1]);
    done(x);
  });
  on("focus", redraw);
  on("blur", redraw);
  redraw();
  return canvas;
}
