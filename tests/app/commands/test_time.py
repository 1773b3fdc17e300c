"""`circuit-explorer time` prints tables, bottlenecks and conditions, writes a readable file, and reports errors."""

import itertools
import os

import pytest

import explorer
from explorer import bench
from explorer.runtime.native import build, library
from explorer.templates import gallery
from tests.app.commands.running import run as run_command
from tests.runtime.circuits import has_compiler

QUICK = ("--batch", "4", "--seconds", "0.2", "--device", "both")


def run(*arguments: str, code: int = 0):
    return run_command("time", *arguments, code=code).output


def test_every_part_is_printed_and_written(tmp_path):
    path = tmp_path / "a.timing.json"
    output = run("blackboard", *QUICK, "--modes", "--backends", "--layers", "--sweep", "--json", str(path))
    for expected in (
        "Forward pass after each step",
        "against unoptimized",
        "Gain of each step on the CPU",
        "optimized and folded",
        "Where the time goes on the CPU, after all steps",
        "The calls one by one take",
        "batch 1,024",
        "threads: 1 thread on the CPU",
        f"Wrote {path}",
    ):
        assert expected in output, expected
    runs = bench.load_runs(path)
    assert [timed.subject for timed in runs] == ["steps", "modes", "backends", "layers", "sweep"]
    assert {timed.circuit for timed in runs} == {"blackboard"}
    if (why := bench.why_no_cuda()) is not None:
        assert f"No CUDA: {why}" in output
        words = " ".join(output.split())
        assert words.count(why) == 1, "it is said once, not by each part"
        assert "No times on" not in words
        assert "No crossover of CPU and CUDA" not in words


@pytest.mark.parametrize(("level", "steps"), [("compiled", "0"), ("kernels", "0"), ("kernels", "-1")])
def test_the_times_of_layers_name_a_step_only_if_others_follow(level: str, steps: str) -> None:
    words = " ".join(run("blackboard", *QUICK, "--layers", "--steps", steps, "--level", level).split())
    assert (", after all steps" in words) is (steps == "-1")
    assert ("CPU, after step 0: " in words) is (steps == "0")


def test_cuda_alone_is_an_error_where_there_is_none(monkeypatch):
    monkeypatch.setattr("explorer.bench.why_no_cuda", lambda: "it is in another room")
    assert "--device cuda needs a CUDA device: it is in another room" in run("blackboard", "--device", "cuda", code=2)


def test_a_table_without_times_says_why(monkeypatch):
    monkeypatch.setattr("explorer.bench.why_no_cuda", lambda: None)
    monkeypatch.setattr("explorer.bench.measurement_run.why_no_cuda", lambda: "it left the room")
    words = " ".join(run("blackboard", "--device", "cuda", "--modes", "--sweep").split())
    assert words.count("No times on CUDA: it left the room.") == 3
    assert "was not measured" not in words
    assert "neither launch-bound" not in words
    assert "Note: No CUDA: it left the room." in words


def test_one_step_has_no_gain():
    assert "Gain of each step" not in run("blackboard", *QUICK, "--steps", "0")


def test_a_trace_file_is_compiled_again_with_its_options(tmp_path):
    path = tmp_path / "blackboard.trace.json"
    explorer.record(gallery.load_named("blackboard"), preset="handbook").save(path)
    out = tmp_path / "b.timing.json"
    run(str(path), *QUICK, "--steps", "0,-1", "--training", "--json", str(out))
    (timed,) = bench.load_runs(out)
    assert (timed.kind, timed.options["preset"], timed.circuit) == ("training", "handbook", "blackboard.trace.json")
    assert [timing.step for timing in timed.on("cpu")] == [0, len(explorer.Trace.load(path).steps) - 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing",), "no circuit 'nothing'"),
        (("blackboard", "--device", "tpu"), "no device named 'tpu'; known are: cpu, cuda, both"),
        (("blackboard", "--steps", "fuze"), "no step named 'fuze'"),
        (("blackboard", "--steps", ","), "--steps must be all, or numbers or paths separated by commas"),
        (("blackboard", "--seconds", "0"), "--seconds must be above 0"),
    ],
)
def test_invalid_arguments_are_reported_in_a_line(arguments, message):
    assert message in run(*arguments, code=2)


@has_compiler
def test_kernels_that_are_compiled_for_the_first_time_are_noted(tmp_path, monkeypatch):
    (compiler := tmp_path / "cxx").write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && exit 0\nfor last; do :; done\ncp \'{build.library_path()}\' "$last"\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setenv("CIRCUIT_EXPLORER_CACHE", str(tmp_path / "cache"))
    found = []
    for _ in range(2):
        for remembered in (build._version, library.load_library):
            remembered.cache_clear()
        found.append(run_command("time", "blackboard", *QUICK, "--backends").stderr)
    library.load_library.cache_clear()
    assert [text.count("Note: compiling the native kernels for this processor, once") for text in found] == [1, 0]


def test_a_busy_machine_is_noted_once_whatever_its_load_is_later(monkeypatch):
    loads = itertools.count(1000)
    monkeypatch.setattr(os, "getloadavg", lambda: (float(next(loads)), 0.0, 0.0), raising=False)
    found = run("blackboard", *QUICK, "--layers", "--modes")
    assert found.count("Note: the machine is busy (load 100") == 1
    assert found.count("the machine is busy") == 1
    assert "Dots" not in found, "a table has none"
