/** Prints what a page computes of a small circuit, for rows of evidence on standard input: null is unknown. */

import { readFileSync } from "node:fs";

import { believe, dream } from "../../widgets/js/living/beliefs.js";
import { marginal, readModel } from "../../widgets/js/living/model.js";

/** JSON has no infinity. */
const finite = (value) => (Number.isFinite(value) ? value : null);

const { view, rows } = JSON.parse(readFileSync(0, "utf8"));
const model = readModel(view);
const dreamt = dream(model);
const answers = rows.map((row) => {
  const { logs, log, units, beliefs } = believe(model, dreamt, row);
  return {
    log: finite(log),
    units: logs.map((layer) => [...layer].map(finite)),
    marginals: row.map((_, variable) => [...marginal(model, variable, logs, units)]),
    shown: beliefs.map((belief) => belief && [...belief.shown]),
    bits: beliefs.map((belief) => belief && belief.bits),
  };
});
process.stdout.write(JSON.stringify(answers));
