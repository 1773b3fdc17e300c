"""The graph of a step for Graphviz."""

from typing import get_args

import torch
from inline_snapshot import snapshot

import explorer
from explorer.templates import gallery
from explorer.trace.records import NodeKind
from explorer.trace.text import SHAPES


def test_the_source_names_layers_shapes_and_edges():
    trace = explorer.record(gallery.load_named("kronecker"))
    assert trace.to_graphviz("compile").source == snapshot("""\
digraph compile {
	graph [rankdir=BT]
	node [fontname="sans-serif" fontsize=11 margin="0.12,0.06"]
	edge [arrowsize=0.6]
	0 [label="Categorical
#0 256×2" shape=ellipse]
	1 [label="Categorical
#1 256×2" shape=ellipse]
	2 [label="Sum
#2 256×256" shape=box style=rounded]
	3 [label="Sum
#3 256×256" shape=box style=rounded]
	4 [label="Hadamard
#4" shape=octagon]
	5 [label="Sum
#5 1×256" peripheries=2 shape=box style=rounded]
	0 -> 2
	1 -> 3
	2 -> 4
	3 -> 4
	4 -> 5
}
""")


def test_every_kind_of_node_has_a_shape():
    assert set(SHAPES) == set(get_args(NodeKind))


def test_the_instructions_of_a_program_are_drawn():
    trace = explorer.record(torch.nn.Linear(2, 3).eval(), (torch.zeros(1, 2),), level="program")
    assert 'label="linear' in trace.to_graphviz("lower").source


def test_a_loaded_trace_gives_the_same_source(tmp_path):
    trace = explorer.record(gallery.load_named("conflict"))
    trace.save(tmp_path / "conflict.trace.json")
    loaded = explorer.Trace.load(tmp_path / "conflict.trace.json")
    assert loaded.to_graphviz().source == trace.to_graphviz().source
    assert loaded.to_graphviz(0).source != loaded.to_graphviz().source
