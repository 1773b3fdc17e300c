/** The close-up of values: inputs to pick or to paint, the output after each step, and the scale of the cells. */

import { heat } from "../shared/theme.js";
import { valueOf } from "./reading.js";

/**
 * @import { ClosingUp } from "../controls/closeup.js"
 * @import { State } from "../parts/state.js"
 * @import { Run, Values } from "./reading.js"
 */

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

const THUMBNAIL = 40;
const STOPS = 8;
const RUNNING = "Running the input …";

/**
 * @param {import("../parts/ui.js").Ui} ui @param {Readonly<State>} state @param {ClosingUp} actions
 * @returns {{element: any, light(): void, wait(): void}} `light`: says what the cell at the pointer computes; `wait`: that an
 *   input is run
 */
export function valuesPanel(ui, state, actions) {
  const { h, textButton } = ui;
  const { values, running } = state;
  if (!values || values.missing || !values.runs.length) {
    const words = values?.missing || (running ? "Running the inputs …" : "The values are not in this page.");
    const again = (!values || values.paints) && !running && textButton("Run inputs", actions.ask);
    return { element: h("div", {}, h("p", { text: words }), again), light() {}, wait() {} };
  }
  const run = values.runs[state.run] || values.runs[0];
  const cell = h("p", { class: "ce-closeup-words" });
  const same = h("p", { class: "ce-values-same", text: running ? RUNNING : run.same });
  const element = h(
    "div",
    { class: "ce-values" },
    h("div", { class: "ce-values-inputs" }, inputButtons(ui, values, run, actions), ownInput(ui, values, run, actions)),
    h(
      "div",
      { class: "ce-values-outputs" },
      same,
      outputTable(h, values, run, state.step),
      scale(h, values),
      cell,
      values.note ? h("p", { class: "ce-values-note", text: values.note }) : null,
    ),
  );

  function light() {
    const box = state.picture?.byId.get(state.hover);
    const value = box && state.cell >= 0 ? valueOf(run.cells, box, state.cell) : undefined;
    const layer = box?.plate?.cells[state.cell] ?? -1;
    const name = layer >= 0 ? `#${layer}` : `slice ${state.cell}`;
    cell.textContent = value
      ? `Log-likelihood of ${box?.title} ${name}: ${value[0].toPrecision(5).replace("-", "−")}`
      : "";
  }
  light();
  return {
    element,
    light,
    wait() {
      same.textContent = state.running ? RUNNING : run.same;
    },
  };
}

/** @param {import("../parts/ui.js").Ui} ui @param {Values} values @param {Run} run @param {ClosingUp} actions */
function inputButtons({ h, guard }, values, run, actions) {
  const buttons = values.runs.map((one, at) => {
    const thumbnail = values.image.length ? h("canvas", { "aria-hidden": "true" }) : null;
    if (thumbnail) drawImage(thumbnail, one.x, values.image, values.most, THUMBNAIL);
    return h(
      "button",
      {
        type: "button",
        class: "ce-values-input",
        "aria-pressed": String(one === run),
        title: values.image.length ? one.label : `${one.label}: ${one.x.join(", ")}`,
        onclick: guard(() => actions.pick(at)),
      },
      thumbnail,
      h("span", { text: one.label }),
    );
  });
  return h("div", { class: "ce-values-pick", role: "group", "aria-label": "Inputs" }, buttons);
}

/** An input of the user's own. @param {import("../parts/ui.js").Ui} ui @param {Values} values @param {Run} run @param {ClosingUp} actions */
function ownInput(ui, values, run, actions) {
  const { h, guard, textButton } = ui;
  if (!values.paints) return null;
  if (values.image.length) {
    const pad = paintPad(ui, run.x, values.image, values.most, actions.runOwn);
    const clear = textButton("Clear", () => actions.runOwn(run.x.map(() => 0)));
    return h("div", { class: "ce-values-own" }, pad, clear);
  }
  const line = h("input", {
    type: "text",
    value: run.x.join(", "),
    "aria-label": "Your own row: a number per variable",
  });
  const send = () =>
    actions.runOwn(
      String(line.value)
        .split(/[\s,;]+/)
        .filter(Boolean)
        .map(Number),
    );
  line.addEventListener(
    "keydown",
    guard((/** @type {any} */ event) => {
      event.stopPropagation();
      if (event.key === "Enter") send();
    }),
  );
  return h("div", { class: "ce-values-own" }, line, textButton("Run", send));
}

/**
 * The output after each step.
 * @param {import("../parts/ui.js").Ui["h"]} h @param {Values} values @param {Run} run @param {number} step
 */
function outputTable(h, { steps }, run, step) {
  const ran = steps.filter(([number]) => number in run.outputs);
  const current = ran.reduce((last, [number]) => (Number(number) <= step ? number : last), "");
  const columns = ran.map(([number, name]) =>
    h(
      "span",
      { class: "ce-values-output", "aria-current": number === current ? "step" : null },
      h("span", { text: name }),
      h("b", { text: run.outputs[number] }),
    ),
  );
  return h("div", { class: "ce-values-steps" }, columns);
}

/** @param {import("../parts/ui.js").Ui["h"]} h @param {Values} values */
export function scale(h, { scale: [low, high, what] }) {
  const stops = Array.from({ length: STOPS }, (_, at) => heat(at / (STOPS - 1))).join(",");
  return h(
    "div",
    { class: "ce-values-scale" },
    h("span", { text: low.replace("-", "−") }),
    h("i", { style: `background:linear-gradient(90deg,${stops})` }),
    h("span", { text: `${high.replace("-", "−")} ${what}` }),
  );
}

export const STYLE = `
.ce-values{display:flex;flex-wrap:wrap;gap:10px 24px;align-items:flex-start;margin-top:6px}
.ce-values-inputs{display:flex;gap:12px;align-items:flex-start}
.ce-values-pick{display:grid;grid-template-columns:repeat(3,auto);gap:6px}
.ce-root button.ce-values-input{flex-direction:column;height:auto;padding:4px 6px;gap:2px}
.ce-values-own{display:flex;flex-direction:column;gap:6px;align-items:flex-start}
.ce-values-own input{width:min(320px,60vw);font:inherit;padding:4px 6px;color:inherit;background:var(--ce-ground);border:1px solid var(--ce-control);border-radius:6px}
.ce-pad{border:1px solid var(--ce-control);cursor:crosshair;touch-action:none}
.ce-values-outputs{flex:1 1 340px;min-width:0}
.ce-values-same{margin:0 0 4px;font-size:15px;font-weight:600}
.ce-values-steps{display:flex;flex-wrap:wrap;gap:2px 14px}
.ce-values-output{display:inline-flex;flex-direction:column;padding:2px 4px;border-bottom:3px solid transparent;font-size:12.5px}
.ce-values-output span{color:var(--ce-muted)}
.ce-values-output b{font-variant-numeric:tabular-nums}
.ce-values-output[aria-current]{border-bottom-color:var(--ce-accent)}
.ce-values-scale{display:flex;align-items:center;gap:8px;margin-top:6px;font-size:12.5px}
.ce-values-scale i{width:120px;height:12px;border:1px solid var(--ce-line)}
.ce-values-note{margin:4px 0 0;color:var(--ce-muted);font-size:12.5px}
`;
