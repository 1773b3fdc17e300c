"""Expectation-maximization learns the weights of a custom layer that declares their role."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
import torch
from torch import Tensor

from explorer.backend import Semiring, TorchInnerLayer
from explorer.backend.parameters import TorchParameter
from explorer.compiler import TorchCompiler
from explorer.errors import LearningError
from explorer.graph import PARAMETER
from explorer.learning import ExpectationMaximization, Role
from explorer.symbolic import CircuitBuilder, InnerLayer, ParameterNode, Shape, SoftmaxParameter, TensorParameter
from explorer.templates import CategoricalInput


@dataclass(frozen=True, eq=False, kw_only=True)
class AverageLayer(InnerLayer):
    """A sum under another name."""

    kind = "sum"
    multiplies = False
    arity: int = 1
    share: ParameterNode = field(metadata=PARAMETER)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchAverageLayer(TorchInnerLayer):
    """The compiled form of it."""

    compiles = AverageLayer
    may_return_view = False
    arity: int = 1
    share: TorchParameter = field(metadata=PARAMETER)

    @property
    def flops(self) -> int:
        return 2 * self.num_input_units * self.num_output_units

    def parameter_shapes(self) -> Mapping[str, Shape]:
        return {"share": (self.num_output_units, self.num_input_units)}

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        return semiring.weighted_sum(x[:, 0], parameters["share"])


ROWS = torch.tensor([[0, 0], [0, 1], [2, 2], [2, 2], [1, 0]])


def build(custom):
    b = CircuitBuilder()
    product = b.hadamard(*(b.add(CategoricalInput(3)(variable, 2)) for variable in range(2)))
    weight = SoftmaxParameter((TensorParameter((1, 2), name="weight of the root"),))
    if not custom:
        return b.build(b.sum(product, num_units=1, weight=weight))
    return b.build(b.add(AverageLayer(num_input_units=2, num_output_units=1, share=weight), (product,)))


def learned(circuit):
    compiled = TorchCompiler().compile(circuit).double()
    em = ExpectationMaximization(compiled)
    for _ in range(3):
        em.maximize(em.expect(ROWS)[0])
    return compiled.leaf_state()


def test_a_custom_layer_is_learned_once_its_role_is_declared(monkeypatch):
    with pytest.raises(LearningError, match=r"it is the share of an AverageLayer, which declares no `roles`"):
        learned(build(custom=True))
    monkeypatch.setattr(TorchAverageLayer, "roles", {"share": Role.WEIGHTS})
    found, expected = learned(build(custom=True)), learned(build(custom=False))
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value)
