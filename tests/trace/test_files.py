"""Trace files: round trips, stable bytes, and files that are not traces."""

import gzip
import json
import subprocess
import sys

import pytest
import torch

import explorer
from explorer.errors import CircuitError, FileFormatError
from explorer.templates import gallery

NAMES = ["blackboard", "conflict", "near-misses", "kronecker", "hmm"]


@pytest.mark.parametrize("name", NAMES)
def test_a_loaded_trace_holds_the_same_graphs_matches_and_answers(name, tmp_path):
    trace = explorer.record(gallery.load_named(name))
    trace.save(tmp_path / "trace.json.gz")
    loaded = explorer.Trace.load(tmp_path / "trace.json.gz")
    assert str(loaded) == str(trace)
    for step in trace.steps:
        assert str(loaded.graph_at(step.index)) == str(trace.graph_at(step.index))
        assert loaded.figures(step.index) == trace.figures(step.index)
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


def test_saving_a_loaded_trace_gives_the_same_bytes(tmp_path):
    explorer.record(gallery.load_named("conflict")).save(tmp_path / "a.json")
    explorer.Trace.load(tmp_path / "a.json").save(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_two_runs_under_different_hash_seeds_give_equal_bytes_without_times(tmp_path):
    code = (
        "import sys, explorer; from explorer.templates import gallery; "
        "explorer.record(gallery.load_named('near-misses')).save(sys.argv[1], times=False)"
    )
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for seed, file in zip(("1", "77"), files, strict=True):
        subprocess.run([sys.executable, "-c", code, str(file)], check=True, env={"PYTHONHASHSEED": seed})
    assert files[0].read_bytes() == files[1].read_bytes()


def test_times_stand_in_a_part_of_their_own(tmp_path):
    trace = explorer.record(gallery.load_named("blackboard"))
    trace.save(tmp_path / "with.json")
    trace.save(tmp_path / "without.json", times=False)
    with_times = json.loads((tmp_path / "with.json").read_text())
    del with_times["times"]
    assert with_times == json.loads((tmp_path / "without.json").read_text())


def test_a_loaded_trace_has_no_tensors_and_says_how_to_get_them(tmp_path):
    trace = explorer.record(gallery.load_named("blackboard"), preset="handbook", seed=3)
    trace.save(tmp_path / "trace.json")
    loaded = explorer.Trace.load(tmp_path / "trace.json")
    with pytest.raises(CircuitError, match=r"explorer.rerun\(trace\)"):
        loaded.circuit_at(-1)
    again = explorer.rerun(loaded)
    x = torch.zeros(1, 5, dtype=torch.long)
    assert torch.equal(again.compiled(x), trace.compiled(x))
    assert [step.path for step in again.steps] == [step.path for step in trace.steps]


def test_unknown_fields_are_passed_over(tmp_path):
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
        (b"[1, 2]", "it holds a list"),
        (b'{"format": "something else"}', "wanted format 'circuit-explorer trace', found 'something else'"),
        (b'{"format": "circuit-explorer trace", "version": 99}', "found 99: use a newer program"),
        (b'{"format": "circuit-explorer trace", "version": 1}', "not a whole trace"),
        (gzip.compress(b"{}", mtime=0)[:-4], "truncated"),
    ],
)
def test_a_foreign_truncated_or_newer_file_is_a_typed_error(content, message, tmp_path):
    file = tmp_path / "trace.json"
    file.write_bytes(content)
    with pytest.raises(FileFormatError, match=message):
        explorer.Trace.load(file)


def test_a_file_that_is_not_there_is_a_typed_error(tmp_path):
    with pytest.raises(FileFormatError, match="cannot read"):
        explorer.Trace.load(tmp_path / "none.json")


@pytest.mark.parametrize("part", ["nodes", "steps", "parameters", "rules"])
def test_a_trace_that_lost_a_part_is_a_typed_error(part, tmp_path):
    file = tmp_path / "trace.json"
    explorer.record(gallery.load_named("blackboard")).save(file)
    data = json.loads(file.read_text())
    data[part] = data[part][:1] if part != "rules" else "none"
    if part == "steps":
        del data["steps"][0]["added"]
    file.write_text(json.dumps(data))
    with pytest.raises(FileFormatError, match="not a whole trace"):
        explorer.Trace.load(file)


def test_import_explorer_loads_neither_torch_nor_a_user_interface():
    code = "import sys, explorer; print([m for m in ('torch', 'panel', 'bokeh', 'ipywidgets') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert result.stdout.strip() == "[]"
