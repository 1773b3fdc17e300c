"""Compile rules of layers: each compiles its parameters and gives the compiled layer."""

from typing import Any

from explorer.backend import layers as compiled
from explorer.backend.parameters import TorchParameter
from explorer.compiler.registries import CompilerLayerRegistry, CompileRule
from explorer.graph import config_of, nested_of, parameters_of
from explorer.symbolic import InputLayer, Layer
from explorer.symbolic import layers as symbolic

layer_rules = CompilerLayerRegistry()

COMPILED_LAYERS: dict[type[Layer], type[compiled.TorchLayer]] = {
    symbolic.BinomialLayer: compiled.TorchBinomialLayer,
    symbolic.CategoricalLayer: compiled.TorchCategoricalLayer,
    symbolic.ConstantValueLayer: compiled.TorchConstantValueLayer,
    symbolic.EmbeddingLayer: compiled.TorchEmbeddingLayer,
    symbolic.EvidenceLayer: compiled.TorchEvidenceLayer,
    symbolic.GaussianLayer: compiled.TorchGaussianLayer,
    symbolic.HadamardLayer: compiled.TorchHadamardLayer,
    symbolic.KroneckerLayer: compiled.TorchKroneckerLayer,
    symbolic.PolynomialLayer: compiled.TorchPolynomialLayer,
    symbolic.SumLayer: compiled.TorchSumLayer,
}


def layer_rule(layer_type: type[compiled.TorchLayer]) -> CompileRule:
    """The rule that carries config and scope over, and compiles parameters and inner layers."""

    def compile_layer(compiler: Any, layer: Layer) -> compiled.TorchLayer:
        values: dict[str, Any] = dict(config_of(layer))
        parameters: dict[str, TorchParameter] = {
            name: compiler.compile_parameter(parameter) for name, parameter in parameters_of(layer).items()
        }
        nested = {name: compiler.compile_layer(inner) for name, inner in nested_of(layer).items()}
        if isinstance(layer, InputLayer):
            values["scope_idx"] = (layer.scope,)
        return layer_type(**values, **parameters, **nested)

    return compile_layer


for _symbolic_type, _layer_type in COMPILED_LAYERS.items():
    layer_rules.rule(_symbolic_type)(layer_rule(_layer_type))
