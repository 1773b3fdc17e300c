"""Tensor graphs as plates: an operator is a cell, those of one level with equal names and results are a plate."""

import pytest
import torch
from inline_snapshot import snapshot
from torch import Tensor, nn

import explorer
from explorer.templates import gallery
from explorer.tensor.ir.schemas import overloads
from explorer.tensor.recording.tensor_snapshot import look_of
from explorer.views import TraceIndex, picture
from explorer.views.plates.cells import plates_of
from explorer_widgets.schema import NodeView, PictureView


class Attention(nn.Module):
    """Three products with the same left factor, which a pass merges."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(16, 16) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.query(x), self.key(x), self.value(x)
        return self.out(torch.softmax(query @ key.transpose(-1, -2) / 4, -1) @ value)


@pytest.fixture(scope="module")
def index() -> TraceIndex:
    return TraceIndex(explorer.record(Attention().eval(), (torch.zeros(2, 8, 16),)))


def drawn(view: PictureView) -> list[tuple[str, str, int, str, str, str]]:
    """Title, kind, number of cells and the words of each plate."""
    plates = [(node, node["plate"]) for node in view["nodes"] if "plate" in node]
    return [
        (node["title"], node["kind"], len(plate["cells"]), plate["calls"], plate["news"], plate["shape"])
        for node, plate in plates
    ]


def cells_in(node: NodeView) -> list[int]:
    return node["plate"]["cells"] if "plate" in node else []


def test_the_legend_speaks_of_no_folds_where_operators_are_not_folded(index: TraceIndex) -> None:
    view = picture(index, 0, group_by="plates").view
    assert [item["text"] for item in view["legend"] if (item["channel"], item["role"]) == ("line", "edge")] == ["read"]


def test_equal_operators_of_a_level_are_cells_of_one_plate(index: TraceIndex) -> None:
    view = picture(index, 0, group_by="plates").view
    assert view["group_by"] == "plates"
    assert drawn(view) == snapshot(
        [
            ("Input", "input", 1, "", "", "x f32[2,8,16]"),
            ("linear", "matmul", 3, "3 calls", "", "f32[2,8,16]"),
            ("transpose", "view", 1, "", "", "f32[2,16,8]"),
            ("matmul", "matmul", 1, "", "", "f32[2,8,8]"),
            ("div", "operator", 1, "", "", "f32[2,8,8]"),
            ("softmax", "operator", 1, "", "", "f32[2,8,8]"),
            ("matmul", "matmul", 1, "", "", "f32[2,8,16]"),
            ("linear", "matmul", 1, "", "", "f32[2,8,16]"),
        ]
    )
    assert view["note"] == snapshot("10 nodes in 8 plates: 9 calls.")
    assert sum(plate.num_calls for plate in plates_of(index, 0).plates) == index.trace.stats(0)["operators"] == 9


def test_merged_products_move_into_the_one_that_replaces_them(index: TraceIndex) -> None:
    merged = index.step("MergeMatMulOnLHS").index
    view = picture(index, merged, group_by="plates").view
    assert [line for line in drawn(view) if line[4]] == snapshot(
        [
            ("linear", "matmul", 1, "", "was 3 × linear", "f32[2,8,48]"),
            ("split_with_sizes", "view", 1, "", "was 3 × linear", "f32[2,8,16], f32[2,8,16] ... (3 in all)"),
        ]
    )
    before = [cell for node in picture(index, 0, group_by="plates").view["nodes"] for cell in cells_in(node)]
    origins = view.get("origins", [])
    assert origins == snapshot([[24, 10, 11, 16], [25, 10, 11, 16]])
    assert {cell for _, *removed in origins for cell in removed} <= set(before)


def test_a_whole_layer_of_a_circuit_looks_like_the_layer_and_is_a_call() -> None:
    trace = explorer.record(gallery.load_named("blackboard"), level="program", operators="circuit")
    view = picture(TraceIndex(trace), 0, group_by="plates").view
    layers = [line for line in drawn(view) if line[1] in ("input", "sum", "product", "fused")]
    assert layers == snapshot(
        [
            ("Input", "input", 1, "", "", "x i64[8,5]"),
            ("Categorical", "input", 1, "", "", "f32[5,8,2]{2,10,1}"),
            ("CPT", "fused", 1, "", "", "f32[2,8,2]"),
            ("CPT", "fused", 1, "", "", "f32[1,8,2]"),
            ("CPT", "fused", 1, "", "", "f32[1,8,1]"),
        ]
    )
    assert view["note"] == snapshot("17 instructions in 17 plates: 7 calls.")


def test_operators_that_differ_only_in_what_they_select_are_one_plate() -> None:
    class Sum(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.stack([x[:, i].exp() for i in range(5)])

    index = TraceIndex(explorer.record(Sum(), (torch.zeros(3, 5),)))
    assert [(line[0], line[2], line[3]) for line in drawn(picture(index, 0, group_by="plates").view)] == snapshot(
        [("Input", 1, ""), ("select", 5, "5 calls"), ("exp", 5, "5 calls"), ("stack", 1, "")]
    )


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(("linear", "matmul"), ("bmm", "matmul"), ("convolution", "matmul")),
        *(("view", "view"), ("select.int", "view"), ("index_select", "view"), ("cat", "view"), ("expand", "view")),
        *(("add.Tensor", "operator"), ("sum", "operator"), ("softmax.int", "operator")),
    ],
)
def test_operators_that_compute_nothing_look_different_from_those_that_do(name: str, kind: str) -> None:
    assert look_of(overloads(name)[0]) == (kind, name.partition(".")[0])
