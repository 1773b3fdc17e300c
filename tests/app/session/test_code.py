"""The code of a plate: the line that reads its inputs runs, and the formula is the class's."""

import gc
from importlib import import_module
from pathlib import Path

import pytest
import torch

import explorer
from explorer.app.session.close_up import _code_of, add_code
from explorer.backend import TorchSumLayer as Sum
from explorer.bench import random_inputs
from explorer.templates import gallery
from explorer.trace import Trace
from explorer.views import TraceIndex, details

BATCH = 3


def code_at(index: TraceIndex, step: int, *nodes: int):
    found = add_code(index, step, nodes, details(index, step, nodes)).get("closeup")
    assert found is not None
    return found["code"]


@pytest.mark.parametrize("name", ["digits", "hmm", "levels", "near-misses", "conflict", "kronecker", "blackboard"])
def test_the_line_that_reads_the_inputs_computes_them(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("explorer.views.closeup.closeup"), "MAX_SOURCES", 99)
    index = TraceIndex(explorer.record(gallery.load_named(name)))
    step = len(index.trace.steps) - 1
    circuit = index.trace.circuit_at(step)
    data = random_inputs(circuit, BATCH)
    with torch.no_grad():
        values = dict(circuit.activations(data))
    for planned in circuit._plan.layers:
        line = code_at(index, step, planned.node)["lines"][0]
        names = {f"y{node}": value for node, value in values.items()} | {"torch": torch, "data": data, "B": BATCH}
        if planned.read is None:
            names["variables"] = [variable for scope in planned.layer.scope_idx for variable in scope]
        elif planned.read.index >= 0:
            names["index"] = getattr(circuit, f"index_{planned.read.index}")
        exec(line, names)  # the line is what is tested
        assert torch.equal(names["x"], circuit._inputs(planned, data, values)), line


def test_separate_calls_read_single_tensors_or_slices_of_a_folded_layer() -> None:
    index = TraceIndex(explorer.record(gallery.load_named("digits")))
    assert code_at(index, 0, 169)["lines"] == ["x = y168.reshape(1, 1, B, 16)", "y169 = Sum(x, weight)"]
    step = index.step(8)  # the sums are folded, what reads them is not yet
    folded = step.folds[0].node
    code = code_at(index, 8, *sorted(step.snapshot.graph.users[folded]))
    assert code["lines"][0] == f"x = y{folded}[0:4].reshape(1, 4, B, 16)"
    assert code["note"] == "This is one of 16 calls."


def test_the_formula_and_the_source_are_those_of_the_class() -> None:
    index = TraceIndex(explorer.record(gallery.load_named("digits")))
    code = code_at(index, 11, 256)
    assert code["formula"].startswith("Weighted sums of units: y[f,b,o] = sum_{h,i} w[f,o,h*I+i] x[f,h,b,i]")
    assert code["shapes"] == "x 64×1×B×16, weight 64×16×16 → y 64×B×16"
    assert code["source"].startswith("def forward(self, semiring: Semiring, x: Tensor")
    assert code["where"].startswith("explorer.backend.layers.inner, line ")


def test_the_code_is_that_of_the_class_of_the_layer_and_not_of_another_of_its_name(tmp_path: Path) -> None:
    trace = explorer.record(gallery.load_named("digits"))
    trace.save(tmp_path / "digits.trace.json")
    loaded = Trace.load(tmp_path / "digits.trace.json")

    class TorchSumLayer(Sum):
        """Another sum."""

    try:
        assert code_at(TraceIndex(trace), 11, 256)["formula"].startswith("Weighted sums of units")
        assert code_at(TraceIndex(loaded), 11, 256)["formula"] == TorchSumLayer.__doc__
    finally:
        _code_of.cache_clear()
        del TorchSumLayer
        gc.collect()  # a class is in a cycle, and would still be found by its name
