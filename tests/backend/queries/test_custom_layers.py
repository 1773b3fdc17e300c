"""Layers from outside the package answer queries once they define what these need, and are refused until then."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from scipy.stats import expon, kstest
from torch import Tensor

from explorer.backend import (
    ReachedUnits,
    Semiring,
    TorchCircuit,
    TorchContinuousLayer,
    TorchDiscreteLayer,
    TorchInnerLayer,
    queries,
)
from explorer.backend.parameters import TorchParameter
from explorer.errors import DataTypeError, ValueRangeError
from explorer.graph import PARAMETER
from explorer.symbolic import CircuitBuilder, InnerLayer, InputLayer, ParameterNode
from tests.backend.queries.deciding import leaf
from tests.levels.modes import MODE_IDS, MODES, Mode, compile_circuit

EACH_MODE = pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)


@dataclass(frozen=True, eq=False, kw_only=True)
class GeometricLayer(InputLayer):
    """y = rate^v for v in 0, 1, 2, 3."""

    rate: ParameterNode = field(metadata=PARAMETER)

    @property
    def num_values(self) -> int:
        return 4


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchGeometricLayer(TorchDiscreteLayer):
    """y[f,b,o] = rate[f,o]^x[f,b]."""

    compiles = GeometricLayer
    rate: TorchParameter = field(metadata=PARAMETER)

    @property
    def num_values(self) -> int:
        return 4

    @property
    def flops(self) -> int:
        return self.num_output_units

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        return semiring.from_log(x * torch.log(parameters["rate"]).unsqueeze(1))


@dataclass(frozen=True, eq=False, kw_only=True)
class DecayLayer(InputLayer):
    """y = rate exp(-rate v) for v >= 0."""

    rate: ParameterNode = field(metadata=PARAMETER)


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchDecayLayer(TorchContinuousLayer):
    """y[f,b,o] = rate[f,o] exp(-rate[f,o] x[f,b])."""

    compiles = DecayLayer
    rate: TorchParameter = field(metadata=PARAMETER)

    @property
    def flops(self) -> int:
        return 2 * self.num_output_units

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        rate = parameters["rate"].unsqueeze(1)
        return semiring.from_log(torch.log(rate) - rate * x.to(rate.dtype))

    def integral(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> Tensor:
        return semiring.from_log(torch.zeros_like(parameters["rate"]).unsqueeze(1))

    def sample(
        self, semiring: Semiring, parameters: Mapping[str, Tensor], at: ReachedUnits, generator: torch.Generator
    ) -> Tensor:
        draws = torch.rand(len(at.folds), generator=generator, dtype=torch.float64)
        return (-torch.log1p(-draws) / parameters["rate"][at.folds, at.units]).unsqueeze(1)


@dataclass(frozen=True, eq=False, kw_only=True)
class MeanLayer(InnerLayer):
    """y_k = (x_1k + ... + x_Hk) / H."""

    kind = "sum"
    multiplies = False


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchMeanLayer(TorchInnerLayer):
    """y[f,b,k] = mean_h x[f,h,b,k]."""

    compiles = MeanLayer

    @property
    def flops(self) -> int:
        return self.arity * self.num_input_units

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        return semiring.mix(x, x.new_full((x.shape[0], x.shape[3], x.shape[1]), 1 / x.shape[1]))


@dataclass(frozen=True, eq=False, kw_only=True)
class SquareLayer(InnerLayer):
    """y_k = x_k^2."""

    kind = "product"
    arity: int = 1


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchSquareLayer(TorchInnerLayer):
    """y[f,b,k] = x[f,0,b,k]^2."""

    compiles = SquareLayer

    @property
    def flops(self) -> int:
        return self.num_input_units

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        return semiring.multiply(x[:, 0], x[:, 0])


@dataclass(frozen=True, eq=False, kw_only=True)
class PairLayer(InputLayer):
    """y = 1 where both variables are between 1 and 2, and 0 elsewhere."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchPairLayer(TorchContinuousLayer):
    """The same; values that are not positive are refused."""

    compiles = PairLayer
    placeholder = 1.5

    @property
    def flops(self) -> int:
        return 1

    def check_input(self, x: Tensor) -> None:
        if not bool((x > 0).all()):
            raise ValueRangeError("not positive")

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        inside = ((x >= 1) & (x <= 2)).all(2, keepdim=True)
        return semiring.from_linear(inside.double()).expand(-1, -1, self.num_output_units)

    def integral(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> Tensor:
        return semiring.from_linear(torch.ones((self.num_folds, 1, self.num_output_units)))

    def sample(
        self, semiring: Semiring, parameters: Mapping[str, Tensor], at: ReachedUnits, generator: torch.Generator
    ) -> Tensor:
        return 1 + torch.rand((len(at.folds), 2), generator=generator, dtype=torch.float64)


def test_a_layer_of_two_variables_is_observed_or_drawn_as_a_whole():
    b = CircuitBuilder()
    pair = b.add(PairLayer(scope=(0, 1), num_output_units=1))
    both = b.hadamard(pair, b.add(GeometricLayer(scope=(2,), num_output_units=1, rate=leaf([0.5]))))
    circuit = compile_circuit(b.build(both))
    x, last = torch.tensor([[1.2, 1.7, 1.0], [1.2, 2.7, 1.0]]), torch.tensor([False, False, True])
    torch.testing.assert_close(queries.marginal(circuit, x, last).exp().flatten(), torch.full((2,), 0.5 / 1.875))
    samples = queries.sample(circuit, 50, x[:1], last, generator=torch.Generator().manual_seed(0))[:, 0]
    assert bool(((samples[:, :2] >= 1) & (samples[:, :2] <= 2)).all())
    assert samples[:, 2].tolist() == [1.0] * 50
    assert queries.sample(circuit, 2, x[:1], ~last)[:, 0, :2].tolist() == [[1.2, 1.7]] * 2
    with pytest.raises(ValueRangeError, match="row 1 has probability zero"):
        queries.sample(circuit, 2, x, ~last)
    with pytest.raises(DataTypeError, match=r"write the method TorchPairLayer\.marginal"):
        queries.marginal(circuit, x, torch.tensor([True, False, True]))


@EACH_MODE
def test_a_custom_discrete_layer_needs_only_its_values(mode: Mode):
    b = CircuitBuilder()
    circuit = compile_circuit(b.build(b.add(GeometricLayer(scope=(0,), num_output_units=1, rate=leaf([0.5])))), **mode)
    p = 0.5 ** np.arange(4) / 1.875
    np.testing.assert_allclose(queries.log_likelihood(circuit, torch.arange(4)[:, None])[:, 0, 0].detach().exp(), p)
    samples = queries.sample(circuit, 4000, generator=torch.Generator().manual_seed(0))
    np.testing.assert_allclose(np.bincount(samples[:, 0], minlength=4) / 4000, p, atol=0.03)  # 4 deviations
    assert queries.most_probable(circuit).assignment.tolist() == [[0]]
    np.testing.assert_allclose(queries.moments(circuit).item(), p @ np.arange(4))
    np.testing.assert_allclose(queries.entropy(circuit).item(), -(p * np.log(p)).sum())


def test_a_custom_real_layer_is_refused_for_what_it_does_not_define():
    b = CircuitBuilder()
    circuit = compile_circuit(b.build(b.add(DecayLayer(scope=(0,), num_output_units=1, rate=leaf([2.0])))))
    for x in (torch.tensor([[2]]), torch.tensor([[2.0]]), torch.tensor([[2.0]], dtype=torch.float64)):
        assert circuit.float()(x).item() == pytest.approx(np.log(2.0) - 4.0, rel=1e-6)
    samples = queries.sample(circuit, 1000, generator=torch.Generator().manual_seed(0))
    assert kstest(samples[:, 0].numpy(), expon(scale=0.5).cdf).pvalue > 1e-5
    for call, method in (
        (queries.most_probable, "mode"),
        (queries.moments, "expectation"),
        (queries.entropy, "cross_entropy"),
    ):
        with pytest.raises(DataTypeError, match=f"write the method TorchDecayLayer.{method}"):
            call(circuit)


def test_a_custom_inner_layer_answers_marginals_and_is_refused_by_the_top_down_pass():
    b = CircuitBuilder()
    leaves = [b.add(GeometricLayer(scope=(0,), num_output_units=1, rate=leaf([rate]))) for rate in (0.5, 0.9)]
    mean = b.add(MeanLayer(num_input_units=1, num_output_units=1, arity=2), tuple(leaves))
    circuit = compile_circuit(b.build(mean))
    v = np.arange(4)
    p = (0.5**v + 0.9**v) / (0.5**v + 0.9**v).sum()
    np.testing.assert_allclose(queries.log_likelihood(circuit, torch.arange(4)[:, None])[:, 0, 0].detach().exp(), p)
    with pytest.raises(DataTypeError, match=r"write the method TorchMeanLayer\.log_terms"):
        queries.sample(circuit, 1)


def test_a_custom_layer_that_is_not_linear_in_its_inputs_is_refused():
    b = CircuitBuilder()
    geometric = b.add(GeometricLayer(scope=(0,), num_output_units=1, rate=leaf([0.5])))
    circuit = compile_circuit(b.build(b.add(SquareLayer(num_input_units=1, num_output_units=1), (geometric,))))
    for integral in (queries.partition_function, TorchCircuit.integral):
        with pytest.raises(DataTypeError, match=r"set TorchSquareLayer\.multiplies"):
            integral(circuit)


@EACH_MODE
@pytest.mark.parametrize("size", [1e9, 1e12, 1e100])
def test_a_custom_layer_far_from_its_mean_is_compared_with_another_unit(mode: Mode, size: float):
    """The difference of two logarithms of a custom layer is rounded, but tells which unit has all probability."""
    b = CircuitBuilder()
    real = b.add(DecayLayer(scope=(0,), num_output_units=2, rate=leaf([2.0, 0.5])))
    geometric = b.add(GeometricLayer(scope=(1,), num_output_units=2, rate=leaf([0.5, 0.25])))
    compiled = compile_circuit(
        b.build(b.sum(b.hadamard(real, geometric), num_units=1, weight=leaf([[0.3, 0.7]]))), **mode
    )
    first = torch.tensor([True, False])
    rows = torch.tensor([[size, state] for state in range(4)])
    p = np.array([1, 0.25, 0.25**2, 0.25**3])
    found = queries.conditional(compiled, rows, ~first, first).flatten()
    np.testing.assert_allclose(found.exp().detach(), p / p.sum(), rtol=1e-9)
    mean = queries.moments(compiled, 1, rows[:1], first)[0, 0, 0, 1].item()
    assert mean == pytest.approx((p * np.arange(4)).sum() / p.sum(), rel=1e-9)
