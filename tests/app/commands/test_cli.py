"""The command line: its commands, and errors as one line with exit code 2 and without a traceback."""

import errno
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import typer
from typer import rich_utils

import explorer
from explorer.app.cli import app
from explorer.app.training.checkpoint import Checkpoint
from explorer.learning import loop as training
from explorer.optimize.default_rules import DEFAULT_LAYER_FUSE_OPT_RULES
from explorer.templates import gallery
from explorer.trace import Trace
from tests.app.commands.running import run
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[3]


def test_gallery_lists_every_circuit_with_its_size_and_lesson():
    output = run("gallery").output
    for name in gallery.names():
        assert f" {name} " in output
    for expected in ("5,725", "19,342", "Forty consecutive sums"):
        assert expected in output


def test_a_trace_is_printed_written_and_shown(tmp_path):
    path = tmp_path / "blackboard.trace.json.gz"
    printed = run("trace", "blackboard", "-o", str(path)).output
    assert "optimize/round 1/fuse" in printed
    assert f"circuit-explorer show {path}" in printed
    loaded = Trace.load(path)
    assert str(loaded) in printed
    assert run("show", str(path), "--steps").output.strip() == loaded.table()
    last = run("show", str(path), "--step", "-1").output
    assert f"step {len(loaded.steps) - 1}: {loaded.steps[-1].path}" in last
    assert run("show", str(path), "--step", loaded.steps[3].path).output == run("show", str(path), "--step", "3").output


@pytest.mark.parametrize(
    ("level", "heading", "line"),
    [
        ("compiled", "fuse", "  SumCollapse "),
        ("tensor", "SinkCode: ", "  transpose_below_conv"),
        ("tensor", "OptimizeReduceMean: ", "  "),
        ("program", "PlanMemory: ", ""),
        ("kernels", "slots: ", ""),
    ],
)
def test_rules_lists_the_passes_of_a_level_and_their_rules(level, heading, line):
    lines = run("rules", "--level", level).output.splitlines()
    (at,) = (n for n, text in enumerate(lines) if text.startswith(heading))
    assert line in "\n".join(lines[at:])
    assert len(lines) < 400


def test_no_file_of_another_kind_is_replaced_by_a_trace_or_a_page(tmp_path: Path):
    table = tmp_path / "table.csv"
    table.write_text("a,b\n")
    assert "exists, and a trace is usually named" in run("trace", "blackboard", "-o", str(table), code=2).output
    assert "the name of a page ends in .html or .htm" in run("html", "blackboard", "-o", str(table), code=2).output
    assert table.read_text() == "a,b\n"
    other = table.rename(tmp_path / "table")
    assert "is not named as a page" in run("html", "blackboard", "-o", str(other), code=2).output
    assert other.read_text() == "a,b\n"


def test_show_prints_a_bar_and_a_sentence_for_each_step_that_changed_something(tmp_path):
    path = str(tmp_path / "digits.trace.json")
    run("trace", "digits", "-o", path)
    lines = run("show", path).output.splitlines()
    assert lines[2].split("  ")[1:3] == [" 7", " 86 ██████████▏"]
    assert lines[2].endswith(" 64 equal Categorical layers of level 0 become one: 149 calls → 86.")
    assert [line.split()[:2] for line in lines] == [
        ["0", "170"], ["3", "149"], ["7", "86"], ["8", "23"], ["9", "8"], ["10", "5"],
    ]  # fmt: skip


def test_show_answers_questions(tmp_path):
    path = str(tmp_path / "conflict.trace.json")
    run("trace", "conflict", "-o", path, "--preset", "handbook")
    loaded = Trace.load(path)
    root = loaded.steps[0].snapshot.graph.outputs[0]
    assert "SumCollapse at node" in run("show", path, "--why-not", "SumCollapse", str(root)).output
    assert "matched," in run("show", path, "--near-misses", "Tucker").output
    assert "lost to" in run("show", path, "--conflicts").output
    assert " -> node " in run("show", path, "--folds").output
    assert "symbolic layers: 0" in run("show", path, "--lineage", "0").output
    assert "activation bytes" in run("show", path, "--stats").output
    assert "Candecomp" in run("show", path, "--rules").output
    assert f"%{root} = " in run("show", path, "--step", "0", "--graph").output
    assert "ogether" in run("show", path, "--why-not-folded", "0", "1").output


