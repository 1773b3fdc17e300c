"""Optimization of compiled circuits: rules, the cost model, presets, and the rounds that apply them."""

from explorer.optimize.circuit import LimitWarning, OptimizeOptions, _optimize_circuit
from explorer.optimize.cost import cost_change, layer_cost, layers_cost, must_pay
from explorer.optimize.layers import RuleCompiler
from explorer.optimize.presets import Preset, RuleSet, preset_named

__all__ = [
    "LimitWarning",
    "OptimizeOptions",
    "Preset",
    "RuleCompiler",
    "RuleSet",
    "_optimize_circuit",
    "cost_change",
    "layer_cost",
    "layers_cost",
    "must_pay",
    "preset_named",
]
