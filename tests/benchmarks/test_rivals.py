"""`bench rivals`: nodes for SparC have the values of our circuit, and rivals that are missing are left out."""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
import torch

from benchmarks import rivals, rivals_command
from benchmarks.pyjuice_cases import HiddenTreeCase
from benchmarks.pyjuice_structure import structure_of
from explorer.compiler import TorchCompiler


@dataclass
class Leaf:
    scope_var: int
    probabilities: Sequence[float]

    def value(self, row: Sequence[int]) -> float:
        return self.probabilities[row[self.scope_var]]


@dataclass
class Product:
    children: Sequence[Leaf]

    def value(self, row: Sequence[int]) -> float:
        return math.prod(child.value(row) for child in self.children)


@dataclass
class Sum:
    children: Sequence[Leaf]
    parameters: Sequence[float]

    def value(self, row: Sequence[int]) -> float:
        return sum(by * child.value(row) for by, child in zip(self.parameters, self.children, strict=True))


@pytest.fixture
def plain_sparc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes as SparC has, which evaluate themselves slowly."""
    module = SimpleNamespace(CategoricalInputNode=Leaf, ProductNode=Product, SumNode=Sum)
    monkeypatch.setitem(sys.modules, "sparc", module)


@pytest.mark.usefixtures("plain_sparc")
def test_the_nodes_for_sparc_have_the_values_of_the_circuit():
    circuit = HiddenTreeCase("", 3, 2, 5).circuit()
    structure = structure_of(circuit, TorchCompiler(optimize=False, fold=False).compile(circuit), fold_inputs=True)
    root = rivals.sparc_nodes(structure)
    x = torch.randint(5, (20, 4), generator=torch.Generator().manual_seed(0))
    expected = TorchCompiler().compile(circuit)(x).flatten()
    found = torch.tensor([math.log(root.value(row)) for row in x.tolist()])
    torch.testing.assert_close(found, expected)


@pytest.mark.skipif(bool(rivals.missing_modules(rivals.KLAY)), reason=f"needs KLay: {rivals_command.INSTALL}")
def test_a_formula_has_the_same_models_for_klay():
    row = rivals.measure_klay("SDD of 20", 32, 1, 1)
    assert row.difference == 0.0
    assert set(row.samples) == {rivals.OURS, rivals.KLAY}


def test_rivals_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rivals_command, "missing_modules", lambda rival: ["klay"] if rival == rivals.KLAY else [])
    said: list[str] = []
    monkeypatch.setattr(rivals_command, "say_note", said.append)
    runs = [name for name, _ in rivals_command._runs(1, 1)]
    assert runs == list(rivals.SPARC_CASES)
    assert said == [f"KLay is left out, as klay cannot be imported: {rivals_command.INSTALL}"]


def test_values_that_differ_are_an_error():
    circuit = HiddenTreeCase("", 2, 2, 3).circuit()
    x = torch.zeros(4, 4, dtype=torch.int64)
    with pytest.raises(rivals.CircuitError, match="values differ from those of KLay by"):
        rivals._measure("case", rivals.KLAY, 0, circuit, x, lambda: [-1.0] * 4, 1, 1)
    with pytest.raises(rivals.CircuitError, match="other rows than those of KLay have the value zero"):
        rivals._measure("case", rivals.KLAY, 0, circuit, x, lambda: [-math.inf] * 4, 1, 1)