def test_show_tells_what_each_pass_on_kernel_calls_bought_and_why_it_left_one(tmp_path):
    path = str(tmp_path / "kernels.trace.json.gz")
    run("trace", "digits", "--level", "kernels", "-o", path)
    assert "Table + Sum becomes Table 64 times (combine-tables): 85 calls → 21" in run("show", path).output
    assert "no factor is a normal density" in run("show", path, "--step", "multiply-densities").output
    assert "no factor is a normal density" in run("show", path, "--why-not", "multiply-densities", "148").output
    assert "-> slot 0" in run("show", path, "--graph").output
    run("html", "digits", "--level", "kernels", "-o", str(tmp_path / "page.html"))
    assert "multiply-densities" in (tmp_path / "page.html").read_text()


def test_show_answers_questions_on_a_program(tmp_path):
    path = str(tmp_path / "program.trace.json.gz")
    run("trace", "blackboard", "--level", "program", "-o", path)
    shared = run("show", path, "--step", "ShareBuffers").output
    assert re.search(r"^  ShareBuffers at #\d+ exp$", shared, re.MULTILINE)
    assert "in one block" in run("show", path, "--step", "PlanMemory").output
    assert " = alloc " in run("show", path, "--step", "PlanMemory", "--graph").output
    assert "per example" not in run("show", path, "--stats").output
    memory = Trace.load(path).steps[-1].snapshot.memory
    assert memory is not None
    one, other = memory.buffers[:2]
    answer = run("show", path, "--why-not-shared", str(one.id), str(other.id)).output
    assert "share memory" in answer


def test_a_long_step_says_how_much_is_not_listed(tmp_path):
    path = str(tmp_path / "digits.trace.json")
    run("trace", "digits", "-o", path)
    fuse = ("--step", "optimize/round 1/fuse")
    assert "more rewrites by CategoricalLogSoftmax: show them with --all" in run("show", path, *fuse).output
    assert "more rewrites" not in run("show", path, *fuse, "--all").output


def test_options_of_trace_reach_the_compiler(tmp_path):
    path = tmp_path / "x.trace.json"
    options = ("--preset", "handbook", "--strategy", "first-match", "--levels", "fewest-groups", "--seed", "3")
    run(
        "trace",
        "conflict",
        "-o",
        str(path),
        *options,
        "--max-rounds",
        "7",
        "--disable",
        "Tucker",
        "--disable",
        "LogSoftmax",
    )
    found = Trace.load(path).options
    wanted = {"preset": "handbook", "strategy": "first-match", "levels": "fewest-groups", "seed": 3, "max_rounds": 7}
    assert {name: found[name] for name in wanted} == wanted
    assert found["disable"] == ["Tucker", "LogSoftmax"]
    assert not {"Tucker", "LogSoftmax"} & {rule.name for rule in Trace.load(path).rules}
    run("trace", "conflict", "-o", str(path), "--no-optimize", "--no-fold", "--semiring", "sum-product")
    loaded = Trace.load(path)
    assert [step.path for step in loaded.steps] == ["compile"]
    assert loaded.options["semiring"] == "sum-product"


def test_the_tensor_level_is_traced_by_the_passes_of_a_file(tmp_path):
    pipeline, path = tmp_path / "two.yaml", tmp_path / "x.trace.json"
    pipeline.write_text("- passName: CSE\n- passName: ConstantFold\n")
    run("trace", "conflict", "--level", "tensor", "--pipeline", str(pipeline), "--mode", "train", "-o", str(path))
    loaded = Trace.load(path)
    assert loaded.options["mode"] == "train"
    assert [entry.partition(":")[0] for entry in loaded.options["pipeline"]] == ["CSE", "ConstantFold"]
    assert {step.path.partition("/")[0] for step in loaded.steps} == {"import", "CSE", "ConstantFold"}


