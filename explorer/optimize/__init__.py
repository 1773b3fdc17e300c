"""Optimization of compiled circuits: rules, the cost model, presets, and the rounds that apply them."""

from explorer.optimize.custom import (
    ONE_LAYER as ONE_LAYER,
    put_rule_first as put_rule_first,
    replacements_of as replacements_of,
    rule_replacing as rule_replacing,
)
from explorer.optimize.default_rules import (
    RuleCompiler as RuleCompiler,
    RuleSet as RuleSet,
    cost_change as cost_change,
    layer_cost as layer_cost,
    layers_cost as layers_cost,
    must_pay as must_pay,
    preset_rules as preset_rules,
)
from explorer.optimize.rounds import (
    OptimizeOptions as OptimizeOptions,
    PassRun as PassRun,
    Skips as Skips,
    SkipTracker as SkipTracker,
    SkipWarning as SkipWarning,
    optimize_circuit as optimize_circuit,
    parse_skips as parse_skips,
)
