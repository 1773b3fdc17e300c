"""The compile rules that every compiler starts with."""

from explorer.compiler.rules.initializers import initializer_rules
from explorer.compiler.rules.layers import COMPILED_LAYERS, layer_rule, layer_rules
from explorer.compiler.rules.parameters import COMPILED_OPERATORS, operator_rule, parameter_rules, torch_dtype

__all__ = [
    "COMPILED_LAYERS",
    "COMPILED_OPERATORS",
    "initializer_rules",
    "layer_rule",
    "layer_rules",
    "operator_rule",
    "parameter_rules",
    "torch_dtype",
]
