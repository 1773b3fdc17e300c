"""Trace files: round trips, stable bytes, and files that are not traces."""

import gzip
import json
import subprocess
import sys
from dataclasses import replace

import pytest
import torch

import explorer
from explorer.errors import CircuitError, FileFormatError
from explorer.graph import Graph
from explorer.optimize.default_rules import preset_rules
from explorer.symbolic import CategoricalLayer, Circuit, HadamardLayer, Layer, Parameterization
from explorer.symbolic.operators import concatenate
from explorer.templates import gallery
from explorer.trace.file_types import CIRCUIT_FIELDS, FIELDS
from explorer.trace.trace_files import trace_to_json

NAMES = ["blackboard", "conflict", "near-misses", "kronecker", "hmm"]


@pytest.mark.parametrize("name", NAMES)
def test_a_loaded_trace_holds_the_same_graphs_matches_and_answers(name, tmp_path):
    trace = explorer.record(gallery.load_named(name))
    trace.save(tmp_path / "trace.json.gz")
    loaded = explorer.Trace.load(tmp_path / "trace.json.gz")
    assert str(loaded) == str(trace)
    for step in trace.steps:
        assert str(loaded.graph_at(step.index)) == str(trace.graph_at(step.index))
        assert loaded.stats(step.index) == trace.stats(step.index)
        assert loaded.step(step.index).matches == step.matches
        assert loaded.step(step.index).rewrites == step.rewrites
        assert loaded.step(step.index).lost == step.lost
    assert [str(x) for x in loaded.near_misses()] == [str(x) for x in trace.near_misses()]
    assert [str(x) for x in loaded.conflicts()] == [str(x) for x in trace.conflicts()]
    assert [str(x) for x in loaded.fold_groups()] == [str(x) for x in trace.fold_groups()]
    assert [str(x) for x in loaded.missed_folds()] == [str(x) for x in trace.missed_folds()]
    assert loaded.rule_stats() == trace.rule_stats()
    for node in trace.graph_at(0).nodes:
        assert loaded.lineage(node) == trace.lineage(node)


def test_output_named_twice_is_one_output_of_a_folded_graph_also_in_a_file(tmp_path):
    circuit = gallery.load_named("conflict")
    trace = explorer.record(concatenate(circuit, circuit), optimize=False)
    trace.save(tmp_path / "twice.json")
    loaded = explorer.Trace.load(tmp_path / "twice.json")
    for step in trace.steps:
        assert loaded.graph_at(step.index).outputs == trace.graph_at(step.index).outputs


