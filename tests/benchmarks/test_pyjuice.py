"""The comparison with PyJuice, without PyJuice and CUDA: equal values, and notes on what is missing."""

import json
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from typer.testing import CliRunner

from benchmarks import pyjuice_command, pyjuice_em, pyjuice_peer
from benchmarks.cases import get_case
from benchmarks.pyjuice_cases import HiddenTreeCase, get_pyjuice_case, neighbour_tree, random_rows
from benchmarks.pyjuice_command import pyjuice_notes, pyjuice_table, rows_to_json
from benchmarks.pyjuice_em import EM, measure_em
from benchmarks.pyjuice_peer import MISSING_PYJUICE, PYJUICE, PYJUICE_INSTALL, build_nodes, measure_pyjuice
from benchmarks.pyjuice_structure import Categorical, Product, WeightedSum, structure_of
from explorer.app.cli import app
from explorer.compiler import TorchCompiler
from explorer.errors import LoweringError
from tests.benchmarks.test_measurements import text_of

TREE = HiddenTreeCase("tree", 4, side=4, num_categories=5)


def small(name):
    return replace(get_pyjuice_case(name), shape=(1, 5, 4), num_units=4, batch_size=8, num_categories=5)


@pytest.fixture
def no_pyjuice(monkeypatch):
    monkeypatch.setattr(pyjuice_command, "pyjuice_is_installed", lambda: False)
    monkeypatch.setattr(pyjuice_peer, "pyjuice_is_installed", lambda: False)


@pytest.mark.parametrize("fold_inputs", [False, True])
@pytest.mark.parametrize("case", [*map(small, ("L1", "L2", "L4", "L6", "PD-16")), TREE], ids=lambda case: case.name)
def test_the_structure_has_the_values_of_the_circuit(case, fold_inputs):
    source = case.circuit()
    circuit = TorchCompiler(optimize=False, fold=False).compile(source).double()
    structure = structure_of(source, circuit, fold_inputs=fold_inputs)
    x = random_rows(case, source, 8)
    with torch.no_grad():
        torch.testing.assert_close(structure.log_values(x), circuit(x)[:, :, 0], rtol=1e-12, atol=0)
    for one in structure.vectors:
        if isinstance(one, Product):
            assert all(isinstance(factor, Categorical | WeightedSum) for factor in one.factors)
            assert one.units_read.shape == (one.num_units, len(one.factors))
            assert len({factor.num_units for factor in one.factors}) == 1


def test_folded_inputs_leave_no_sums_of_one_variable():
    source = small("L2").circuit()
    circuit = TorchCompiler(optimize=False, fold=False).compile(source)
    structure = structure_of(source, circuit, fold_inputs=True)
    sums = [one for one in structure.vectors if isinstance(one, WeightedSum)]
    assert all(len(product.factors) > 1 for one in sums for product in one.products)
    assert structure.num_edges < structure_of(source, circuit, fold_inputs=False).num_edges


def test_other_layers_are_refused():
    source = replace(get_case("L5"), shape=(1, 4, 4), num_units=2).circuit()
    with pytest.raises(LoweringError, match="expected categorical inputs"):
        structure_of(source, TorchCompiler(optimize=False, fold=False).compile(source), fold_inputs=False)


