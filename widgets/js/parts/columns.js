/** The variables of a living circuit that is no image: how probable each value is, before and given what is observed. */

import { densities, marginal } from "../living/model.js";
import { endWords, farWords, guessOf, valueWords } from "../living/words.js";
import { isAlive } from "./state.js";

/** @import { Variable } from "../living/model.js" */

/** More variables, or values of one with a button each, are not listed. */
const [MAX_VARIABLES, MAX_VALUES] = [60, 12];
/** The curve of a number: points, and its size. */
const [POINTS, WIDTH, HEIGHT] = [72, 132, 40];
/** The size of the words at its ends, and the least space between them. */
const [SMALL, APART] = [12, 14];
/** Steps of the slider on a real number. */
const PARTS = 400;
/** Keys of a slider, which are not those of the picture. */
const SLIDES = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "PageUp", "PageDown"];

/** Whether the values of a variable have a button each. @param {Variable} variable */
const isListed = ({ states }) => states > 0 && states <= MAX_VALUES;

/** Heights from left to right as a closed line, or as columns. @param {Float64Array} heights @param {number} top the largest height @param {boolean} isStepped */
function pathOf(heights, top, isStepped) {
  const last = isStepped ? heights.length : heights.length - 1;
  const y = (/** @type {number} */ at) => (HEIGHT * (1 - (0.96 * heights[at]) / top)).toFixed(1);
  const x = (/** @type {number} */ at) => ((WIDTH * at) / last).toFixed(1);
  const points = Array.from(heights, (_, at) =>
    isStepped ? `L${x(at)} ${y(at)}L${x(at + 1)} ${y(at)}` : `L${x(at)} ${y(at)}`,
  );
  return `M0 ${HEIGHT}${points.join("")}L${WIDTH} ${HEIGHT}`;
}

