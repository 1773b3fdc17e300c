"""The registry of compile rules for layers, and the one rule that all built-in layers use."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from explorer.backend import TorchLayer
from explorer.compiler.registries import CompilerRegistry, CompileRule
from explorer.graph import config_of, nested_of, parameters_of
from explorer.symbolic import InputLayer, Layer


@cache
def layer_rule(layer_type: type[TorchLayer]) -> CompileRule:
    """The rule that copies config and scope, and compiles parameters and inner layers."""

    def compile_layer(compiler: Any, layer: Layer) -> TorchLayer:
        values = config_of(layer)
        for name, parameter in parameters_of(layer).items():
            values[name] = compiler.compile_parameter(parameter)
        for name, inner in nested_of(layer).items():
            values[name] = compiler.compile_layer(inner)
        if isinstance(layer, InputLayer):
            values["scope_idx"] = (layer.scope,)
        return layer_type(**values)

    return compile_layer


@dataclass(eq=False)
class CompilerLayerRegistry(CompilerRegistry):
    """Compile rules of layers; a layer that a compiled class declares as `compiles` needs none."""

    what = "layer"
    decorator = "layer_rules"
    rule_for = staticmethod(layer_rule)


layer_rules = CompilerLayerRegistry()
