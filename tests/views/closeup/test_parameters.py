"""The parameters of a plate: what they are computed from, and their values as sheets."""

import numpy as np

from explorer.views import details, picture
from explorer.views.closeup.parameters import NodeValue, with_values
from tests.views.showing import index_of


def parameters_of(name, step):
    """The parameters of each plate of a step, by its title."""
    index = index_of(name)
    nodes = picture(index, step, "after", group_by="plates").view["nodes"]
    found = [details(index, step, node["ids"]).get("closeup") for node in nodes]
    return {view["title"]: view["parameters"] for view in found if view is not None}


def test_each_parameter_says_how_it_is_computed():
    lines = {title: view["lines"] for title, view in parameters_of("conflict", 3).items()}
    assert lines["Sum, 2 layers"] == ["weight: 2 sheets of 4×4, MatMul(Softmax(Tensor 4×4), Softmax(Tensor 4×4))"]
    assert lines["Hadamard, 2 layers"] == ["This layer has no parameters."]


def test_without_values_the_view_says_why():
    views = parameters_of("digits", 10)
    assert "need Python" in views["Sum #256, 64 slices"]["missing"]
    assert views["Sum #256, 64 slices"]["count"] == 64


WEIGHTS = [
    NodeValue("TorchTensorParameter", np.array([[1.0], [2.0], [3.0]]), (), "5.weight"),
    NodeValue("TorchTensorParameter", np.array([[1.0, 10.0]]), (), "6.weight"),
    NodeValue("TorchMatMulParameter", np.array([[1.0, 10.0], [2.0, 20.0], [3.0, np.inf]]), (0, 1)),
]


def filled(nodes, overview=None):
    view = parameters_of("conflict", 3)["Sum, 2 layers"]
    return with_values(view, 1, "layer #7", {"weight": nodes}, overview or {})


def test_a_product_is_two_thin_sheets_and_a_full_one():
    sheets = filled(WEIGHTS)["sheets"]
    assert [sheet["title"] for sheet in sheets] == ["A: 5.weight", "B: 6.weight", "weight = A · B"]
    assert [(sheet["rows"], sheet["columns"]) for sheet in sheets] == [(3, 1), (1, 2), (3, 2)]
    assert sheets[2]["values"] == [1.0, 10.0, 2.0, 20.0, 3.0, None]
    assert sheets[2]["scale"] == ["1", "20"]


def test_a_large_sheet_is_cut_and_says_so():
    (sheet,) = filled([NodeValue("TorchTensorParameter", np.zeros((2, 50, 70)), ())])["sheets"]
    assert (sheet["rows"], sheet["columns"], len(sheet["values"])) == (64, 64, 64 * 64)
    assert sheet["shape"] == "2×50×70, of which 64×64 are drawn"


def test_small_parameters_of_all_slices_are_shown_together():
    view = filled(WEIGHTS, {"weight, slice 0": np.ones((2, 2))})
    assert [sheet["title"] for sheet in view["overview"]] == ["weight, slice 0"]
