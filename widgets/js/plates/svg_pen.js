/** A pen with the methods of a canvas that plates are painted with; it writes SVG elements in place of pixels. */

import { short } from "../picture/shapes.js";
import { escaped } from "../shared/svg_file.js";

/** Text anchors by the alignment of a canvas. */
const ANCHORS = { left: "start", center: "middle", right: "end" };

/** Opacities and widths of lines need two decimals. @param {number} value */
const fine = (value) => String(Math.round(value * 100) / 100);

export function svgPen() {
  /** @type {string[]} */
  const elements = [];
  let path = "";
  /** Where the path is. */
  let [atX, atY] = [0, 0];
  /** @type {number[]} */
  let dash = [];
  let transform = "";

  /** @param {string} command @param {number[]} numbers the last two are the point that it reaches */
  const add = (command, ...numbers) => {
    path += command + numbers.map(short).join(" ");
    [atX, atY] = numbers.slice(-2);
  };
  const alpha = () => (pen.globalAlpha < 1 ? ` opacity="${fine(pen.globalAlpha)}"` : "");
  /** @param {string} d */
  const strokeOf = (d) => {
    const dashes = dash.length ? ` stroke-dasharray="${dash.join(" ")}"` : "";
    const line = ` stroke="${pen.strokeStyle}" stroke-width="${fine(pen.lineWidth)}"${dashes}`;
    elements.push(`<path fill="none"${line}${alpha()} d="${d}"/>`);
  };
  /** @param {string} d */
  const fillOf = (d) => elements.push(`<path fill="${pen.fillStyle}"${alpha()} d="${d}"/>`);
  /** @param {number} x @param {number} y @param {number} w @param {number} h */
  const rectangle = (x, y, w, h) => `M${short(x)} ${short(y)}h${short(w)}v${short(h)}h${short(-w)}z`;

  const pen = {
    fillStyle: "#000",
    strokeStyle: "#000",
    lineWidth: 1,
    globalAlpha: 1,
    font: "",
    textAlign: /** @type {keyof typeof ANCHORS} */ ("left"),
    textBaseline: "",
    beginPath() {
      path = "";
    },
    /** @param {number} x @param {number} y */
    moveTo: (x, y) => add("M", x, y),
    /** @param {number} x @param {number} y */
    lineTo: (x, y) => add("L", x, y),
    /** @param {number[]} numbers */
    bezierCurveTo: (...numbers) => add("C", ...numbers),
    /**
     * A round corner: a line to where the corner begins, and a curve around it.
     * @param {number} x @param {number} y @param {number} toX @param {number} toY @param {number} radius
     */
    arcTo(x, y, toX, toY, radius) {
      const [before, after] = [Math.hypot(x - atX, y - atY) || 1, Math.hypot(toX - x, toY - y) || 1];
      const size = Math.min(radius, before, after);
      add("L", x + ((atX - x) * size) / before, y + ((atY - y) * size) / before);
      add("Q", x, y, x + ((toX - x) * size) / after, y + ((toY - y) * size) / after);
    },
    /** @param {number} x @param {number} y @param {number} w @param {number} h */
    rect(x, y, w, h) {
      path += rectangle(x, y, w, h);
    },
    /** @param {number} x @param {number} y @param {number} w @param {number} h @param {number} r */
    roundRect(x, y, w, h, r) {
      const [across, down] = [w - 2 * r, h - 2 * r].map(short);
      const [round, back] = [short(r), short(-r)];
      path +=
        `M${short(x + r)} ${short(y)}h${across}q${round} 0 ${round} ${round}v${down}q0 ${round} ${back} ${round}` +
        `h-${across}q${back} 0 ${back} ${back}v-${down}q0 ${back} ${round} ${back}z`;
    },
    fill: () => void (path && fillOf(path)),
    stroke: () => void (path && strokeOf(path)),
    /** @param {number} x @param {number} y @param {number} w @param {number} h */
    fillRect: (x, y, w, h) => void fillOf(rectangle(x, y, w, h)),
    /** @param {number} x @param {number} y @param {number} w @param {number} h */
    strokeRect: (x, y, w, h) => strokeOf(rectangle(x, y, w, h)),
    /** @param {string} words @param {number} x @param {number} y */
    fillText(words, x, y) {
      const size = parseFloat(pen.font.replace(/^\d+ (?=\d)/, "")) || 12; // the weight, if any, comes first
      const anchor = ANCHORS[pen.textAlign] || "start";
      const line = pen.textBaseline === "middle" ? y + 0.36 * size : y;
      const place = `x="${short(x)}" y="${short(line)}" font-size="${short(size)}" text-anchor="${anchor}"`;
      elements.push(`<text ${place} fill="${pen.fillStyle}"${alpha()}>${escaped(words)}</text>`);
    },
    /** @param {number[]} lengths */
    setLineDash(lengths) {
      dash = lengths;
    },
    /** @param {number} k @param {number} _b @param {number} _c @param {number} _d @param {number} x @param {number} y */
    setTransform(k, _b, _c, _d, x, y) {
      transform = `translate(${short(x)} ${short(y)}) scale(${Math.round(k * 1e4) / 1e4})`;
    },
    /** Everything drawn. */
    element: () => `<g transform="${transform}">${elements.join("")}</g>`,
  };
  return pen;
}