def test_saving_a_loaded_trace_reproduces_the_same_bytes(tmp_path):
    explorer.record(gallery.load_named("conflict")).save(tmp_path / "a.json")
    explorer.Trace.load(tmp_path / "a.json").save(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_times_are_stored_separately(tmp_path):
    trace = explorer.record(gallery.load_named("blackboard"))
    trace.save(tmp_path / "with.json")
    trace.save(tmp_path / "without.json", times=False)
    with_times = json.loads((tmp_path / "with.json").read_text())
    del with_times["times"]
    assert with_times == json.loads((tmp_path / "without.json").read_text())


def test_a_loaded_trace_without_tensors_explains_how_to_get_them(tmp_path):
    trace = explorer.record(gallery.load_named("blackboard"), preset="handbook", seed=3)
    trace.save(tmp_path / "trace.json")
    loaded = explorer.Trace.load(tmp_path / "trace.json")
    with pytest.raises(CircuitError, match=r"explorer.rerun\(trace\)"):
        loaded.circuit_at(-1)
    again = explorer.rerun(loaded)
    x = torch.zeros(1, 5, dtype=torch.long)
    assert torch.equal(again.compiled(x), trace.compiled(x))
    assert [step.path for step in again.steps] == [step.path for step in trace.steps]


def test_a_missing_folder_is_created_and_a_file_in_the_way_is_a_typed_error(tmp_path):
    trace = explorer.record(gallery.load_named("blackboard"))
    trace.save(tmp_path / "new" / "folder" / "trace.json.gz")
    assert str(explorer.Trace.load(tmp_path / "new" / "folder" / "trace.json.gz")) == str(trace)
    with pytest.raises(FileFormatError, match=r"cannot write .*trace.json.gz.below.json: "):
        trace.save(tmp_path / "new" / "folder" / "trace.json.gz" / "below.json")


def test_the_compiled_circuit_of_a_loaded_or_failed_trace_is_a_typed_error(tmp_path):
    trace = explorer.record(gallery.load_named("blackboard"))
    trace.save(tmp_path / "trace.json")
    loaded = explorer.Trace.load(tmp_path / "trace.json")
    assert (trace.is_live, loaded.is_live) == (True, False)
    with pytest.raises(CircuitError, match=r"loaded from a file and holds no tensors; explorer.rerun\(trace\)"):
        loaded.compiled(torch.zeros(1, 5, dtype=torch.long))
    failed = replace(trace, executable=None, steps=(replace(trace.steps[0], error="too large"),))
    with pytest.raises(CircuitError, match="the compilation failed, so there is no compiled circuit: too large"):
        _ = failed.compiled


def test_all_fields_that_are_written_are_read():
    circuit = replace(concatenate(*[gallery.load_named("conflict")] * 2), columns=("a", "b", "c", "d"))
    data = trace_to_json(explorer.record(circuit, level="kernels"))
    assert {*FIELDS, "format", "version"} >= set(data)
    assert set(FIELDS) == set(trace_to_json(explorer.record(circuit))) - {"format", "version"} | {"layers", "tried"}
    assert set(CIRCUIT_FIELDS) == set(circuit.to_json()) | {"labels", "column_values"}


def test_unknown_fields_are_ignored(tmp_path):
    file = tmp_path / "trace.json"
    explorer.record(gallery.load_named("blackboard")).save(file)
    data = json.loads(file.read_text())
    data["colour"] = "green"
    data["steps"][0]["mood"] = "calm"
    file.write_text(json.dumps(data))
    assert len(explorer.Trace.load(file).steps) == len(data["steps"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a circuit-explorer trace file"),
        (b"{", "truncated"),
        (b"[1, 2]", "it contains a list"),
        (b'{"format": "something else"}', "expected format 'circuit-explorer trace', found 'something else'"),
        (b'{"format": "circuit-explorer trace", "version": 99}', "found 99: use a newer program"),
        (b'{"format": "circuit-explorer trace", "version": 1}', "found 1: make the file again"),
        (b'{"format": "circuit-explorer trace", "version": 2}', "not a whole trace"),
        (gzip.compress(b"{}", mtime=0)[:-4], "truncated"),
    ],
)
def test_a_foreign_truncated_or_newer_file_is_a_typed_error(content, message, tmp_path):
    file = tmp_path / "trace.json"
    file.write_bytes(content)
    with pytest.raises(FileFormatError, match=message):
        explorer.Trace.load(file)


def test_a_missing_file_is_a_typed_error(tmp_path):
    with pytest.raises(FileFormatError, match="cannot read"):
        explorer.Trace.load(tmp_path / "none.json")


@pytest.mark.parametrize("part", ["nodes", "steps", "parameters", "rules"])
def test_a_trace_with_a_missing_part_is_a_typed_error(part, tmp_path):
    file = tmp_path / "trace.json"
    explorer.record(gallery.load_named("blackboard")).save(file)
    data = json.loads(file.read_text())
    data[part] = data[part][:1] if part != "rules" else "none"
    if part == "steps":
        del data["steps"][0]["added"]
    file.write_text(json.dumps(data))
    with pytest.raises(FileFormatError, match="not a whole trace"):
        explorer.Trace.load(file)


def first(data, part):
    """The first nonempty entry of this name in a step."""
    return next(step[part] for step in data["steps"] if step[part])


def dangling_loser(data):
    first(data, "lost")[0][0] = 99


def dangling_winner(data):
    first(data, "lost")[0][1] = -98


def dangling_rewrite(data):
    first(data, "rewrites")[0][0] = 9999


def removed_that_never_was(data):
    first(data, "rewrites")[0][2] = [9999]


def added_that_never_came(data):
    first(data, "rewrites")[0][3] = [9999]


def match_of_nothing(data):
    first(data, "matches")[0][2] = [9999]


def member_that_never_was(data):
    first(data, "folds")[0]["members"] = [9999]


def folded_node_that_never_came(data):
    first(data, "folds")[0]["node"] = 9999


def folds_as_text(data):
    data["nodes"][0]["folds"] = "x"


def level_below_nothing(data):
    first(data, "folds")[0]["level"] = 50


def options_as_list(data):
    data["options"] = [1]


def options_that_lack_one(data):
    del data["options"]["semiring"]


def rule_of_no_kind(data):
    data["rules"][0]["kind"] = "odd"


@pytest.mark.parametrize(
    "spoil",
    [
        dangling_loser,
        dangling_winner,
        dangling_rewrite,
        removed_that_never_was,
        added_that_never_came,
        match_of_nothing,
        member_that_never_was,
        folded_node_that_never_came,
        folds_as_text,
        level_below_nothing,
        options_as_list,
        options_that_lack_one,
        rule_of_no_kind,
    ],
)
def test_a_reference_to_nothing_is_a_typed_error_when_the_file_is_read(spoil, tmp_path):
    file = tmp_path / "trace.json"
    explorer.record(gallery.load_named("conflict")).save(file)
    data = json.loads(file.read_text())
    spoil(data)
    file.write_text(json.dumps(data))
    with pytest.raises(FileFormatError, match="not a whole trace"):
        explorer.Trace.load(file)


def test_a_trace_of_a_circuit_with_sparse_ids_loads(tmp_path):
    layers: dict[int, Layer] = {
        number: CategoricalLayer(scope=(v,), num_output_units=2, num_categories=2, probs=Parameterization()((2, 2)))
        for v, number in enumerate((1_000_000, 2_000_000))
    }
    layers[3_000_000] = HadamardLayer(num_input_units=2, num_output_units=2)
    inputs = {1_000_000: (), 2_000_000: (), 3_000_000: (1_000_000, 2_000_000)}
    trace = explorer.record(Circuit(Graph(layers, inputs, (3_000_000,))))
    trace.save(tmp_path / "sparse.json")
    assert str(explorer.Trace.load(tmp_path / "sparse.json")) == str(trace)


def test_running_again_without_the_guards_of_the_trace_is_refused():
    unguarded = explorer.record(gallery.load_named("hmm"), rules=preset_rules("handbook"))
    with pytest.raises(CircuitError, match=r"rules of the trace differ from those of its preset: .*SumCollapse"):
        explorer.rerun(unguarded)


def test_a_loaded_trace_knows_which_rules_had_guards(tmp_path):
    trace = explorer.record(gallery.load_named("blackboard"))
    assert {rule.name for rule in trace.rules if rule.guarded} >= {"SumCollapse", "CategoricalLogSoftmax"}
    trace.save(tmp_path / "trace.json")
    assert explorer.Trace.load(tmp_path / "trace.json").rules == trace.rules


def test_a_live_trace_runs_again_on_its_own_circuit():
    trace = explorer.record(gallery.load_named("blackboard"), disable=["Tucker"])
    again = explorer.rerun(trace)
    assert again.subject is trace.subject
    assert again.options == trace.options


def test_import_explorer_loads_neither_torch_nor_a_user_interface():
    code = "import sys, explorer; print([m for m in ('torch', 'panel', 'bokeh', 'ipywidgets') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert result.stdout.strip() == "[]"
