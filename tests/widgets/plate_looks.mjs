/** Prints how the views draw the pictures of plates on standard input, for each theme: their canvas and elements, as SVG. */

import { readFileSync } from "node:fs";

import { NO_MARKS } from "../../widgets/js/picture/marks.js";
import { readPicture } from "../../widgets/js/picture/reading.js";
import { platesScene } from "../../widgets/js/scenes/plates.js";
import { maker } from "../../widgets/js/shared/elements.js";
import { prepareMeasuring } from "../../widgets/js/shared/measuring.js";
import { escaped } from "../../widgets/js/shared/svg_file.js";
import { paletteOf } from "../../widgets/js/shared/theme.js";
import { newDocument } from "./dom.mjs";

/** Text is as wide as Python estimates it: names of matches are 11 px. */
const WIDTHS = { bold: 0.557, plain: 0.53, tag: 0.62 };
const pen = {
  font: "",
  measureText({ length }) {
    const size = parseFloat(pen.font.replace(/^600 /, ""));
    return {
      width: length * size * WIDTHS[pen.font.startsWith("600") ? "bold" : size === 11 ? "tag" : "plain"] - 1e-6,
    };
  },
};
prepareMeasuring({ createElement: () => ({ getContext: () => pen }) });

const markup = (element) => {
  const attributes = [...element.attributes].map(([name, value]) => ` ${name}="${escaped(value)}"`).join("");
  const inside = element.childNodes.map(markup).join("") || escaped(element.textContent);
  return `<${element.tagName}${attributes}>${inside}</${element.tagName}>`;
};

/** What is drawn at full size, with nothing or the first plate selected. */
function drawn({ view, coordinates }, theme, selects) {
  const picture = readPicture(JSON.stringify(view), new Float32Array(coordinates));
  const scene = platesScene(maker(newDocument()), () => paletteOf(theme, false));
  scene.show(picture, new Map());
  scene.look({ k: 1, x: 0, y: 0 }, 0, 0);
  const selected = new Set(selects ? [picture.boxes[0].id] : []);
  scene.mark({ ...NO_MARKS, selected });
  const svg = `<svg>${scene.canvasSvg()}${markup(scene.list)}</svg>`;
  scene.close();
  return svg;
}

const pictures = JSON.parse(readFileSync(0, "utf8"));
const all = (theme, selects) => pictures.map((one) => drawn(one, theme, selects));
console.log(JSON.stringify({ light: all("light"), dark: all("dark"), selected: all("light", true) }));
