"""Lineage down to buffers: what came of a layer, and which layers instructions and buffers come from."""

import base64
import json
import struct
from itertools import chain
from typing import Any

import pytest
import torch

import explorer
from explorer.errors import FileFormatError, UnknownNameError
from explorer.templates import gallery
from explorer.trace import Trace, trace_from_json
from explorer.trace.layers import ids_text
from explorer.trace.trace_files import trace_to_json
from explorer.views import TraceIndex, details
from explorer.views.buffers import state_of_buffers
from tests.views.showing import section


@pytest.fixture(scope="module")
def digits():
    return explorer.record(gallery.load_named("digits"), level="program")


def test_a_symbolic_layer_is_followed_to_instructions_and_buffers(digits):
    assert str(digits.parts_of_layer(168)).splitlines() == [
        "CPT layer 254:",
        "  symbolic layers: 168, 169",
        "  nodes: #108, #109, #118, #166, #185, #276, #277",
        "  buffers: %219, %220",
    ]
    assert str(digits.parts_of_layer(70)).splitlines()[2:] == [
        "  nodes: #31, #35, #36, #47, #270, #271",
        "  buffers: %194, %195, %199",
    ]
    lowered = digits.parts_of_layer(70, "lower")
    assert (lowered.nodes, lowered.buffers) == ((31, 35, 36, 37, 38, 47, 48, 49), tuple(range(194, 202)))
    assert digits.parts_of_layer(256).nodes == digits.parts_of_layer(70).nodes  # it was folded into this one


def test_a_buffer_is_followed_back_to_the_symbolic_layers(digits):
    assert digits.layers_of(219) == ("layer.254",)
    assert digits.layers[254].symbolic == (168, 169)
    stack = next(node for node, one in digits.graph_at(-1).nodes.items() if one.title == "log+add")
    assert digits.layers_of(stack) == ("layer.256",)
    assert sorted(chain.from_iterable(one.symbolic for one in digits.layers.values())) == list(range(170))


def test_every_instruction_and_buffer_of_inference_comes_from_one_layer(digits):
    graph, memory = digits.graph_at(-1), digits.steps[-1].snapshot.memory
    numbers = [*(node for node in graph.nodes if node not in graph.inputs or graph.inputs[node]), *memory.order]
    for number in (*numbers, *(buffer.id for buffer in memory.buffers)):
        if graph.nodes.get(number) is None or graph.nodes[number].title not in ("copy", "Input"):
            assert len(digits.layers_of(number)) == 1, number


def test_views_name_the_layer_of_an_instruction_and_of_a_buffer(digits):
    index, last = TraceIndex(digits), len(digits.steps) - 1
    shown = state_of_buffers(index, last)
    assert shown is not None
    assert [(one["label"], one["kind"]) for one in shown["layers"]] == [
        ("Categorical layer 255", "input"),
        ("Sum layer 256", "sum"),
        ("CPT layer 257", "fused"),
        ("CPT layer 258", "fused"),
        ("CPT layer 254", "fused"),
    ]
    spans = [(one["start"], one["end"]) for one in shown["layers"]]
    assert [start for start, _ in spans] == [0, *(end for _, end in spans[:-1])]
    assert shown["layers"][-1]["text"] == (
        "CPT layer 254, made from symbolic layers 168, 169: 6 instructions #108, #109, #118, #185, #276, #277"
    )
    assert "64 symbolic layers, 64 to 142" in shown["layers"][1]["text"]
    text = next(one["text"] for one in shown["buffers"] if one["id"] == 199)
    assert text.endswith("; written by #47 bmm of Sum layer 256, alive until #50 index_select")
    assert section(details(index, last, (277,)), "Layer")["rows"] == [
        ["layer", "CPT layer 254"],
        ["made from", "symbolic layers 168, 169"],
        ["its instructions", "#108, #109, #118, #166, #185, #276, #277"],
        ["its buffers", "%219, %220"],
    ]


def test_a_saved_notebook_has_the_buffers_as_image_and_text(digits):
    pytest.importorskip("anywidget", reason="needs anywidget: pip install 'circuit-explorer[ui]'")
    widget: Any = explorer.show(digits, step=len(digits.steps) - 1)
    shown = json.loads(str(widget.picture))["buffers"]
    assert shown["planned"]
    assert shown["layers"][0]["label"] == "Categorical layer 255"
    assert shown["reasons"]
    saved = widget._repr_mimebundle_()
    assert isinstance(saved, tuple)
    data, metadata = saved
    size = metadata["image/png"]
    assert struct.unpack(">II", base64.b64decode(data["image/png"])[16:24]) == (2 * size["width"], 2 * size["height"])
    text = data["text/plain"]
    assert "18 buffers, each drawn at its place in 66 KiB, the least possible: that much is alive at once." in text
    assert all(buffer["text"] in text for buffer in shown["buffers"])


def test_modules_are_followed_by_their_paths():
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(8, 3)))
    trace = explorer.record(net, (torch.randn(5, 4),), level="program")
    first, inner = trace.parts_of_layer("0"), trace.parts_of_layer("1")
    assert first.paths == ("0",)
    assert inner.paths == ("1.0", "1.1")
    assert not set(first.nodes) & set(inner.nodes)
    assert trace.layers == {}
    with pytest.raises(UnknownNameError, match="nothing here comes from layer 10"):
        trace.parts_of_layer("10")


def test_a_file_has_the_layers(digits):
    data = trace_to_json(digits)
    loaded: Trace = trace_from_json(data)
    assert loaded.layers == digits.layers
    assert loaded.parts_of_layer(70) == digits.parts_of_layer(70)
    with pytest.raises(FileFormatError, match="layers"):
        trace_from_json({**data, "layers": [[1, "Sum", 3]]})


def test_what_is_not_there_is_an_error(digits):
    with pytest.raises(UnknownNameError, match="no node #7777, and no buffer %7777"):
        digits.layers_of(7777)
    with pytest.raises(UnknownNameError, match="layer 7777"):
        digits.parts_of_layer(7777)


def test_ids_are_listed_as_ranges():
    assert ids_text((1, 2, 5, 6, 7, 9), "#") == "#1, #2, #5 to #7, #9"
    assert ids_text(()) == "none"
    assert ids_text(tuple(range(0, 60, 2))).endswith("22 ... (30 in all)")
