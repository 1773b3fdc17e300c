"""The registry of compile rules for layers, and the rules of the built-in layers."""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from explorer.backend import TorchBinomialLayer, TorchInputLayer, TorchLayer
from explorer.compiler.registries import CompilerRegistry, CompileRule
from explorer.graph import config_of, nested_of, parameters_of
from explorer.symbolic import BinomialLayer, InputLayer, Layer


@cache
def layer_rule(layer_type: type[TorchLayer]) -> CompileRule:
    """The rule that copies config and scope, and compiles parameters and inner layers."""
    reads_variables = issubclass(layer_type, TorchInputLayer)

    def compile_layer(compiler: Any, layer: Layer) -> TorchLayer:
        values = config_of(layer)
        for name, parameter in parameters_of(layer).items():
            values[name] = compiler.compile_parameter(parameter)
        for name, inner in nested_of(layer).items():
            values[name] = compiler.compile_layer(inner)
        if reads_variables and isinstance(layer, InputLayer):
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


@layer_rules.rule(BinomialLayer)
def compile_binomial(compiler: Any, layer: BinomialLayer) -> TorchLayer:
    """Probabilities that are a sigmoid are compiled as their logits, which keep the digits of 1 - p near p = 1."""
    logits = layer.known_logits
    by_logits = layer if logits is None else replace(layer, probs=None, logits=logits)
    return layer_rule(TorchBinomialLayer)(compiler, by_logits)