def test_a_circuit_file_is_traced_like_a_name(tmp_path):
    gallery.load_named("hmm").save(tmp_path / "hmm.json")
    assert "fold/level" in run("trace", str(tmp_path / "hmm.json")).output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("trace", "nothing"),
            "no circuit 'nothing': it is not a file, nor FILE.py:FUNCTION, and the gallery has digits",
        ),
        (("trace", "digits", "--disable", "Foo"), "no rule named 'Foo'; known are: LogSoftmax"),
        (("trace", "digits", "--semiring", "max"), "no semiring named 'max'"),
        (("trace", "digits", "--max-rounds", "-1"), "max_rounds: expected at least 0, got -1"),
        (("trace", str(ROOT / "pyproject.toml")), "is a text file of an unknown format"),
        (("show", str(ROOT / "pyproject.toml")), "is a text file of an unknown format"),
        (("show", "no-such.trace.json"), "no circuit 'no-such.trace.json': it is not a file"),
        (("train", "blackboard"), "the circuit reads 5 variables"),
        (("train", "digits", "--data", "mnist"), "no data set named 'mnist'"),
        (("train", "digits", "--resume", str(ROOT / "pyproject.toml")), "is not a circuit-explorer checkpoint"),
        (("trace", "conflict", "--level", "kernels", "--mode", "train"), "the level kernels has no --mode; remove it"),
        (("trace", "conflict", "--mode", "train"), "belong to the levels below; add --level tensor or --level program"),
        (("trace", "conflict", "--level", "tensor", "--mode", "fun"), "no mode named 'fun'; known are: infer, train"),
        (("trace", "conflict", "--level", "tensor", "--pipeline", "no.yaml"), "cannot read no.yaml"),
        (("bench", "suite", "L9"), "no benchmark case named 'L9'"),
        (("bench", "suite", "S1", "--only", "mine"), "no entrant named 'mine'; known are: native"),
    ],
)
def test_errors_are_one_line_and_exit_code_2(arguments, message):
    result = run(*arguments, code=2)
    assert "Error: " in result.stderr
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("command", "option", "value"),
    [
        (("train", "digits"), "--threads", "0"),
        (("train", "digits"), "--seed", "9" * 23),
        (("trace", "digits"), "--seed", "-1"),
        (("explore",), "--seed", "9" * 23),
    ],
)
def test_a_number_out_of_range_is_a_usage_error(command, option, value):
    assert f"Invalid value for '{option}'" in run(*command, option, value, code=2).stderr


def test_a_file_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    result = run("trace", "blackboard", "-o", str(tmp_path / "file" / "x.trace.json"), code=2)
    assert result.stderr.startswith("Error: ")
    assert "Traceback" not in result.output


@pytest.mark.filterwarnings("always::explorer.errors.LimitWarning")
def test_a_limit_that_was_hit_is_a_note():
    result = run("trace", "sum-chain", "--max-rounds", "2")
    assert "Note: Stopped optimizing at the limit of 2 rounds; more rewrites were possible." in result.stderr
    assert "! Stopped optimizing at the limit of 2 rounds" in result.stdout


def test_a_rule_that_fails_is_an_error_and_the_trace_up_to_it_is_kept(tmp_path, monkeypatch):
    def broken(compiler, match):
        """Fails."""
        raise ZeroDivisionError("on purpose")

    rules = DEFAULT_LAYER_FUSE_OPT_RULES.rules
    monkeypatch.setitem(rules, "Candecomp", replace(rules["Candecomp"], apply=broken))
    path = tmp_path / "failed.trace.json"
    result = run("trace", "digits", "-o", str(path), code=2)
    assert "the rule Candecomp" in result.stderr
    assert "on purpose" in result.stderr
    assert f"the trace up to the failure is in {path}" in result.stderr
    last = Trace.load(path).steps[-1]
    assert last.path == "optimize/round 1/fuse"
    assert "on purpose" in (last.error or "")
    assert "stopped here: optimize/round 1/fuse: the rule Candecomp" in run("show", str(path)).output


def test_training_writes_a_checkpoint_and_continues_from_it(tmp_path, monkeypatch):
    path = tmp_path / "digits.pt"
    small = ("--epochs", "1", "--batch-size", "512", "--out", str(path), "--threads", "1")
    output = run("train", "digits", "--data", "digits", *small).output
    assert "Independent pixels reach 2.4067" in output
    first = Checkpoint.load(path)
    assert len(first.history) == 1
    run("train", "digits", *small, "--resume", str(path), "--no-fold", "--preset", "handbook")
    second = Checkpoint.load(path)
    assert [epoch.number for epoch in second.history] == [1, 2]
    assert second.history[1].held_out_bits < second.history[0].held_out_bits
    monkeypatch.chdir(tmp_path)
    run("train", "digits", *small[:4], "--threads", "1", "--resume", str(path))
    assert len(Checkpoint.load(path).history) == 3
    assert not (tmp_path / "runs").exists()


def test_ctrl_c_in_training_keeps_the_finished_epochs(tmp_path, monkeypatch):
    whole = training.bits_per_dimension
    calls = []

    def interrupted_in_the_second_epoch(circuit, images, workers):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return whole(circuit, images, workers)

    monkeypatch.setattr(training, "bits_per_dimension", interrupted_in_the_second_epoch)
    path = tmp_path / "digits.pt"
    arguments = ("train", "digits", "--epochs", "5", "--batch-size", "512", "--threads", "1", "--out", str(path))
    result = run(*arguments)
    assert "the values are those after epoch 1" in result.stderr
    assert len(Checkpoint.load(path).history) == 1


