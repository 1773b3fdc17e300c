"""Queries of a circuit in single precision evaluate its parameters in double precision from the leaves."""

import itertools
import math
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch

from explorer.backend import TorchCircuit, double_copy, queries
from explorer.errors import ValueRangeError
from explorer.learning.expectation_maximization import ExpectationMaximization
from explorer.learning.log_likelihood import mean_log_likelihood
from explorer.symbolic import (
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    ConstantInitializer,
    DataType,
    SoftmaxParameter,
    TensorParameter,
    constant,
    operators,
)
from explorer.templates import cp, image_data, tensor_train
from tests.fuzzing import covering
from tests.levels.modes import SWITCHES, compile_circuit

LOGITS = (0.0, -103.5, -102.95)
ROW = torch.tensor([[1, 0]])
FIRST, SECOND = torch.tensor([True, False]), torch.tensor([False, True])


@pytest.fixture(autouse=True)
def float32() -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    yield
    torch.set_default_dtype(before)


def leaf(values: Any) -> TensorParameter:
    array = np.asarray(values)
    dtype = DataType.COMPLEX if np.iscomplexobj(array) else DataType.REAL
    return TensorParameter(array.shape, initializer=ConstantInitializer(array), dtype=dtype)


def mixture() -> Circuit:
    """A mixture of the rows (0, 0), (1, 0) and (1, 1); the last two weights are below the numbers of float32."""
    b = CircuitBuilder()

    def point(variable: int, value: int) -> int:
        probs = constant(np.eye(2)[value : value + 1])
        return b.add(CategoricalLayer(scope=(variable,), num_output_units=1, num_categories=2, probs=probs))

    terms = [b.hadamard(point(0, first), point(1, second)) for first, second in ((0, 0), (1, 0), (1, 1))]
    return b.build(b.sum(*terms, num_units=1, weight=SoftmaxParameter((leaf([LOGITS]),))))


QUERIES: dict[str, Callable[[TorchCircuit], torch.Tensor]] = {
    "log_likelihood": lambda c: queries.log_likelihood(c, ROW),
    "marginal": lambda c: queries.marginal(c, ROW, FIRST),
    "conditional": lambda c: queries.conditional(c, ROW, SECOND, FIRST),
    "sample": lambda c: queries.sample(c, 500, ROW, FIRST, generator=torch.Generator().manual_seed(0)),
    "most_probable": lambda c: queries.most_probable(c, ROW, FIRST).log_probability,
    "moments": lambda c: queries.moments(c, 1, ROW, FIRST),
    "expectation": lambda c: queries.expectation(c, {1: queries.power(1)}, ROW, FIRST),
    "partition_function": lambda c: queries.partition_function(c),
    "entropy": lambda c: queries.entropy(c),
    "divergence": lambda c: queries.divergence(c, double_copy(c)),
    "expected counts": lambda c: next(value for _, _, value in iter(ExpectationMaximization(c).expect(ROW)[0])),
    "evaluate": lambda c: torch.tensor(mean_log_likelihood(c, ROW)),
}


@pytest.mark.parametrize(("query", "optimize", "fold"), covering(tuple(QUERIES), *SWITCHES))
def test_every_query_equals_that_of_a_copy_in_double_precision(query: str, optimize: bool, fold: bool):
    circuit = compile_circuit(mixture(), optimize=optimize, fold=fold)
    found, wanted = QUERIES[query](circuit), QUERIES[query](deepcopy(circuit).double())
    torch.testing.assert_close(found.detach(), wanted.detach(), rtol=1e-12, atol=1e-12, check_dtype=False)


def test_small_weights_by_hand():
    circuit = compile_circuit(mixture())
    logits = np.array(LOGITS, np.float32).astype(float)
    p = 1 / (1 + math.exp(logits[2] - logits[1]))
    assert queries.log_likelihood(circuit, ROW).item() == pytest.approx(logits[1], rel=1e-12)
    assert queries.conditional(circuit, ROW, SECOND, FIRST).exp().item() == pytest.approx(p, rel=1e-9)
    assert queries.moments(circuit, 1, ROW, FIRST)[0, 0, 0, 1].item() == pytest.approx(1 - p, rel=1e-9)
    drawn = queries.sample(circuit, 4000, ROW, FIRST, generator=torch.Generator().manual_seed(0))[:, 0, 1]
    assert (drawn == 0).double().mean().item() == pytest.approx(p, abs=0.03)  # four standard deviations
    assert mean_log_likelihood(circuit, ROW) == pytest.approx(logits[1], rel=1e-12)
    counts, total = ExpectationMaximization(circuit).expect(ROW)
    assert total == pytest.approx(logits[1], rel=1e-12)
    for _, _, value in counts:
        np.testing.assert_allclose(value.flatten(), [0, 1, 0], rtol=1e-9)


