"""Trace files with one wrong value: a typed error that says where, or a trace that every view can show."""

import gzip
import json
import random
from contextlib import suppress
from functools import cache
from itertools import islice
from typing import Any
from xml.dom import minidom

import pytest
import torch

import explorer
from explorer import files
from explorer.backend.addressing import ReadKind
from explorer.errors import CircuitError, FileFormatError
from explorer.files import MAX_VARIABLE, json_of_bytes
from explorer.symbolic import circuit_from_json
from explorer.templates import gallery
from explorer.trace.file_types import READ_KINDS
from explorer.trace.trace_files import trace_to_json
from explorer.trace.trace_reading import trace_from_json
from explorer.views import TraceIndex, picture, static_svg
from explorer.views.closeup.parameters import _expression
from explorer.views.fold_level import READS
from tests.fuzzing import seeded
from tests.trace.showing_everything import show_everything

WRONG = (
    *(None, -1, 0, 1, 3, 12, 10**9, 1.5, "x", "", "12.weight", "a.b", [], {}, [1], [[0, 0]], True, {"a": 1}),
    *(2**24 - 1, 2**31, 2**53, "\ud800", "\x1b[31m", 1e308, float("nan"), [[[[[1]]]]], "module", [0], [0, 1], "rw"),
)
LEVELS = ("tensor", "program", "kernels")
SUBJECTS = ("blackboard", "conflict", "near-misses", *LEVELS)


@cache
def text_of(name: str) -> str:
    """A trace file of a circuit of the gallery, or of a small module at a lower level."""
    if name == "kernels":
        return json.dumps(trace_to_json(explorer.record(gallery.load_named("conflict"), level=name)))
    if name in LEVELS:
        module = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.ReLU()).eval()
        return json.dumps(trace_to_json(explorer.record(module, (torch.zeros(1, 1, 4, 4),), level=name)))
    return json.dumps(trace_to_json(explorer.record(gallery.load_named(name))))


def spoil(data: Any, random: random.Random) -> None:
    """Remove a value anywhere in the data, or replace it."""
    parent: Any = None
    key: Any = None
    value = data
    while isinstance(value, dict | list) and value and (parent is None or random.random() < 0.93):
        parent, key = value, random.choice(list(value) if isinstance(value, dict) else range(len(value)))
        value = parent[key]
    assert parent is not None
    if random.random() < 0.1:
        del parent[key]
    elif isinstance(value, int) and random.random() < 0.3:
        parent[key] = value + random.choice((-1, 1, 2))
    else:
        parent[key] = random.choice(WRONG)


@seeded(25)
@pytest.mark.parametrize("name", SUBJECTS)
def test_a_file_with_one_wrong_value_is_a_typed_error_or_can_be_shown(name, seed, tmp_path):
    data = json.loads(text_of(name))
    spoil(data, random.Random(seed))
    try:
        trace = trace_from_json(json_of_bytes(json.dumps(data).encode(), "trace", "a file"))
    except FileFormatError:
        return
    if trace.steps:
        show_everything(trace, tmp_path)


@seeded(100)
@pytest.mark.parametrize("name", ["blackboard", "conflict"])
def test_a_circuit_file_with_one_wrong_value_is_a_typed_error_or_can_be_compiled(name, seed):
    data = json.loads(json.dumps(gallery.load_named(name).to_json()))
    spoil(data, random.Random(seed))
    with suppress(CircuitError):
        circuit = circuit_from_json(json_of_bytes(json.dumps(data).encode(), "circuit", "a file"))
        str((circuit, circuit.is_deterministic, explorer.record(circuit))).encode()


def odd_path(data: Any) -> None:
    next(step for step in data["steps"] if step["rewrites"])["rewrites"][0][4] = "weight"


def odd_stage(data: Any) -> None:
    data["steps"][3]["stages"] = "fuse"


def node_of_a_refusal(data: Any) -> None:
    next(step for step in data["steps"] if step["refusals"])["refusals"][0]["node"] = 12_000


def owner_that_never_was(data: Any) -> None:
    next(step for step in data["steps"] if step["rewrites"])["rewrites"][0][4] = "9999.weight"


def error_in_the_middle(data: Any) -> None:
    data["steps"][1]["error"] = "too early"


