"""Records of nodes, and paths of steps."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from torch import Tensor

import explorer
from explorer.backend import Semiring, TorchInnerLayer
from explorer.templates import gallery
from explorer.trace import StepPath, parse_path, record_of


@dataclass(frozen=True, slots=True, eq=False)
class Average(TorchInnerLayer):
    """A custom layer."""

    kind = "sum"

    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        return x.mean(1)

    @property
    def flops(self) -> int:
        return self.arity * self.num_input_units


def test_a_custom_layer_has_the_kind_that_its_class_declares():
    record = record_of(Average(num_input_units=2, num_output_units=2, arity=3), str)
    assert (record.kind, record.title) == ("sum", "Average")


def test_layers_have_the_kinds_of_their_classes():
    trace = explorer.record(gallery.load_named("blackboard"))
    kinds = [{node.title: node.kind for node in trace.graph_at(step).nodes.values()} for step in (0, -1)]
    assert kinds == [
        {"Categorical": "input", "Hadamard": "product", "Sum": "sum"},
        {"Categorical": "input", "CPT": "fused"},
    ]


@pytest.mark.parametrize(
    ("text", "pass_name", "round_", "part", "words"),
    [
        ("compile", "compile", None, 1, "compile"),
        ("optimize/round 2/fuse", "fuse", 2, 1, "fuse, round 2"),
        ("fold/level 3", "fold", None, 1, "fold, level 3"),
        ("SinkCode (2)/round 1, part 3", "SinkCode", 1, 3, "SinkCode (2), round 1, part 3"),
        ("Canonicalize/round 1/constant_making", "constant_making", 1, 1, "constant_making, round 1"),
    ],
)
def test_a_path_knows_its_pass_round_and_part(text, pass_name, round_, part, words):
    path = parse_path(text)
    assert str(path) == text
    assert (path.pass_name, path.round, path.part, path.words) == (pass_name, round_, part, words)


def test_steps_have_fields_and_a_path_that_prints():
    for step in explorer.record(gallery.load_named("conflict")).steps:
        assert isinstance(step.at, StepPath)
        assert parse_path(step.path) == step.at
