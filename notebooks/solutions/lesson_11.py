"""Solutions of lesson 11, products and queries."""

from collections.abc import Callable

import torch
from torch import Tensor

from explorer import TorchCompiler
from explorer.backend import TorchCircuit, queries
from explorer.symbolic import Circuit
from explorer.symbolic.operators import evidence, integrate, multiply


def _values(circuit: Circuit, *rows: Tensor) -> Tensor:
    return TorchCompiler(semiring="sum-product").compile(circuit)(*rows).flatten()


def solution_1() -> Callable[[Circuit, Tensor], Tensor]:
    """The values of the square, divided by its integral."""

    def probability(circuit: Circuit, rows: Tensor) -> Tensor:
        square = multiply(circuit, circuit)
        return _values(square, rows) / _values(integrate(square))

    return probability


def solution_2() -> Callable[[Circuit], float]:
    """The probability of both, divided by that of the evidence: Z cancels."""

    def last_given_first(circuit: Circuit) -> float:
        square = multiply(circuit, circuit)
        both = evidence(square, {0: 1, circuit.scope[-1]: 1})
        return (_values(integrate(both)) / _values(integrate(evidence(square, {0: 1})))).item()

    return last_given_first


def solution_3() -> Callable[[TorchCircuit], float]:
    """The share of samples, given coin 0, that have three ones."""

    def exactly_three(coins: TorchCircuit) -> float:
        x, observed = torch.tensor([[1, 0, 0, 0, 0]]), torch.tensor([True, False, False, False, False])
        draws = queries.sample(coins, 10_000, x, observed, generator=torch.Generator().manual_seed(0))
        return (draws.sum(dim=-1) == 3).double().mean().item()

    return exactly_three