/** @param {import("../graph.js").Page} page */
export function makeColumns({ ui: { h, s, guard }, store: { state }, living }) {
  const element = h("div", { class: "ce-columns", role: "group", "aria-label": "Variables", hidden: true });
  /** The variables that have elements. @type {Variable[] | null} */
  let made = null;
  /** @type {{draw: () => void}[]} */
  let columns = [];
  /** Heights without evidence, of the numbers that are shown. @type {{of: Float64Array | null, heights: (Float64Array | undefined)[]}} */
  let before = { of: null, heights: [] };

  /** A distribution: probabilities of values, or densities at points. @param {number} variable @param {Variable} own @param {boolean} isPrior */
  function heightsOf(variable, { states, span }, isPrior) {
    const { life, believed, row } = state;
    if (!life || !believed) return new Float64Array(0);
    const given = isPrior ? life.variables.map(() => null) : row;
    const units = isPrior ? living.prior() : believed.units;
    if (states) return marginal(life, variable, given, units);
    const points = Float64Array.from(
      { length: POINTS },
      (_, at) => span[0] + (at / (POINTS - 1)) * (span[1] - span[0]),
    );
    return densities(life, variable, given, units, points);
  }

  /** @param {number} variable @param {Variable} own */
  function priorOf(variable, own) {
    const numbers = state.life?.numbers ?? null;
    if (before.of !== numbers) before = { of: numbers, heights: [] };
    return (before.heights[variable] ??= heightsOf(variable, own, true));
  }

  /** Whether what is given has a probability. */
  const isPossible = () => state.believed !== null && state.believed.log > -Infinity;

  /** Whether a variable is known, and how. @param {number} variable */
  function givenOf(variable) {
    const x = state.row[variable] ?? null;
    return { x, how: x === null ? "" : state.evidence[variable] === null ? "sampled" : "observed" };
  }

  /** A button for each value of a variable. @param {number} variable @param {Variable} own */
  function listed(variable, own) {
    const buttons = Array.from({ length: own.states }, (_, value) => {
      const words = valueWords(own, value);
      const share = h("span", {});
      const act = () => living.set(variable, state.evidence[variable] === value ? null : value);
      const button = h(
        "button",
        { type: "button", onclick: guard(act) },
        h("span", { text: words, title: words }),
        share,
      );
      return { button, share, words, value };
    });
    return {
      elements: buttons.map(({ button }) => button),
      draw() {
        const { life, believed, row } = state;
        if (!life || !believed) return;
        const { x, how } = givenOf(variable);
        const shares = marginal(life, variable, row, believed.units);
        for (const { button, share, words, value } of buttons) {
          const [isGiven, isObserved] = [x === value, state.evidence[variable] === value];
          const said = isGiven ? how : isPossible() ? `${Math.round(100 * shares[value])} %` : "–";
          share.textContent = isObserved ? "✓" : said;
          button.setAttribute("aria-pressed", String(isObserved));
          button.setAttribute("aria-label", `${own.name} = ${words}, ${said}`);
          button.setAttribute("title", isObserved ? `Forget ${own.name}` : `Observe ${own.name} = ${words}`);
          button.style.setProperty("--share", `${(100 * shares[value]).toFixed(1)}%`);
        }
      },
    };
  }

  /** A curve over the values of a number, on which a click observes one. @param {number} variable @param {Variable} own */
  function curve(variable, own) {
    const { states, span, name } = own;
    const most = states ? states - 1 : PARTS;
    const valueAt = (/** @type {number} */ part) => (states ? part : span[0] + (part / PARTS) * (span[1] - span[0]));
    const partAt = (/** @type {number} */ x) => (states ? x : (PARTS * (x - span[0])) / (span[1] - span[0] || 1));
    const [prior, now] = [s("path", { class: "ce-curve-prior" }), s("path", { class: "ce-curve-now" })];
    const mark = s("line", { class: "ce-curve-mark", y1: 0, y2: HEIGHT });
    const picture = { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" };
    const slider = h("input", {
      type: "range",
      ...{ min: 0, max: most, step: 1, "aria-label": name, title: `Click to observe a value of ${name}` },
      oninput: guard(() => living.set(variable, valueAt(Number(slider.value)))),
      onkeydown: guard((/** @type {any} */ event) => {
        if (SLIDES.includes(event.key)) event.stopPropagation();
        if (event.key !== "Delete" && event.key !== "Backspace") return;
        event.stopPropagation();
        living.set(variable, null);
      }),
    });
    const words = h("span", { class: "ce-curve-words" });
    const forget = h("button", {
      ...{
        type: "button",
        class: "ce-curve-forget",
        text: "×",
        "aria-label": `Forget ${name}`,
        title: `Forget ${name}`,
      },
      onclick: guard(() => {
        living.set(variable, null);
        slider.focus?.();
      }),
    });
    const off = h("span", { class: "ce-curve-off", "aria-hidden": "true", hidden: true });
    const ends = h(
      "div",
      { class: "ce-curve-ends", "aria-hidden": "true" },
      ...endWords(own, WIDTH - APART, SMALL).map((text, at) => h("span", { text, title: valueWords(own, span[at]) })),
    );
    return {
      elements: [
        h("div", { class: "ce-curve-head" }, words, forget),
        h("div", { class: "ce-curve" }, s("svg", picture, prior, now, mark), off, slider),
        ends,
      ],
      draw() {
        const { x, how } = givenOf(variable);
        const isKnown = x !== null;
        const heights = isKnown || !isPossible() ? null : heightsOf(variable, own, false);
        const first = priorOf(variable, own);
        const top = Math.max(1e-300, ...first, ...(heights ?? []));
        prior.setAttribute("d", pathOf(first, top, states > 0));
        now.setAttribute("d", heights ? pathOf(heights, top, states > 0) : "");
        const guess = isKnown ? null : guessed(variable, own);
        const at = Math.min(most, Math.max(0, partAt(x ?? guess?.x ?? span[0])));
        const place = (WIDTH * (states ? at + 0.5 : at)) / (states ? states : PARTS);
        for (const end of ["x1", "x2"]) mark.setAttribute(end, String(place));
        mark.setAttribute("class", `ce-curve-mark${isKnown ? "" : guess ? " ce-curve-mean" : " ce-curve-none"}`);
        slider.value = String(Math.round(at));
        const side = x === null ? 0 : Number(x > span[1]) - Number(x < span[0]);
        const isFar = !states && side !== 0;
        const shown = isKnown ? `${valueWords(own, x)}, ${how}` : (guess?.words ?? "impossible");
        words.textContent = !isKnown ? shown : `= ${isFar ? `${farWords(own, x)}, ${how}` : shown}`;
        words.setAttribute("title", `${isKnown ? `= ${shown}` : shown}${isFar ? ", outside these values" : ""}`);
        off.hidden = !isFar;
        if (isFar) mark.setAttribute("class", "ce-curve-mark ce-curve-none");
        off.textContent = isFar && x !== null ? (side > 0 ? `${farWords(own, x)} ▶` : `◀ ${farWords(own, x)}`) : "";
        off.setAttribute("class", `ce-curve-off${side < 0 ? " ce-curve-below" : ""}`);
        const told = isFar ? `${shown}, outside these values` : shown;
        slider.setAttribute("aria-valuetext", guess ? `unknown, ${shown}` : told);
        forget.hidden = how !== "observed";
      },
    };
  }

  /** What an unknown variable probably is. @param {number} variable @param {Variable} own */
  function guessed(variable, own) {
    const { life, believed, row } = state;
    return life && believed && guessOf(own, marginal(life, variable, row, believed.units), isPossible());
  }

  /** @param {Variable[]} variables */
  function build(variables) {
    made = variables;
    const all = variables.flatMap((own, variable) =>
      own.isRead ? [{ name: own.name, ...(isListed(own) ? listed : curve)(variable, own) }] : [],
    );
    columns = all;
    element.replaceChildren(
      ...all.map(({ name, elements }) =>
        h("div", { class: "ce-column" }, h("b", { text: name, title: name }), ...elements),
      ),
    );
  }

  return {
    element,
    reads: /** @type {const} */ (["life", "alive", "believed", "row", "options", "view"]),
    draw() {
      const { life } = state;
      const count = life?.variables.filter(({ isRead }) => isRead).length ?? 0;
      element.hidden = !isAlive(state) || !life || life.image.length > 0 || count > MAX_VARIABLES;
      if (element.hidden || !life) return;
      if (made !== life.variables) build(life.variables);
      for (const column of columns) column.draw();
    },
  };
}

export const STYLE = `
.ce-columns{display:flex;gap:8px 16px;overflow-x:auto;padding:2px 2px 4px}
.ce-column{display:flex;flex-direction:column;gap:2px;flex:0 0 132px;min-width:0}
.ce-column>b{font-size:12.5px;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.ce-root .ce-column>button{display:flex;justify-content:space-between;gap:6px;height:24px;padding:0 6px;font-size:12px;font-weight:400;background:linear-gradient(var(--ce-changedFill),var(--ce-changedFill)) 0 0/var(--share) 100% no-repeat,var(--ce-panel)}
.ce-column>button>span:first-child{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.ce-root .ce-column>button[aria-pressed=true]{border-color:var(--ce-accent);font-weight:600}
.ce-curve-head{display:flex;justify-content:space-between;align-items:center;min-height:24px;font-size:12px;color:var(--ce-muted);white-space:nowrap}
.ce-root .ce-curve-forget{width:24px;height:24px;padding:0;border:0;background:none;font-size:16px;line-height:1}
.ce-curve{position:relative;height:${HEIGHT}px}
.ce-curve svg{position:absolute;inset:0;width:100%;height:100%;border-bottom:1px solid var(--ce-control);overflow:visible}
.ce-curve-prior{fill:none;stroke:var(--ce-muted);stroke-width:1;stroke-dasharray:2 2;vector-effect:non-scaling-stroke}
.ce-curve-now{fill:var(--ce-changedFill);stroke:var(--ce-accent);stroke-width:1.5;vector-effect:non-scaling-stroke}
.ce-curve-mark{stroke:var(--ce-accent);stroke-width:3;vector-effect:non-scaling-stroke}
.ce-curve-mean{stroke-width:1;stroke-dasharray:1 2}
.ce-curve-none{stroke:none}
.ce-curve-off{position:absolute;right:0;top:10px;max-width:100%;padding:0 2px;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;font-size:12px;font-weight:600;color:var(--ce-accent);background:var(--ce-panel);pointer-events:none}
.ce-curve-off.ce-curve-below{right:auto;left:0}
.ce-curve-words{min-width:0;overflow:hidden;text-overflow:ellipsis}
.ce-root .ce-curve input{position:absolute;inset:0;width:100%;height:100%;margin:0;opacity:0;cursor:crosshair}
.ce-curve:has(input:focus-visible){outline:2px solid var(--ce-accent);outline-offset:2px}
.ce-curve-ends>span{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.ce-curve-ends{display:flex;justify-content:space-between;gap:6px;color:var(--ce-muted);font-size:12px}
`;