def slice_that_never_was(data: Any) -> None:
    next(group for step in data["steps"] for group in step["folds"] if "read" in group)["read"]["index"][0][0][1] = 50


def unknown_rule(data: Any) -> None:
    next(step for step in data["steps"] if step["matches"])["matches"][0][0] = "NoRule"


def second_member(data: Any) -> None:
    group = next(group for step in data["steps"] for group in step["folds"] if len(group["members"]) > 1)
    group["members"][1] = group["members"][0]


def far_variable(data: Any) -> None:
    next(node for node in data["nodes"] if "scope" in node)["scope"][0][0] = 2**31


def many_slices(data: Any) -> None:
    next(node for node in data["nodes"] if "scope" not in node)["folds"] = 12


def kind_of_a_read(data: Any) -> None:
    next(group for step in data["steps"] for group in step["folds"] if "read" in group)["read"]["kind"] = "shuffle"


def questions_of_one_entry(data: Any) -> None:
    next(rule for rule in data["rules"] if len(rule["questions"]) > 1)["questions"].pop()


def entry_that_never_was(data: Any) -> None:
    next(step for step in data["steps"] if step["refusals"])["refusals"][0]["entry"] = 7


def parameter_that_reads_itself(data: Any) -> None:
    data["parameters"][0]["nodes"][0][3] = [0]


def parameter_without_output(data: Any) -> None:
    data["parameters"][0]["outputs"] = []


def module_that_is_a_number(data: Any) -> None:
    data["nodes"][0]["about"] = {"modules": [["layer.1"]]}


def nested_nodes(data: Any) -> None:
    inner: Any = data["nodes"][0]
    for _ in range(300):
        inner["nested"] = {"layer": {name: value for name, value in data["nodes"][0].items() if name != "nested"}}
        inner = inner["nested"]["layer"]


def nested_refusals(data: Any) -> None:
    inner: Any = next(step for step in data["steps"] if step["refusals"])["refusals"][0]
    for _ in range(300):
        inner["inner"] = [{name: value for name, value in inner.items() if name != "inner"}]
        inner = inner["inner"][0]


def nested_data(data: Any) -> None:
    value: Any = 1
    for _ in range(300):
        value = [value]
    data["nodes"][0]["config"]["anything"] = value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (odd_path, r"'weight' is not the path of a parameter, such as 12.weight"),
        (odd_stage, r"steps\[3\].stages is 'fuse'; expected a list"),
        (node_of_a_refusal, r"node 12000 does not exist before step \d+ \(.*\), which names it"),
        (owner_that_never_was, r"node 9999 does not exist before step \d+"),
        (error_in_the_middle, r"step 1 \(.*\) failed, but is not the last step"),
        (slice_that_never_was, r"reads slice 50 of node \d+, which has fewer"),
        (unknown_rule, r"names the rule NoRule, which the trace does not have"),
        (second_member, r"folds a layer twice"),
        (far_variable, rf"scope\[0\]\[0\] is 2147483648; expected an integer from 0 to {MAX_VARIABLE}"),
        (many_slices, r"has 12 slices in step 0 \(compile\); expected 1"),
        (kind_of_a_read, r"read.kind is 'shuffle'; expected one of view, slice"),
        (questions_of_one_entry, r"entries, and questions of"),
        (entry_that_never_was, r"names entry 7 of"),
        (parameter_that_reads_itself, r"nodes\[0\] reads a node that is not before it"),
        (parameter_without_output, r"parameters\[0\] has no output"),
        (module_that_is_a_number, r"about.modules\[0\] is \['layer.1'\]; expected a string"),
        (nested_nodes, r"expected at most 8 nodes inside each other"),
        (nested_refusals, r"expected at most 8 refusals inside each other"),
        (nested_data, r"config.anything\.?.* expected data that is at most 8 levels deep"),
    ],
)
def test_the_error_names_the_step_and_the_wrong_reference(change, message):
    data = json.loads(text_of("blackboard"))
    change(data)
    with pytest.raises(FileFormatError, match=f"trace data: not a whole trace: .*{message}"):
        trace_from_json(data)


