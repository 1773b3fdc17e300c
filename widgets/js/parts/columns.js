/** The variables of a living circuit that is no image: how probable each value is, given those that are observed. */

import { focusedIn } from "../shared/elements.js";
import { marginal } from "../living/model.js";
import { isAlive } from "./state.js";

/** More variables, or values of one, have no bars. */
const [MAX_VARIABLES, MAX_VALUES] = [40, 12];

/** @param {import("../graph.js").Page} page */
export function makeColumns({ ui: { h, guard }, store: { state }, living }) {
  const element = h("div", { class: "ce-columns", role: "group", "aria-label": "Variables", hidden: true });

  /** @param {number} variable */
  function column(variable) {
    const { life, believed, evidence, row } = state;
    if (!life || !believed) return null;
    const { name, states } = life.variables[variable];
    const shares = marginal(life, variable, believed.logs, believed.units);
    const given = row[variable];
    const how = evidence[variable] === null ? "sampled" : "observed";
    /** @param {number} value */
    function valueButton(value) {
      const isGiven = given === value;
      const share = given === null ? shares[value] : Number(isGiven);
      const isObserved = evidence[variable] === value;
      const act = () => living.set(variable, isObserved ? null : value);
      return h(
        "button",
        {
          type: "button",
          "aria-pressed": String(isObserved),
          "aria-label": `${name} = ${value}, ${isGiven ? how : `${Math.round(100 * share)} %`}`,
          title: isObserved ? `Forget ${name}` : `Observe ${name} = ${value}`,
          style: `--share:${(100 * share).toFixed(1)}%`,
          onclick: guard(act),
        },
        h("span", { text: String(value) }),
        h("span", { text: isGiven ? how : `${Math.round(100 * share)} %` }),
      );
    }
    const isListed = states > 0 && states <= MAX_VALUES;
    const words = given !== null ? `${Number(given.toPrecision(4))}, ${how}` : `about ${expected(shares, states)}`;
    return h(
      "div",
      { class: "ce-column" },
      h("b", { text: name, title: name }),
      isListed ? Array.from({ length: states }, (_, value) => valueButton(value)) : h("span", { text: words }),
    );
  }

  const buttons = () => [...(element.querySelectorAll?.("button") ?? [])];

  return {
    element,
    reads: /** @type {const} */ (["life", "alive", "believed", "row", "options", "view"]),
    draw() {
      const { life } = state;
      const count = life?.variables.length ?? 0;
      element.hidden = !isAlive(state) || !life || life.image.length > 0 || count > MAX_VARIABLES;
      if (element.hidden) return;
      const focused = buttons().indexOf(focusedIn(element));
      element.replaceChildren(...Array.from({ length: count }, (_, variable) => column(variable)));
      if (focused >= 0) buttons()[focused]?.focus();
    },
  };
}

/** The mean of a variable in words. @param {Float64Array} shares @param {number} states */
function expected(shares, states) {
  const mean = states ? shares.reduce((sum, share, value) => sum + share * value, 0) : shares[0];
  return String(Number(mean.toPrecision(3)));
}

export const STYLE = `
.ce-columns{display:flex;gap:8px 14px;overflow-x:auto;padding:2px}
.ce-column{display:flex;flex-direction:column;gap:2px;flex:0 0 104px;min-width:0}
.ce-column b{font-size:12.5px;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.ce-column>span{color:var(--ce-muted);font-size:12.5px}
.ce-root .ce-column button{display:flex;justify-content:space-between;height:24px;padding:0 6px;font-size:12px;font-weight:400;background:linear-gradient(var(--ce-changedFill),var(--ce-changedFill)) 0 0/var(--share) 100% no-repeat,var(--ce-panel)}
`;
