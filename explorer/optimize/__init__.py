"""Optimization of compiled circuits: rules, the cost model, presets, and the rounds that apply them."""

from explorer.optimize.circuit import OptimizeOptions, Work, _optimize_circuit
from explorer.optimize.cost import cost_change, layer_cost, layers_cost, must_pay
from explorer.optimize.custom import ONE_LAYER, put_rule_first, replacements_of, rule_replacing
from explorer.optimize.layers import RuleCompiler
from explorer.optimize.presets import RuleSet, preset_rules
from explorer.optimize.skips import Skips, SkipWarning, Switches, parse_skips

__all__ = [
    "ONE_LAYER",
    "OptimizeOptions",
    "RuleCompiler",
    "RuleSet",
    "SkipWarning",
    "Skips",
    "Switches",
    "Work",
    "_optimize_circuit",
    "cost_change",
    "layer_cost",
    "layers_cost",
    "must_pay",
    "parse_skips",
    "preset_rules",
    "put_rule_first",
    "replacements_of",
    "rule_replacing",
]