def test_a_parameter_graph_that_shares_nodes_is_described_in_bounded_time():
    """Written out, the expression would have 2^200 operands."""
    data = json.loads(text_of("blackboard"))
    for form in data["parameters"]:
        first = form["nodes"][0]
        form["nodes"] = [first, *(["TorchSumParameter", 1, {}, [at, at]] for at in range(200))]
        form["outputs"] = [[200, 0]]
    for node in data["nodes"]:
        for parameter in node.get("parameters", {}).values():
            parameter["leaves"] = [parameter["leaves"][0], *([] for _ in range(200))]
    index = TraceIndex(trace_from_json(data))
    graph = index.trace.steps[0].snapshot.graph
    assert any(record.parameters for record in graph.nodes.values())
    for record in graph.nodes.values():
        for parameter in record.parameters.values():
            assert len("".join(islice(_expression(parameter, 200), 100))) < 5_000


@pytest.mark.parametrize("text", ['{"a": "\\ud800"}', '{"\\udfff": 1}', '{"a": "\\ude00\\ud83d"}'])
def test_half_a_character_is_not_read(text):
    with pytest.raises(FileFormatError, match="surrogates not allowed"):
        json_of_bytes(text.encode(), "trace", "a file")
    assert json_of_bytes(rb'{"a": "\ud83d\ude00"}', "trace", "a file") == {"a": "😀"}


def test_a_small_file_does_not_unpack_to_more_than_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_UNPACKED_BYTES", 2**20)
    path = tmp_path / "bomb.trace.json.gz"
    path.write_bytes(gzip.compress(b" " * 2**21))
    with pytest.raises(FileFormatError, match=r"unpacks to more than 1 MB, the limit for this file"):
        explorer.Trace.load(path)


def test_the_kinds_of_reads_are_those_of_the_compiler_and_of_the_words():
    assert list(READ_KINDS) == list(READS) == [kind.value for kind in ReadKind]


ESCAPE = "\x1b[31m\x9b1m"


def escaped(data: Any) -> Any:
    """Return data with an escape sequence at the end of each string."""
    if isinstance(data, dict):
        return {key: escaped(value) for key, value in data.items()}
    if isinstance(data, list):
        return [escaped(value) for value in data]
    return data + ESCAPE if isinstance(data, str) else data


def test_what_is_printed_of_a_trace_does_not_control_the_terminal():
    data = json.loads(text_of("near-misses"))
    for row in data["nodes"]:
        row["title"] += ESCAPE
    for step in data["steps"]:
        step["notes"] = [f"red{ESCAPE}"]
        for refusal in step["refusals"]:
            refusal |= {key: escaped(refusal[key]) for key in ("wanted", "found", "what") if key in refusal}
    trace = trace_from_json(data)
    node = min(trace.graph_at(-1).nodes)
    near = str(trace.near_misses())
    printed = (str(trace), str(trace.graph_at(-1)), str(trace.lineage(node)), near)
    assert not any(character in text for text in printed for character in "\x1b\x9b")
    for text in (printed[0], printed[1], near):
        assert "\\x1b[31m\\x9b1m" in text


def test_a_refusal_of_a_trace_does_not_control_the_terminal():
    data = json.loads(text_of("near-misses"))
    with pytest.raises(FileFormatError) as raised:
        trace_from_json({**data, "rules": escaped(data["rules"])})
    assert "\\x1b[31m" in str(raised.value)
    assert "\x1b" not in str(raised.value)


def test_a_step_of_an_unknown_level_is_refused_when_it_is_read():
    data = json.loads(text_of("conflict"))
    data["steps"][1]["level"] = "x"
    with pytest.raises(FileFormatError, match=r"steps\[1\]\.level is 'x'; expected one of compiled, tensor"):
        trace_from_json(data)


@pytest.mark.parametrize("columns", [5, "abc", [1], None])
def test_columns_that_are_no_names_are_refused_when_a_trace_is_read(columns: object):
    data = json.loads(text_of("conflict"))
    data["circuit"]["columns"] = columns
    with pytest.raises(FileFormatError, match=r"circuit\.columns"):
        trace_from_json(data)


def test_columns_with_control_characters_are_drawn_as_text():
    data = json.loads(text_of("conflict"))
    data["circuit"]["columns"] = ["a\x1b[31m\0", "<b>"]
    drawn = static_svg(picture(TraceIndex(trace_from_json(data)), 0, group_by="none"))
    assert minidom.parseString(drawn.encode()).documentElement is not None
    assert "a\\x1b[31m\\x00" in drawn