@pytest.mark.parametrize("delta", [1e-2, 1e-3, 1e-4, 1e-5])
def test_a_square_that_almost_cancels(delta: float):
    """t(x) = 1.1 - 1.1 a(x), which is 1.1 delta at the first row, up to the rounding of the leaves."""
    tables = iter([leaf([[1.0, 1.0], [1.0, b]]) for b in (0.5, 0.7)] + [leaf([[1.0, 1.0], [1 - delta, 0.3]])])
    base = cp((2, 2, 2), 2, input_params={"weight": lambda _: next(tables)}, weight_param=lambda _: leaf([[1.1, -1.1]]))
    circuit = compile_circuit(operators.multiply(base, base), "sum-product")
    factors = [np.array(pair, np.float32).astype(float) for pair in ((1, 0.5), (1, 0.7), (1 - delta, 0.3))]
    values = 1 - np.einsum("i,j,k->ijk", *factors).ravel()
    rows = torch.tensor(list(itertools.product(range(2), repeat=3)))
    found = queries.log_likelihood(circuit, rows).flatten()
    np.testing.assert_allclose(found.detach(), np.log(values**2 / (values**2).sum()), rtol=1e-6)


@pytest.mark.parametrize(("semiring", "seed"), covering(("sum-product", "complex-lse-sum"), range(10), strength=1))
def test_the_squared_modulus_of_a_complex_tensor_train_is_a_density(semiring: str, seed: int):
    random = np.random.default_rng(seed)
    base = tensor_train(
        (3,) * 4, 4, factor_param=lambda shape: leaf(random.normal(size=shape) + 1j * random.normal(size=shape))
    )
    circuit = compile_circuit(operators.multiply(base, operators.conjugate(base)), semiring)
    rows = torch.tensor(list(itertools.product(range(3), repeat=4)))
    values = double_copy(compile_circuit(base, "sum-product"))(rows).flatten().abs().square()
    p = values / values.sum()
    torch.testing.assert_close(queries.log_likelihood(circuit, rows).flatten(), p.log(), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(queries.entropy(circuit).item(), -(p * p.log()).sum().item(), rtol=1e-9, atol=1e-9)
    log_q = queries.conditional(circuit, rows, rows[0] == 0, torch.zeros(4, dtype=torch.bool))
    torch.testing.assert_close(log_q.flatten(), p.log(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("semiring", "seed"), covering(("sum-product", "lse-sum", "complex-lse-sum"), range(3), strength=1)
)
def test_the_square_of_a_long_real_tensor_train_is_a_density(semiring: str, seed: int):
    """Some of these rows cancel to 1e-8 of their terms, where a complex number would no longer show that it is real."""
    random = np.random.default_rng(seed)
    base = tensor_train((2,) * 64, 4, factor_param=lambda shape: leaf(random.normal(size=shape)))
    circuit = compile_circuit(operators.multiply(base, base), semiring)
    rows = torch.from_numpy(random.integers(0, 2, (64, 64)))
    log_values = 2 * double_copy(compile_circuit(base, "complex-lse-sum"))(rows).real.flatten()
    found = queries.log_likelihood(circuit, rows).flatten() + queries.partition_function(circuit).real.item()
    torch.testing.assert_close(found, log_values, rtol=0, atol=1e-5)  # eight digits of some rows cancel


@pytest.mark.parametrize("semiring", ["sum-product", "lse-sum"])
def test_the_square_of_an_image_circuit_is_a_density(semiring: str):
    random = np.random.default_rng(0)
    base = image_data(
        (1, 4, 4),
        "quad-tree-2",
        input_layer="embedding",
        num_input_units=4,
        sum_product_layer="cp",
        num_sum_units=4,
        num_categories=4,
        input_params={"weight": lambda shape: leaf(random.normal(size=shape))},
        sum_weight_param=lambda shape: leaf(random.normal(size=shape)),
    )
    circuit = compile_circuit(operators.multiply(base, base), semiring)
    rows = torch.from_numpy(random.integers(0, 4, (64, 16)))
    log_values = 2 * double_copy(compile_circuit(base, "complex-lse-sum"))(rows).real.flatten()
    found = queries.log_likelihood(circuit, rows).flatten() + queries.partition_function(circuit).real.item()
    torch.testing.assert_close(found, log_values, rtol=0, atol=1e-5)


def test_a_negative_and_a_complex_value_are_still_refused():
    base = tensor_train((2, 2), 1, factor_param=lambda shape: leaf(np.linspace(-1, 1, math.prod(shape)).reshape(shape)))
    turned = tensor_train((2, 2), 1, factor_param=lambda shape: leaf(np.full(shape, np.exp(1e-3j))))
    rows = torch.tensor(list(itertools.product(range(2), repeat=2)))
    for circuit in (base, turned):
        with pytest.raises(ValueRangeError, match="not a density"):
            queries.log_likelihood(compile_circuit(circuit, "sum-product"), rows)