def test_ctrl_c_elsewhere_ends_quietly(monkeypatch):
    def stop():
        raise KeyboardInterrupt

    monkeypatch.setattr(gallery, "names", stop)
    result = run("gallery", code=130)
    assert result.stderr.strip() == "Note: stopped"


def test_explore_compiles_trains_and_suggests_next_commands(tmp_path):
    output = run("explore", "--epochs", "2", "--out", str(tmp_path)).output
    assert "2. Its compilation, step by step: 170 layers become 149 in 5 calls." in output
    for expected in ("1. The circuit", "2. Its compilation", "3. Training", "4. Held-out images", "bits per dimension"):
        assert expected in output
    trace_file, checkpoint_file = tmp_path / "digits.trace.json.gz", tmp_path / "digits.pt"
    assert len(Checkpoint.load(checkpoint_file).history) == 2
    assert Trace.load(trace_file).steps
    commands = [line.split()[1:] for line in output.splitlines() if line.startswith("  circuit-explorer show")]
    assert commands
    for command in commands:
        assert run(*command).output


COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_of_every_command_is_shown_as_it_is_written(name, monkeypatch):
    monkeypatch.setattr(rich_utils, "MAX_WIDTH", 300)  # so that no text is broken into lines
    output = run(*filter(None, [name]), "--help").output
    assert "Usage" in output
    for parameter in COMMANDS[name].params if name else ():
        assert (getattr(parameter, "help", None) or "") in " ".join(output.split())


def test_a_command_ends_quietly_when_nobody_reads_its_output_any_more(monkeypatch):
    def broken(*_):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr("explorer.app.commands.queries.print_text", broken)
    assert run("query", "partition", "blackboard", code=1).output == ""


def python(*arguments: str, **environment: str) -> str:
    """Run Python in the repository and return its output; OMP_NUM_THREADS avoids contention on two cores."""
    result = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_traces_without_times_are_equal_byte_for_byte(tmp_path):
    paths = [tmp_path / f"{number}.trace.json" for number in range(2)]
    for path in paths:
        run("trace", "conflict", "--no-times", "-o", str(path))
    assert paths[0].read_bytes() == paths[1].read_bytes()
    run("trace", "conflict", "-o", str(paths[1]))
    assert paths[0].stat().st_size < paths[1].stat().st_size


def test_help_is_quick_because_nothing_heavy_is_loaded():
    code = (
        "import sys, explorer.app.cli; print(*(m for m in ('torch', 'numpy', 'sklearn', 'cirkit') if m in sys.modules))"
    )
    assert python("-c", code).strip() == ""


def test_an_error_of_the_real_command_has_no_traceback():
    result = subprocess.run(
        [sys.executable, "-m", "explorer.app", "trace", "nothing"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: no circuit 'nothing'")


def test_show_compiles_what_is_not_a_trace_and_asks_it_the_same_questions(tmp_path):
    trace, circuit, function = tmp_path / "a.trace.json", tmp_path / "a.circuit.json", tmp_path / "a.py"
    run("trace", "conflict", "-o", str(trace))
    circuit.write_text(json.dumps(gallery.load_named("conflict").to_json()), encoding="utf-8")
    function.write_text(
        "from explorer.templates import load_named\n\ndef build():\n    return load_named('conflict')\n",
        encoding="utf-8",
    )
    said = run("show", str(trace)).stdout
    assert "calls" in said
    for source in ("conflict", str(circuit), f"{function}:build"):
        assert run("show", source).stdout == said
    assert "lost to" in run("show", "conflict", "--conflicts").output
    assert "alloc" in run("show", "conflict", "--level", "program", "--graph").output


def test_show_of_a_module_that_calls_nothing(tmp_path):
    file = tmp_path / "identity.trace.json.gz"
    explorer.record(torch.nn.Identity(), (torch.zeros(2),)).save(file)
    assert " ".join(run("show", str(file)).output.split()) == "0 0 No operator imported: nothing is called."


def test_negative_weights_choose_the_semiring_of_a_trace_unless_told_otherwise(tmp_path):
    out = tmp_path / "sos.trace.json"
    run("trace", "sos", "-o", str(out))
    assert Trace.load(out).options["semiring"] == "complex-lse-sum"
    run("trace", "sos", "-o", str(out), "--semiring", "lse-sum")
    assert Trace.load(out).options["semiring"] == "lse-sum"
