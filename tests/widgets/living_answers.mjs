/** Prints what a page computes of a small circuit, for rows of evidence on standard input: null is unknown. */

import { readFileSync } from "node:fs";

import { believe, dream } from "../../widgets/js/living/beliefs.js";
import { drawn } from "../../widgets/js/living/leaves.js";
import { completed, downward, marginal, readModel, repeatable } from "../../widgets/js/living/model.js";

/** JSON has no infinity. */
const finite = (value) => (Number.isFinite(value) ? value : null);

const { view, rows, draws } = JSON.parse(readFileSync(0, "utf8"));
const model = readModel(view);
const dreamt = dream(model);
const random = repeatable(1);

/** The units of a sample: each sum, from the root on, has chosen one of its terms. */
function unitsOfSample(logs) {
  const chosen = new Map();
  for (let at = model.layers.length - 1; at >= 0; at -= 1) {
    if (model.layers[at].kind === "sum") chosen.set(at, drawn(downward(model, logs, chosen).terms[at], random));
  }
  return downward(model, logs, chosen).units;
}

const answers = rows.map((row) => {
  const { logs, log, units, beliefs } = believe(model, dreamt, row);
  return {
    log: finite(log),
    units: logs.map((layer) => [...layer].map(finite)),
    marginals: row.map((_, variable) => [...marginal(model, variable, row, units)]),
    shown: beliefs.map((belief) => belief && [...belief.shown]),
    draws: Array.from({ length: draws }, () => completed(model, row, unitsOfSample(logs), random)),
    bits: beliefs.map((belief) => belief && belief.bits),
  };
});
process.stdout.write(JSON.stringify(answers));
