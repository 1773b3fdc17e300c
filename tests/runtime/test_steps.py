"""The torch backend computes groups in steps: its results and bounds are those of whole groups."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from explorer.backend import TorchCircuit
from explorer.compiler import TorchCompiler
from explorer.runtime import fast
from explorer.runtime.grouped import group_evaluation, grouped_program, kernels
from explorer.runtime.plan import Kind
from explorer.symbolic import (
    Circuit,
    CircuitBuilder,
    EmbeddingLayer,
    KroneckerParameter,
    SoftplusParameter,
    TensorParameter,
)
from tests.runtime.circuits import image_circuit

STEPS = (1, 5, 64, 300)


@pytest.fixture(autouse=True)
def unwritten_memory_is_nan() -> Iterator[None]:
    """PyTorch fills new memory with NaN only where it is told to be deterministic."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    yield
    torch.use_deterministic_algorithms(False)


def image(region_graph: str, layer: str, inputs: str) -> Circuit:
    size = (2, 3) if region_graph == "poon-domingos" else (4, 4)
    return image_circuit(*size, region_graph, layer, units=3, inputs=inputs, states=5, classes=2)


def partial_products() -> Circuit:
    """Sums with Kronecker products as weights, of two products each."""
    b = CircuitBuilder()

    def leaf(*shape: int) -> SoftplusParameter:
        return SoftplusParameter((TensorParameter(shape),))

    def category(variable: int) -> int:
        weight = leaf(12, 3)
        return b.add(EmbeddingLayer(scope=(variable,), num_output_units=12, num_states=3, weight=weight))

    def kronecker_sum(first: int) -> int:
        weight = KroneckerParameter((leaf(2, 4), leaf(2, 3)))
        return b.sum(b.hadamard(category(first), category(first + 1)), num_units=4, weight=weight)

    return b.build(b.sum(b.hadamard(*map(kronecker_sum, (0, 2, 4))), num_units=1))


def kinds_in_steps(circuit: TorchCircuit, monkeypatch: pytest.MonkeyPatch) -> set[Kind]:
    """Compare outputs, values and bounds, and that nothing which is read changes; the kinds of groups in steps."""
    x = torch.randint(3, (18, circuit.num_variables), generator=torch.Generator().manual_seed(0))
    found: set[Kind] = set()
    original: Any = group_evaluation._Evaluation._in_steps

    def in_steps(self: Any, group: Any, *functions: Any) -> Any:
        if self.step and self.step // group.in_width < len(group.members) > 1:
            found.add(group.kind)
        return original(self, group, *functions)

    def run(groups: Any, constants: Any, indices: Any, given: Any, _: int) -> group_evaluation.Outputs:
        read = [*constants.tensors, given.states, given.points]
        kept = [one.clone() for one in read]
        whole = group_evaluation.evaluate_groups(groups, constants, indices, given)
        for step in STEPS:
            for one, expected in zip(
                group_evaluation.evaluate_groups(groups, constants, indices, given, step), whole, strict=True
            ):
                torch.testing.assert_close(one, expected, rtol=1e-5, atol=0)
        for one, before in zip(read, kept, strict=True):
            torch.testing.assert_close(one, before, rtol=0, atol=0, equal_nan=True)
        return whole

    monkeypatch.setattr(group_evaluation._Evaluation, "_in_steps", in_steps)
    monkeypatch.setattr(grouped_program, "evaluate_groups", run)
    made = fast(circuit, backend="torch")
    with torch.no_grad():
        torch.testing.assert_close(made(x).double(), circuit.double()(x), rtol=1e-5, atol=1e-5)
    return found


@pytest.mark.parametrize("fewer", [False, True])
@pytest.mark.parametrize(
    ("region_graph", "layer", "inputs", "optimize", "kinds"),
    [
        ("quad-graph", "cp", "gaussian", True, {Kind.GAUSSIAN, Kind.SUM, Kind.MIXING}),
        ("quad-graph", "cp", "categorical", True, {Kind.SUM, Kind.MIXING}),
        ("quad-tree-2", "tucker", "gaussian", True, {Kind.GAUSSIAN, Kind.TUCKER}),
        ("quad-tree-2", "tucker", "categorical", False, {Kind.KRONECKER, Kind.SUM}),
        ("poon-domingos", "cp", "categorical", True, {Kind.PRODUCT}),
    ],
)
def test_images(
    region_graph: str,
    layer: str,
    inputs: str,
    optimize: bool,
    kinds: set[Kind],
    fewer: bool,
    monkeypatch: pytest.MonkeyPatch,
):
    if fewer:  # sums and densities are added in double precision
        for module, name in ((group_evaluation, "MAX_DENSITIES"), (kernels, "MAX_PARTS"), (kernels, "MAX_SUMMANDS")):
            monkeypatch.setattr(module, name, 1)
    circuit = TorchCompiler(optimize=optimize).compile(image(region_graph, layer, inputs))
    assert kinds_in_steps(circuit, monkeypatch) >= kinds


def test_partial_products(monkeypatch: pytest.MonkeyPatch):
    circuit = TorchCompiler(preset="handbook").compile(partial_products())
    assert Kind.TENSOR_DOT in kinds_in_steps(circuit, monkeypatch)
