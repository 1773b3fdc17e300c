/** Ports: the numbered ends of lines that are cut, as SVG elements; both ends are lit at the pointer, and the line with them. */

import { classes } from "../shared/elements.js";
import { short } from "../picture/shapes.js";
import { PLATES } from "./look.js";
import { roleOf } from "./paint.js";

/**
 * @import { Edge, Picture, Point } from "../picture/types.js"
 * @import { Make } from "../shared/elements.js"
 */

/** @typedef {{x: number, y: number, room: number, circle: any, number: any, box: string, parts: any[]}} Circle  `room`: its largest radius; `parts`: what moves with its plate */
/** @typedef {{edges: {edge: Edge, group: any}[], group: any}} DrawnPort  all lines of one number */
/** @typedef {{ports: DrawnPort[], circles: Circle[]}} DrawnPorts */

const { radius: RADIUS, text: TEXT } = PLATES.port;
/** The radius of a circle around its number, of one digit or more, and of a number alone, in parts of the size of the text. */
const [AROUND, AROUND_TWO, ALONE] = [0.62, 0.75, 0.5];
/** The bend of a line that runs backwards. */
const BEND = 36;
/** The radius of a dot where no number has room, in pixels of the screen. */
const DOT = 2.5;
/** A circle is enlarged so much at most, where none is near. */
const MOST = 2;

/** The lines of each number. @param {Picture} picture */
function byNumber({ edges }) {
  /** @type {Map<number, {edge: Edge, port: NonNullable<Edge["port"]>}[]>} */
  const found = new Map();
  for (const edge of edges) {
    const { port } = edge;
    if (port) found.set(port.number, [...(found.get(port.number) || []), { edge, port }]);
  }
  return found;
}

/** @param {Point} a @param {Point} b */
const line = (a, b) => `M${short(a.x)} ${short(a.y)}L${short(b.x)} ${short(b.y)}`;

/** The whole line, as it would be between the two ports. @param {Point} a @param {Point} b */
function through(a, b) {
  const bend = b.x > a.x ? (b.x - a.x) / 2 : BEND;
  return `M${short(a.x)} ${short(a.y)}C${short(a.x + bend)} ${short(a.y)} ${short(b.x - bend)} ${short(b.y)} ${short(b.x)} ${short(b.y)}`;
}

/** Names, each once, with how often they occur: "7 CPT, Sum". @param {string[]} names */
function counted(names) {
  const counts = [...new Set(names)].map((name) => [name, names.filter((other) => other === name).length]);
  return counts.map(([name, count]) => (count === 1 ? name : `${count} ${name}`)).join(", ");
}

/** @param {Make} make @param {Picture} picture @returns {DrawnPorts} */
export function portElements({ s }, picture) {
  /** @type {Circle[]} */
  const all = [];
  /**
   * An end of a line: the part at the plate, and the circle.
   * @param {Point[]} points @param {string} role @param {number} number @param {string} name @param {string} tip
   * @param {string} box of the plate
   */
  function endOf([centre, plate], role, number, name, tip, box) {
    const style = `stroke:var(--ce-${role})`;
    const stub = s("path", { d: line(centre, plate), "stroke-width": PLATES.port.stroke, style });
    const circle = s("circle", { cx: centre.x, cy: centre.y, style: `${style};color:var(--ce-${role})` });
    const words = s("text", { class: "ce-port-number", text: String(number) });
    const group = s("g", { class: name, "data-tip": tip }, circle, words);
    all.push({ ...centre, room: MOST * RADIUS, circle, number: words, box, parts: [stub, group] });
    return { stub, group, style, centre };
  }
  const drawn = [...byNumber(picture)].map(([number, ports]) => {
    const [{ edge, port }] = ports;
    const tip = `${number}: ${edge.source.title}, read by ${counted(ports.map((one) => one.edge.target.title))}`;
    const out = endOf(port.out, "edge", number, "ce-port-out", tip, edge.source.id);
    const edges = ports.map(({ edge, port: { into } }) => {
      const words = `${number}: ${edge.target.title} reads ${edge.source.title}`;
      const { stub, group, style, centre } = endOf(into, roleOf(edge), number, "ce-port-into", words, edge.target.id);
      const whole = s("path", { d: through(out.centre, centre), style, class: "ce-port-whole" });
      return { edge, group: s("g", { class: "ce-port-edge" }, whole, stub, group) };
    });
    const lines = edges.map(({ group }) => group);
    return { edges, group: s("g", { class: "ce-port" }, out.stub, lines, out.group) };
  });
  for (const one of all) {
    for (const other of all) {
      const far = Math.hypot(one.x - other.x, one.y - other.y);
      if (one !== other && far < 2 * one.room) one.room = Math.max(RADIUS, far / 2);
    }
  }
  return { ports: drawn, circles: all };
}