def test_the_tree_spans_the_image_and_is_rooted_at_its_centre():
    parents = neighbour_tree(28)
    depths = []
    for pixel in range(len(parents)):
        depth, one = 0, pixel
        while parents[one] != -1:
            assert abs(one // 28 - parents[one] // 28) + abs(one % 28 - parents[one] % 28) == 1
            depth, one = depth + 1, parents[one]
        depths.append(depth)
    assert parents.count(-1) == 1
    assert sorted(depths)[-1] < 100


def test_blocks_have_as_many_units_as_a_layer():
    """The calls of PyJuice, replaced by a recorder."""
    source = replace(small("L2"), shape=(1, 4, 4)).circuit()
    circuit = TorchCompiler(optimize=False, fold=False).compile(source)
    calls = []

    def recorder(name):
        return lambda *given, **keywords: calls.append((name, given, keywords)) or SimpleNamespace(set_params=len)

    juice = SimpleNamespace(
        inputs=recorder("inputs"),
        multiply=recorder("multiply"),
        summate=recorder("summate"),
        distributions=SimpleNamespace(Categorical=lambda num_cats: num_cats),
    )
    structure = structure_of(source, circuit, fold_inputs=False)
    build_nodes(juice, structure)
    assert len(calls) == len(structure.vectors)
    name, given, keywords = calls[-1]
    assert (name, len(given), keywords["num_node_blocks"], keywords["block_size"]) == ("summate", 2, 1, 1)
    assert {keywords["block_size"] for name, _, keywords in calls[:-1] if name != "multiply"} == {4}
    torch.testing.assert_close(keywords["params"].sum(), torch.tensor(1.0))


def test_a_kronecker_product_names_the_units_that_it_reads():
    source = small("L4").circuit()
    values = TorchCompiler(optimize=False, fold=False).compile(source)
    one = next(one for one in structure_of(source, values, fold_inputs=False).vectors if isinstance(one, Product))
    calls = []
    juice = SimpleNamespace(multiply=lambda *_, **given: calls.append(given))
    pyjuice_peer._build(juice, one, dict.fromkeys(one.factors))
    assert calls[0]["sparse_edges"]
    assert calls[0]["edge_ids"].tolist()[:5] == [[0, 0], [0, 1], [0, 2], [0, 3], [1, 0]]


@pytest.mark.parametrize("case", [small("L1"), TREE], ids=lambda case: case.name)
def test_steps_of_em_start_from_equal_values(case, no_pyjuice):
    (row,) = measure_em(case, [8], 2, device="cpu")
    assert row.ours == (EM, "native, gradients")
    assert row.differences[EM][0] < 1e-5  # float32 next to double precision
    assert row.best_peer is None
    assert "EM step" in text_of(pyjuice_table(row))


def test_an_entrant_that_fails_is_absent_and_the_others_are_measured(no_pyjuice, monkeypatch):
    monkeypatch.setattr(pyjuice_em, "GRADIENTS", {"cpu": "triton"})
    (row,) = measure_em(TREE, [8], 1, device="cpu")
    assert row.ours == (EM,)
    assert "LoweringError" in row.absent["triton, gradients"]


def test_the_command_writes_each_case(no_pyjuice, tmp_path, monkeypatch):
    monkeypatch.setattr(pyjuice_command, "get_pyjuice_case", lambda name: TREE)
    file = tmp_path / "em.json"
    given = ["tree", "--device", "cpu", "--em", "--batch", "4", "--repeats", "1", "--json", str(file)]
    result = CliRunner().invoke(app, ["bench", "pyjuice", *given])
    assert result.exit_code == 0, result.output
    [row] = json.loads(file.read_text())["statistics"]["rows"]
    assert (row["case"], row["is_em"]) == ("tree", True)


def test_our_backends_are_measured_without_the_peer(no_pyjuice):
    rows = measure_pyjuice(TREE, [4, 8], 2, only=("torch", PYJUICE), device="cpu")
    assert [(row.batch_size, row.ours, row.best_peer) for row in rows] == [(4, ("torch",), None), (8, ("torch",), None)]
    assert "torch" in text_of(pyjuice_table(rows[0]))
    assert rows_to_json(rows)[0]["seconds"]["torch"] > 0


def test_an_import_that_fails_is_a_note(monkeypatch):
    """The other entrants are measured nevertheless."""
    monkeypatch.setattr(pyjuice_peer, "pyjuice_is_installed", lambda: True)
    monkeypatch.setattr(pyjuice_peer, "CUDA", "cpu")
    monkeypatch.setitem(sys.modules, "pyjuice", None)
    (row,) = measure_pyjuice(TREE, [4], 1, only=("torch", PYJUICE), device="cpu")
    assert row.ours == ("torch",)
    assert any(note.startswith(f"{PYJUICE} is absent: ModuleNotFoundError") for note in pyjuice_notes(row))


def test_the_command_says_how_to_install_it(no_pyjuice, monkeypatch):
    monkeypatch.setattr(pyjuice_command, "why_no_cuda", lambda: "there is none")
    result = CliRunner().invoke(app, ["bench", "pyjuice", "L1"])
    assert result.exit_code == 2
    assert PYJUICE_INSTALL in MISSING_PYJUICE
    assert PYJUICE_INSTALL in " ".join(result.output.split())
    assert "there is none" in result.output


def test_steps_of_the_peer_run_in_each_mode_from_its_first_values(monkeypatch):
    """A circuit of PyJuice, replaced by one whose steps halve its parameter."""
    calls = []

    class Compiled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.params = torch.nn.Parameter(torch.ones(1), requires_grad=False)

        def forward(self, x, **given):
            calls.append(("forward", given))
            return self.params.expand(len(x), 1)

        def backward(self, x, **given):
            calls.append(("backward", given))

        def mini_batch_em(self, step_size, pseudocount):
            self.params.mul_(0.5)

    juice = SimpleNamespace(compile=lambda *_, **__: Compiled())
    monkeypatch.setattr(pyjuice_peer, "import_pyjuice", lambda: juice)
    monkeypatch.setattr(pyjuice_peer, "build_nodes", lambda *_: None)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(Compiled, "to", lambda *_: None)
    made = pyjuice_peer.PyJuiceCircuit(structure=None)
    peers = {f"{PYJUICE}: {mode.name}": (made, mode) for mode in pyjuice_peer.MODES}
    monkeypatch.setattr(pyjuice_em, "CUDA", "cpu")
    monkeypatch.setattr(pyjuice_em, "compile_peers", lambda *_: peers)
    (row,) = measure_em(TREE, [4], 1, device="cpu")
    assert [name for name in row.samples if name not in row.ours] == list(peers)[:3]  # the others fill no buffers
    assert {given["logspace_flows"] for name, given in calls if name == "backward"} == {True}
    assert row.best_peer is not None
    made.reset()
    assert made.compiled.params.item() == 1.0
