"""Custom layers and operators declared by their compiled classes, without a rule."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor

from explorer.backend import (
    Semiring,
    TorchCPTLayer,
    TorchEmbeddingLayer,
    TorchHadamardLayer,
    TorchInnerLayer,
    TorchMixingLayer,
    TorchSumLayer,
    TorchTensorDotLayer,
    compiled_class_of,
)
from explorer.backend.parameters import TorchParameterOp
from explorer.compiler import TorchCompiler
from explorer.errors import DataTypeError, DuplicateNameError
from explorer.symbolic import (
    CircuitBuilder,
    EmbeddingLayer,
    EntrywiseParameterOp,
    InnerLayer,
    SumLayer,
    circuit_from_json,
    constant,
)
from tests.compiler.building import PowerLayer, embeddings
from tests.levels.modes import MODE_IDS, MODES, Mode, layer_types, output

EACH_MODE = pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)


@dataclass(frozen=True, eq=False, kw_only=True)
class CubeLayer(InnerLayer):
    """y_k = x_k ^ 3."""

    kind = "product"
    arity: int = 1


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchCubeLayer(TorchInnerLayer):
    """y[f,b,k] = x[f,0,b,k] ^ 3."""

    compiles = CubeLayer
    arity: int = 1

    @property
    def flops(self) -> int:
        return 2 * self.num_input_units

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        return semiring.product(torch.cat([x] * 3, dim=1), dim=1)


@dataclass(frozen=True, eq=False, repr=False)
class ThirdParameter(EntrywiseParameterOp):
    """x / 3."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchThirdParameter(TorchParameterOp):
    """x / 3."""

    compiles = ThirdParameter

    def forward(self, *operands: Tensor) -> Tensor:
        return operands[0] / 3


@EACH_MODE
def test_a_layer_is_its_two_classes(mode: Mode):
    b = CircuitBuilder()
    table = ThirdParameter((constant([[3.0, 6.0], [9.0, 12.0]]),))
    cubes = [b.add(CubeLayer(num_input_units=2, num_output_units=2), (x,)) for x in embeddings(b, 2, table)]
    circuit = circuit_from_json(b.build(b.hadamard(*cubes)).to_json())
    module = TorchCompiler(**mode).compile(circuit)
    np.testing.assert_allclose(np.exp(output(module, np.array([[0, 1]]))), [[[2.0**3, 3.0**3 * 4.0**3]]])
    folds = {name: layer.num_folds for name, layer in zip(layer_types(module), module.layers, strict=True)}
    assert folds["Cube"] == (2 if mode["fold"] else 1)


def test_a_compiled_layer_has_the_kind_of_its_symbolic_layer():
    assert (CubeLayer.kind, TorchCubeLayer.kind) == ("product", "product")
    assert (SumLayer.kind, TorchSumLayer.kind, TorchHadamardLayer.kind) == ("sum", "sum", "product")
    assert (EmbeddingLayer.kind, TorchEmbeddingLayer.kind) == ("input", "input")
    assert {layer.kind for layer in (TorchTensorDotLayer, TorchMixingLayer, TorchCPTLayer)} == {"fused"}
    assert PowerLayer.kind == "operator"


def test_one_class_compiles_a_symbolic_class_and_redefining_it_replaces_it():
    def define(base: type[InnerLayer]) -> type[TorchInnerLayer]:
        class TorchRepeated(TorchCubeLayer):
            compiles = base

        return TorchRepeated

    class Repeated(InnerLayer):
        pass

    first, second = define(Repeated), define(Repeated)
    assert first is not second
    assert compiled_class_of(Repeated) is second
    with pytest.raises(DuplicateNameError, match="TorchRepeated: CubeLayer is already compiled by TorchCubeLayer"):
        define(CubeLayer)
    with pytest.raises(DataTypeError, match="TorchRepeated: compiles must be a subclass of Layer; got <class 'int'>"):
        define(int)  # pyright: ignore[reportArgumentType]
    assert compiled_class_of(CubeLayer) is TorchCubeLayer
    with pytest.raises(DuplicateNameError, match="layer CubeLayer has a compile rule already"):
        TorchCompiler().layer_rules.rule(CubeLayer)
