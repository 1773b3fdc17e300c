"""The default compile rules and their registries."""

from explorer.compiler.rules.initializers import CompilerInitializerRegistry, initializer_rules
from explorer.compiler.rules.layers import CompilerLayerRegistry, layer_rule, layer_rules
from explorer.compiler.rules.parameters import CompilerParameterRegistry, operator_rule, parameter_rules

__all__ = [
    "CompilerInitializerRegistry",
    "CompilerLayerRegistry",
    "CompilerParameterRegistry",
    "initializer_rules",
    "layer_rule",
    "layer_rules",
    "operator_rule",
    "parameter_rules",
]