/**
 * Lay out the circles for a scale: their numbers are as large as other words. Where there is no room for circles there
 * are numbers alone, or else dots.
 * @param {DrawnPorts} ports @param {number} k @param {number} least size of the text on the screen, in pixels
 */
export function layPorts({ circles }, k, least) {
  const size = Math.max(TEXT, least / k);
  const sized = circles.map((one) => {
    return {
      ...one,
      radii: [one.number.textContent.length > 1 ? AROUND_TWO : AROUND, ALONE].map((part) => part * size),
    };
  });
  /** Few numbers would say nothing. @param {number} form */
  const isSeen = (form) => 2 * sized.filter(({ radii, room }) => radii[form] <= room).length >= sized.length;
  const form = [0, 1].find(isSeen) ?? 2;
  for (const { x, y, radii, room, circle, number } of sized) {
    const radius = radii[form] <= room ? radii[form] : 0;
    circle.setAttribute("r", short(!radius ? DOT / k : form ? radius : Math.max(RADIUS, radius)));
    circle.setAttribute("class", !radius ? "ce-port-dot" : form ? "ce-port-alone" : "");
    number.setAttribute("font-size", size.toFixed(2));
    number.setAttribute("x", x);
    number.setAttribute("y", short(y + 0.36 * size));
    number.setAttribute("visibility", radius ? "inherit" : "hidden");
  }
}

/** Light the lines of the plates that are chosen. @param {DrawnPorts} ports @param {(id: string) => boolean} isLit */
export function lightPorts({ ports }, isLit) {
  for (const { edges, group } of ports) {
    let any = false;
    for (const { edge, group: own } of edges) {
      const lit = isLit(edge.source.id) || isLit(edge.target.id);
      own.setAttribute("class", classes("ce-port-edge", lit && "ce-lit"));
      any ||= lit;
    }
    group.setAttribute("class", classes("ce-port", any && "ce-lit"));
  }
}

/** What lights a line: its end at the reader, or the end at the plate that all its readers read. */
const LIT = [".ce-port-edge.ce-lit", ".ce-port-edge:hover", ".ce-port:has(>.ce-port-out:hover) .ce-port-edge"];
const OUT = [".ce-port.ce-lit>.ce-port-out", ".ce-port:hover>.ce-port-out"];
const of = (/** @type {string[]} */ groups, /** @type {string} */ part) => groups.map((one) => `${one} ${part}`).join();

export const STYLE = `
.ce-port circle{fill:var(--ce-panel);stroke-width:${PLATES.port.stroke}px;pointer-events:all;cursor:pointer}
.ce-port circle.ce-port-alone{fill:var(--ce-ground);stroke-opacity:0}
.ce-port circle.ce-port-dot{fill:currentColor}
.ce-port path{fill:none;stroke-width:${PLATES.port.stroke}px;pointer-events:none}
.ce-stage .ce-port text{fill:var(--ce-fg);text-anchor:middle;dominant-baseline:auto;pointer-events:none}
.ce-port-whole{visibility:hidden}
${of(LIT, ".ce-port-whole")}{visibility:visible;stroke-width:2.5px}
${of([...LIT, ...OUT], "circle")}{stroke-width:3px;fill:var(--ce-ground)}
${of([...LIT, ...OUT], "text")}{font-weight:700}
`;
