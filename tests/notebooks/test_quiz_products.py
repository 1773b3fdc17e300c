"""The answers of the quiz about products of circuits agree with the engine."""

from typing import Any

import pytest
import torch

import explorer
from explorer import TorchCompiler, gallery
from explorer.backend import queries
from explorer.backend.queries import assignments
from explorer.errors import StructureError
from explorer.symbolic import Circuit, CircuitBuilder, EmbeddingLayer, SumLayer, TensorParameter
from explorer.symbolic.operators import integrate, multiply
from explorer.templates import CategoricalInput
from tests.notebooks.quiz import SHATTER, judges, says


def one_sum(inputs: int, outputs: int) -> Circuit:
    b = CircuitBuilder()
    leaf = TensorParameter((inputs, 2))
    x = b.add(EmbeddingLayer(scope=(0,), num_output_units=inputs, num_states=2, weight=leaf))
    return b.build(b.sum(x, num_units=outputs, weight=TensorParameter((outputs, inputs))))


def test_25_the_sum_of_a_product() -> None:
    one, other = one_sum(6, 5), one_sum(4, 3)
    product = multiply(one, other)
    (rows, columns) = next(layer.weight.shape for layer in product.layers if isinstance(layer, SumLayer))
    assert set(product.leaf_names) == {*one.leaf_names, *other.leaf_names}
    says(25, f"{rows} × {columns}, and no leaf is new")
    trace = explorer.record(product, preset="handbook", fold=False, semiring="sum-product")
    before, after = (trace.stats(step)["flops"] - columns for step in ("compile", SHATTER))  # an operation per input
    says(25, f"As one matrix {before // 2} multiplications, in two steps {after // 2}")
    squares = [multiply(one, one).layers[0].num_output_units for one in (one_sum(6, 5), one_sum(9, 5))]
    says(25, "The square has {} units, and {} with 9".format(*squares))


def tree_of(*split: tuple[int, int]) -> Circuit:
    """A product of sums over products of two coins."""
    b = CircuitBuilder()
    x = [b.add(CategoricalInput(2)(v, 2)) for v in range(4)]
    parts = [b.sum(b.hadamard(x[one], x[other]), num_units=2) for one, other in split]
    return b.build(b.sum(b.hadamard(*parts), num_units=1))


def has_product(one: Circuit, other: Circuit) -> bool:
    try:
        multiply(one, other)
    except StructureError:
        return False
    return True


def test_26_what_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = ((0, 1), (2, 3))
    assert has_product(tree_of(*pairs), tree_of(*pairs))
    symbolic = gallery.load_named("blackboard")
    coins = TorchCompiler().compile(symbolic)
    x = torch.tensor([[1, 0, 0, 1, 0], [0, 1, 0, 0, 0]])
    observed = torch.tensor([[True, False, False, True, False], [False, True, True, False, False]])
    every = torch.cartesian_prod(*[torch.arange(2)] * 5)
    chances = coins(every).exp().flatten()
    chances = chances / chances.sum()
    agree = [(every == row)[:, mask].all(dim=1) for row, mask in zip(x, observed, strict=True)]
    found = queries.marginal(coins, x, observed).exp().flatten()
    sums = torch.stack([chances[rows].sum() for rows in agree])

    passes: list[str] = []
    for name in ("evaluate_stages", "descend"):
        monkeypatch.setattr(assignments, name, counting(getattr(assignments, name), name, passes))
    taken = []
    for mask in (observed[:1], torch.zeros_like(observed[:1])):
        passes.clear()
        queries.sample(coins, 3, x[:1], mask)
        taken.append([*passes])
    assert [one.count("descend") for one in taken] == [1, 1]
    completed = queries.most_probable(coins, x, observed)
    best = torch.stack([chances[rows].max() for rows in agree])
    is_best = torch.isclose(completed.log_probability.exp(), best.double())
    square = multiply(symbolic, symbolic)
    judges(
        26,
        torch.allclose(found.double(), sums.double()),
        has_product(tree_of(*pairs), tree_of((0, 2), (1, 3))),
        len(taken[0]) != len(taken[1]),
        bool((is_best & ~completed.is_exact).any()),
        len(integrate(square).layers) == len(square.layers),
    )


def counting(function: Any, name: str, calls: list[str]) -> Any:
    """Wrap a function such that its calls are recorded."""

    def recorded(*args: Any, **options: Any) -> Any:
        calls.append(name)
        return function(*args, **options)

    return recorded
