/** Prints how the views draw the pictures on standard input: colours, signs, outlines and lines, as JSON. */

import { readFileSync } from "node:fs";

import { curve, head } from "../../widgets/js/picture/motion.js";
import { hullStyle, lineOf, paintOf } from "../../widgets/js/picture/fills.js";
import { readPicture } from "../../widgets/js/picture/reading.js";
import { boxPath, symbolCentre, symbolOf } from "../../widgets/js/picture/shapes.js";
import { layHulls } from "../../widgets/js/picture/tags.js";
import { paletteOf } from "../../widgets/js/shared/theme.js";

const palette = paletteOf("light", false);

const looks = JSON.parse(readFileSync(0, "utf8")).map(({ view, coordinates }) => {
  const picture = readPicture(JSON.stringify(view), new Float32Array(coordinates));
  return {
    boxes: picture.boxes.map((box) => {
      const { fill, ink, stroke, signs } = paintOf(box, palette);
      const symbol = [symbolOf(box.kind), symbolCentre(box)];
      return { fill, ink, stroke, signs, path: boxPath(box.kind, box.w, box.h), symbol };
    }),
    lines: picture.edges.map((edge) => ({
      ...lineOf(edge, palette),
      path: curve(edge.points),
      head: head(edge.points),
    })),
    hulls: layHulls(picture).map(({ hull, d, tag }) => {
      const { stroke, fill, width, dash, hatch } = hullStyle(hull.kind, palette);
      return { path: d, sign: tag && tag.sign, corner: tag && [tag.at.l, tag.at.t], stroke, fill, width, dash, hatch };
    }),
  };
});
console.log(JSON.stringify(looks));
