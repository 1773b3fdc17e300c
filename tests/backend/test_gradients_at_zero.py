"""Gradients of circuits in which an inner unit is exactly zero: finite, the same in every semiring and mode."""

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
import pytest
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.func import functional_call, grad, vmap

from explorer.backend.numeric import log
from explorer.symbolic import (
    BinomialLayer,
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    ConstantInitializer,
    ConstantValueLayer,
    EmbeddingLayer,
    EvidenceLayer,
    ExpParameter,
    HadamardParameter,
    KroneckerParameter,
    LogParameter,
    MixingWeightParameter,
    ParameterNode,
    PolynomialLayer,
    SoftmaxParameter,
    TensorParameter,
    constant,
)
from tests.fuzzing import covering
from tests.levels.modes import MODES, Mode, compile_circuit
from tests.oracle import SEMIRINGS

ROWS = torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1]])


def masked_parameter(mask: ArrayLike) -> ParameterNode:
    """A learned parameter with zeros: the entries exp(leaf) where the mask is 1."""
    shape = np.shape(mask)
    start = ConstantInitializer(np.linspace(0.1, 0.9, int(np.prod(shape))).reshape(shape))
    return HadamardParameter(
        (constant(np.array(mask, float)), ExpParameter((TensorParameter(shape, initializer=start),)))
    )


def states(b: CircuitBuilder, v: int) -> int:
    """One unit for each state of a binary variable."""
    return b.add(EmbeddingLayer(scope=(v,), num_output_units=2, num_states=2, weight=constant(np.eye(2))))


def binomial(b: CircuitBuilder, v: int) -> int:
    probs = masked_parameter([0, 1])
    return b.add(
        BinomialLayer(
            scope=(v,), num_output_units=2, total_count=2, probs=HadamardParameter((probs, constant([1.0, 0.3])))
        )
    )


def coin(v: int, **parameters: ParameterNode) -> CategoricalLayer:
    return CategoricalLayer(scope=(v,), num_output_units=2, num_categories=2, **parameters)


def underflowing_weight(n: int) -> ParameterNode:
    logits = np.where(np.eye(n), 0.0, -800.0)
    return SoftmaxParameter((TensorParameter((n, n), initializer=ConstantInitializer(logits)),))


# Each function adds layers of two units over one variable or both; some unit is zero for some row.
UNITS: dict[str, Callable[[CircuitBuilder], int]] = {
    "sum": lambda b: b.sum(states(b, 0), num_units=2, weight=masked_parameter(np.eye(2))),
    "sum of two": lambda b: b.sum(
        states(b, 0), states(b, 0), num_units=2, weight=masked_parameter([[1, 0, 0, 0], [0, 1, 0, 1]])
    ),
    "sum of sums": lambda b: b.sum(
        b.sum(states(b, 0), num_units=2, weight=masked_parameter(np.eye(2))),
        num_units=2,
        weight=masked_parameter([[1, 0], [1, 1]]),
    ),
    "softmax": lambda b: b.sum(states(b, 0), num_units=2, weight=underflowing_weight(2)),
    "mixing": lambda b: b.sum(
        states(b, 0), states(b, 0), num_units=2, weight=MixingWeightParameter((masked_parameter([[1, 0], [0, 1]]),))
    ),
    "CPT": lambda b: b.sum(b.hadamard(states(b, 0), states(b, 1)), num_units=2, weight=masked_parameter(np.eye(2))),
    "CPT of five": lambda b: b.sum(
        b.hadamard(*[states(b, v) for v in (0, 1, 0, 1, 0)]), num_units=2, weight=masked_parameter(np.eye(2))
    ),
    "Tucker": lambda b: b.sum(
        b.kronecker(states(b, 0), states(b, 1)), num_units=2, weight=masked_parameter([[1, 0, 0, 1], [0, 1, 0, 0]])
    ),
    "TensorDot": lambda b: b.sum(
        b.sum(
            b.kronecker(states(b, 0), states(b, 1)),
            num_units=4,
            weight=KroneckerParameter((masked_parameter(np.eye(2)), masked_parameter([[1, 0], [1, 1]]))),
        ),
        num_units=2,
        weight=masked_parameter([[1, 0, 1, 0], [0, 1, 0, 1]]),
    ),
    "Hadamard": lambda b: b.hadamard(
        b.sum(states(b, 0), num_units=2, weight=masked_parameter(np.eye(2))),
        b.sum(states(b, 1), num_units=2, weight=masked_parameter(np.eye(2))),
    ),
    "Kronecker": lambda b: b.sum(
        b.kronecker(b.sum(states(b, 0), num_units=2, weight=masked_parameter(np.eye(2))), states(b, 1)), num_units=2
    ),
    "embedding": lambda b: b.add(
        EmbeddingLayer(scope=(0,), num_output_units=2, num_states=2, weight=masked_parameter([[1, 0], [0, 1]]))
    ),
    "probabilities": lambda b: b.add(coin(0, probs=masked_parameter([[1, 0], [0, 1]]))),
    "logits": lambda b: b.add(coin(0, logits=LogParameter((underflowing_weight(2),)))),
    "binomial": lambda b: binomial(b, 0),
    "polynomial": lambda b: b.add(
        PolynomialLayer(scope=(0,), num_output_units=2, degree=1, coeff=masked_parameter([[0, 1], [1, 1]]))
    ),
    "constant": lambda b: b.hadamard(
        states(b, 0), b.add(ConstantValueLayer(num_output_units=2, value=masked_parameter([0, 1])))
    ),
    "evidence": lambda b: b.hadamard(
        states(b, 0),
        b.add(
            EvidenceLayer(
                num_output_units=2, layer=coin(1, probs=masked_parameter([[1, 0], [0, 1]])), observation=constant([1])
            )
        ),
    ),
}


