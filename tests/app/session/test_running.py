"""Inputs run through the steps of a live trace."""

from dataclasses import replace

import pytest
import torch

import explorer
from explorer.app.session.close_up import LOADED, NO_LAYERS, run_values, values_for_page
from explorer.backend import TorchCircuit
from explorer.errors import ShapeError
from explorer.symbolic.operators import evidence
from explorer.templates import CategoricalInput, GaussianInput, fully_factorized, gallery
from explorer.trace import Trace
from explorer.views import TraceIndex, details, picture


@pytest.fixture(scope="module")
def digits() -> TraceIndex:
    return TraceIndex(explorer.record(gallery.load_named("digits")))


def test_the_output_is_the_same_number_at_every_step(digits: TraceIndex) -> None:
    view = run_values(digits)
    assert [step for step, _ in view["steps"]] == ["0", "3", "7", "8", "9", "10"]
    assert [run["label"] for run in view["runs"]] == ["0", "1", "3", "7"]
    for run in view["runs"]:
        assert len(set(run["outputs"].values())) == 1
        assert len(run["cells"]) == 170 + 85  # the layers as written, and those that fusing made


@pytest.mark.parametrize("tiny", [(1e-30, 5e-30), (2e-5, 9e-5), (1e-30, 0.0)])
def test_tiny_likelihoods_that_differ_are_not_the_same(tiny: tuple[float, float], monkeypatch) -> None:
    index = TraceIndex(explorer.record(gallery.load_named("hmm"), semiring="sum-product"))

    steps = iter([tiny[0]])

    @torch.no_grad()
    def evaluate(circuit: TorchCircuit, x: torch.Tensor) -> tuple[torch.Tensor, dict[int, torch.Tensor]]:
        return torch.full((len(x), 1, 1), next(steps, tiny[1])), circuit.evaluate(x)[1]

    monkeypatch.setattr("explorer.app.session.close_up._evaluate", evaluate)
    assert "The output is not the same" in run_values(index)["runs"][0]["same"]


def test_the_value_of_the_root_is_the_output(digits: TraceIndex) -> None:
    run = run_values(digits)["runs"][0]
    with torch.no_grad():
        output = digits.trace.circuit_at(-1)(torch.tensor([run["x"]]).long())
    assert run["cells"]["254"][0] == pytest.approx(output.item(), rel=1e-4)


def test_a_painted_input_is_run_beside_the_others(digits: TraceIndex) -> None:
    view = run_values(digits, [99.0, -3.0] + [0.4] * 62, paints=True)
    assert view["runs"][-1]["label"] == "yours"
    assert view["runs"][-1]["x"][:3] == [16.0, 0.0, 0.0]
    with pytest.raises(ShapeError, match="expected 64 finite numbers"):
        run_values(digits, [1.0])
    with pytest.raises(ShapeError):
        run_values(digits, [float("nan")] * 64)


def test_each_discrete_variable_of_a_row_gets_the_nearest_of_its_own_values() -> None:
    specs = [CategoricalInput(2), CategoricalInput(5), GaussianInput()]
    index = TraceIndex(explorer.record(fully_factorized(3, specs)))
    assert run_values(index, [1.2, 3.7, -0.25])["runs"][-1]["x"] == [1.0, 4.0, -0.25]


@pytest.mark.parametrize("semiring", ["sum-product", "complex-lse-sum"])
def test_values_are_logarithms_in_every_semiring(digits: TraceIndex, semiring: str) -> None:
    traces = [explorer.record(gallery.load_named("hmm"), **options) for options in ({}, {"semiring": semiring})]
    wanted, found = (run_values(TraceIndex(trace))["runs"][0]["cells"] for trace in traces)
    for layer in map(str, traces[0].steps[0].snapshot.graph.nodes):
        assert found[layer][0] == pytest.approx(wanted[layer][0], rel=1e-3)


def test_a_loaded_trace_says_why_it_has_no_values(digits: TraceIndex, tmp_path) -> None:
    digits.trace.save(tmp_path / "digits.trace.json")
    assert run_values(TraceIndex(Trace.load(tmp_path / "digits.trace.json")))["missing"] == LOADED


def test_a_failed_compilation_is_the_reason_that_there_are_no_values(digits: TraceIndex) -> None:
    *steps, last = digits.trace.steps
    index = TraceIndex(replace(digits.trace, executable=None, steps=(*steps, replace(last, error="no luck"))))
    wanted = f"There are no values: the compilation failed at step {last.index}."
    assert run_values(index)["missing"] == wanted
    ids = next(box["ids"] for box in picture(index, 0, "after", group_by="plates").view["nodes"] if 169 in box["ids"])
    found = details(index, 0, ids)
    assert "closeup" in found
    assert found["closeup"]["parameters"]["missing"] == wanted


def test_a_page_holds_the_values_of_small_circuits_only(digits: TraceIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not values_for_page(digits)["paints"]
    assert "a page has no Python" in values_for_page(digits)["note"]
    monkeypatch.setattr("explorer.app.session.close_up.MAX_PAGE_LAYERS", 100)
    assert "more than 100 layers" in values_for_page(digits)["missing"]


@pytest.mark.parametrize("level", ["tensor", "program"])
def test_a_page_of_operators_or_instructions_has_no_values_of_layers(level):
    trace = explorer.record(torch.nn.ReLU(), (torch.ones(2, 2),), level=level)
    assert values_for_page(TraceIndex(trace))["missing"] == NO_LAYERS


def test_operands_are_not_run_because_they_are_combined_later_not_for_their_size() -> None:
    index = TraceIndex(explorer.record(gallery.load_named("squared")))
    found = run_values(index)
    assert found["note"] == "Not run, because their circuits are combined later: step 0."
    assert found["steps"][0] == ["1", "multiply"]


@pytest.mark.parametrize("unread", [32, 60, 64])
def test_the_last_pixels_may_be_observed_so_that_the_circuit_does_not_read_them(unread: int) -> None:
    observed = evidence(gallery.load_named("digits"), dict.fromkeys(range(64 - unread, 64), 3))
    index = TraceIndex(explorer.record(observed))
    view = run_values(index, [2.0] * 64)
    assert len(view["runs"][0]["outputs"]) == len(view["steps"])
    assert view["image"] == [1, 8, 8]
    assert [run["label"] for run in view["runs"]] == ["0", "1", "3", "7", "yours"]
    assert view["runs"][-1]["x"] == [2.0] * 64
