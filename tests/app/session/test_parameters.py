"""The present values of parameters in the details of a plate."""

import numpy as np
import pytest
import torch

import explorer
from explorer.app.session.close_up import add_parameters
from explorer.app.session.reproduce import NOT_IN_PAGE, OTHERS_NOT_IN_PAGE, page_recording
from explorer.backend import all_parameters
from explorer.symbolic import Circuit, CircuitBuilder, EmbeddingLayer, TensorParameter
from explorer.symbolic.operators import multiply
from explorer.templates import gallery
from explorer.views import TraceIndex, details, picture


def index_of(name: str) -> TraceIndex:
    return TraceIndex(explorer.record(gallery.load_named(name)))


def parameters_at(index: TraceIndex, step: int, node: int, number: int):
    """The parameters of the plate that a node belongs to."""
    boxes = picture(index, step, "after", group_by="plates").view["nodes"]
    ids = next(box["ids"] for box in boxes if node in box["ids"])
    found = add_parameters(index, step, ids, number, details(index, step, ids))
    assert "closeup" in found
    return found["closeup"]["parameters"]


@pytest.mark.parametrize("name", ["conflict", "kronecker", "near-misses", "blackboard"])
def test_values_are_those_that_the_circuit_computes(name: str) -> None:
    index = index_of(name)
    circuit = index.trace.circuit_at(-1)
    step = len(index.trace.steps) - 1
    for planned in circuit._plan.layers:
        for parameter, (key, computed) in zip(all_parameters(planned.layer).values(), planned.parameters, strict=True):
            with torch.no_grad():
                wanted = circuit.result_of(computed, circuit.node_values(computed))
            for number in range(parameter.num_folds):
                shown = parameters_at(index, step, planned.node, number)
                (sheet,) = [one for one in shown["sheets"] if one["title"].split(" ")[0].rstrip(":") == key]
                values = np.array(sheet["values"], float).reshape(sheet["rows"], sheet["columns"])
                full = wanted[number].reshape(-1, wanted.shape[-1])[:64, :64].detach().numpy()
                np.testing.assert_allclose(values, full, rtol=1e-2, atol=1e-6)


def test_parameters_of_a_few_small_slices_are_shown_together() -> None:
    index = index_of("conflict")
    assert [sheet["title"] for sheet in parameters_at(index, 3, 16, 1)["overview"]] == [
        "weight, layer #16",
        "weight, layer #17",
    ]
    assert parameters_at(index, 3, 16, 99)["slice"] == 0  # no such layer


def test_a_page_holds_the_first_slices_and_says_what_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    index = index_of("conflict")
    monkeypatch.setattr("explorer.app.session.reproduce.MAX_PLATE_NUMBERS", 30)
    monkeypatch.setattr("explorer.app.session.close_up.MAX_OVERVIEW", 0)
    shown = [found.get("closeup") for found in page_recording(index, "")["details"].values()]
    parameters = [view["parameters"] for view in shown if view is not None]
    assert {view["missing"] for view in parameters} == {"", NOT_IN_PAGE, OTHERS_NOT_IN_PAGE}
    assert not any(view["sheets"] for view in parameters if view["missing"] == NOT_IN_PAGE)


def test_operands_of_other_widths_have_parameters() -> None:
    """The outputs of both together are no tensor, but each box belongs to one circuit."""

    def table(units: int) -> Circuit:
        builder, weight = CircuitBuilder(), TensorParameter((units, 2))
        layer = EmbeddingLayer(scope=(0,), num_output_units=units, num_states=2, weight=weight)
        return builder.build(builder.add(layer))

    index = TraceIndex(explorer.record(multiply(table(3), table(2)), semiring="sum-product"))
    for node in index.trace.graph_at(0).nodes:
        found = add_parameters(index, 0, [node], 0, details(index, 0, [node]))
        assert "closeup" in found
        assert found["closeup"]["parameters"]["sheets"]