@cache
def circuit_with(name: str) -> Circuit:
    """Two copies of the units, so that they fold, in a mixture that is never zero."""
    b = CircuitBuilder()
    one, other = UNITS[name](b), UNITS[name](b)
    always = b.add(ConstantValueLayer(num_output_units=2, value=constant([0.3, 0.4])))
    return b.build(b.sum(one, other, always, num_units=1))


@cache
def plain_gradients(name: str) -> dict[str, Tensor]:
    """Those of the circuit as it was written, in numbers instead of logarithms."""
    return gradients(circuit_with(name), "sum-product", MODES[0])


def gradients(
    circuit: Circuit, semiring: str, mode: Mode, of: Callable[[Tensor], Tensor] = torch.sum
) -> dict[str, Tensor]:
    module = compile_circuit(circuit, semiring, **mode)
    y = module(ROWS[:, : module.num_variables])
    y = torch.log(y) if semiring == "sum-product" else y.real
    assert torch.isfinite(y).all()
    of(y).backward()
    rows = {module.leaf_names[leaf]: slot for leaf, slot in module._slots.items()}
    return {
        name: torch.zeros_like(t) if t.grad is None else t.grad[row]
        for name, (i, row) in rows.items()
        if (t := module.tensors[i]).requires_grad
    }


@pytest.mark.parametrize(("name", "semiring", "mode"), covering(tuple(UNITS), SEMIRINGS, MODES))
def test_gradients_at_zero_are_those_of_the_plain_numbers(name: str, semiring: str, mode: Mode):
    wanted = plain_gradients(name)
    found = gradients(circuit_with(name), semiring, mode)
    assert found.keys() == wanted.keys()
    for leaf, value in wanted.items():
        assert torch.isfinite(value).all()
        torch.testing.assert_close(found[leaf], value, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("semiring", ["lse-sum", "complex-lse-sum"])
def test_impossible_rows_that_the_loss_ignores_have_no_gradient(semiring: str):
    b = CircuitBuilder()
    module = compile_circuit(b.build(b.sum(states(b, 0), num_units=1, weight=masked_parameter([[1, 0]]))), semiring)
    y = module(torch.tensor([[0], [1]])).real
    assert torch.isinf(y[1])
    torch.where(torch.isinf(y), 0, y).sum().backward()
    assert all(p.grad is None or torch.isfinite(p.grad).all() for p in module.parameters())


def test_gradients_at_zero_under_functional_transforms():
    module = compile_circuit(circuit_with("sum"))
    parameters: dict[str, Tensor] = dict(module.named_parameters())
    rows = ROWS[:, :1]

    def value(parameters: Mapping[str, Tensor], row: Tensor) -> Tensor:
        return functional_call(module, dict(parameters), (row[None],)).sum()

    per_row = vmap(grad(value), in_dims=(None, 0))(parameters, rows)
    module(rows).sum().backward()
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:
            torch.testing.assert_close(per_row[name].sum(0), parameter.grad)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.complex64, torch.complex128])
def test_the_logarithm_is_exact_and_its_gradient_is_0_at_0(dtype: torch.dtype):
    values = [0.0, -0.0, 1e-30, 0.5, 3.0, float("inf"), float("nan"), -2.0]
    x = torch.tensor(values, dtype=dtype, requires_grad=True)
    y = log(x)
    torch.testing.assert_close(y.real, torch.log(x.detach()).real, rtol=0, atol=0, equal_nan=True)
    (g,) = torch.autograd.grad(y.real.sum(), x, create_graph=True)
    assert g[:2].tolist() == [0, 0]
    torch.testing.assert_close(g[2:5].real, 1 / x[2:5].real)
    torch.autograd.grad(g[3:5].real.sum(), x)
