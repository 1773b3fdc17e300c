"""The roles of fields, and the text form of nodes and graphs."""

from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from hypothesis import given
from inline_snapshot import snapshot

from explorer.graph import (
    CONFIG,
    FOLDS,
    NESTED,
    PARAMETER,
    SCOPE,
    Graph,
    config_of,
    field_names,
    graph_text,
    nested_of,
    node_text,
    parameters_of,
    value_text,
)
from tests.strategies import graphs


class Colour(Enum):
    RED = "r"


@dataclass(frozen=True)
class Inner:
    size: int


@dataclass(frozen=True)
class Node:
    units: int
    colour: Colour = field(default=Colour.RED, metadata=CONFIG)
    limit: float | None = None
    num_folds: int = field(default=1, metadata=FOLDS)
    scope: tuple[int, ...] = field(default=(), metadata=SCOPE)
    inner: Inner = field(default=Inner(3), metadata=NESTED)
    weight: object = field(default="W", metadata=PARAMETER)
    bias: object = field(default=None, metadata=PARAMETER)
    shape: tuple[int, ...] = field(default=(), metadata={"role": "derived"})


def test_a_field_without_metadata_is_config():
    assert field_names(Node, "config") == ("units", "colour", "limit")
    assert config_of(Node(2)) == {"units": 2, "colour": Colour.RED, "limit": None}


def test_each_role_lists_its_fields_in_order_of_declaration():
    assert field_names(Node, "parameter") == ("weight", "bias")
    assert [field_names(Node, role) for role in ("scope", "folds", "nested", "derived", "odd")] == [
        ("scope",),
        ("num_folds",),
        ("inner",),
        ("shape",),
        (),
    ]


def test_an_absent_parameter_is_omitted():
    assert parameters_of(Node(2)) == {"weight": "W"}
    assert parameters_of(Node(2, bias="B")) == {"weight": "W", "bias": "B"}


def test_nested_nodes_are_found_by_name():
    assert nested_of(Node(2)) == {"inner": Inner(3)}


def test_the_text_of_a_node_has_folds_config_scope_nested_nodes_and_parameters():
    assert node_text(Node(2, limit=0.5, scope=(1, 4), num_folds=7)) == snapshot(
        "Node[x7](units=2, colour=RED, limit=0.5, scope=(1, 4), inner=Inner(size=3), weight='W')"
    )


def test_config_that_is_none_is_not_shown():
    assert node_text(Node(2)) == snapshot("Node[x1](units=2, colour=RED, scope=(), inner=Inner(size=3), weight='W')")


def test_the_text_of_values():
    values = [Colour.RED, np.zeros((2, 3)), {"a": Colour.RED, "b": 1}, "text", 0.1, None, (1, 2)]
    assert [value_text(v) for v in values] == snapshot(
        ["RED", "array(2, 3)", "{'a': RED, 'b': 1}", "'text'", "0.1", "None", "(1, 2)"]
    )


def test_the_text_of_a_graph_has_a_line_for_each_node_and_one_for_the_outputs():
    graph = Graph({4: Inner(1), 0: Inner(2), 7: Inner(3)}, {4: (), 0: (4, 4), 7: (0, 4)}, (7, 0))
    assert str(graph) == snapshot("""\
%4 = Inner(size=1)
%0 = Inner(size=2)(%4, %4)
%7 = Inner(size=3)(%0, %4)
outputs: %7, %0\
""")


def test_the_text_of_an_empty_graph():
    assert graph_text(Graph({}, {}, ())) == snapshot("outputs: ")


@given(graphs())
def test_graphs_of_equal_text_are_equal(graph):
    lines = str(graph).splitlines()
    assert len(lines) == len(graph) + 1
    same = Graph(dict(graph.nodes), dict(graph.inputs), graph.outputs)
    assert str(same) == str(graph)
    if len(graph):
        assert str(Graph(graph.nodes, graph.inputs, (*graph.outputs, next(iter(graph.nodes))))) != str(graph)
