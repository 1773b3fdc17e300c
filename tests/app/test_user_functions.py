"""FILE.py:FUNCTION: the circuit that a function of the user returns, and what is said if it returns none."""

import json
import sys
from pathlib import Path

import pytest

from explorer.app.circuits import load_circuit, load_circuit_or_trace
from explorer.app.session.library import Library
from explorer.app.session.opening import open_state
from explorer.app.session.reproduce import python_of, tensor_python_of
from explorer.app.session.session import Session
from explorer.app.session.view_state import TensorOptions, ViewState
from explorer.app.user_functions import call_function
from explorer.errors import ConversionError, DataTypeError, UnknownNameError, UserCodeError
from explorer.symbolic import Circuit
from explorer.trace import Trace
from tests.app.commands.running import run

MINE = """
from dataclasses import dataclass
import torch
from torch import nn
from explorer import gallery, record
from explorer.compiler import TorchCompiler
import neighbour

SIZE = 3

@dataclass
class Options:
    name: str = "blackboard"

def build():
    return gallery.load_named(Options().name)

def compiled():
    return TorchCompiler().compile(build())

def traced(preset="handbook"):
    return record(build(), preset=preset)

def lowered():
    return record(nn.Sequential(nn.ReLU(), nn.ReLU()), (torch.ones(3, 4),), level="tensor")

def needs(units, depth=2):
    return build()

def nothing():
    pass

def broken():
    return neighbour.divide(1)

def leaves():
    raise SystemExit(3)
"""

BLOCK = """
import torch
from torch import nn

def build():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.ReLU(), nn.Linear(8, 2)).eval(), (torch.ones(3, 4),)

def alone():
    return build()[0]

def tensor():
    module, (x,) = build()
    return module, x
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """The path of a file of the user, next to a module that it imports."""
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "neighbour.py").write_text("def divide(x):\n    return x / 0\n")
    for name in ("mine", "neighbour"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    path = list(sys.path)
    yield str(tmp_path / "mine.py")
    assert sys.path == path


def test_a_function_returns_a_circuit_and_the_note_says_that_its_code_runs(mine, capsys):
    circuit = load_circuit(f"{mine}:build")
    assert isinstance(circuit, Circuit)
    assert f"running the code in {mine}, which may do anything that you may do" in capsys.readouterr().err


def test_a_function_returns_a_trace_or_a_compiled_circuit(mine):
    assert isinstance(load_circuit_or_trace(f"{mine}:traced"), Trace)
    compiled = load_circuit_or_trace(f"{mine}:compiled")
    assert isinstance(compiled, Trace)
    lower = load_circuit_or_trace(f"{mine}:compiled", "kernels")
    assert isinstance(lower, Trace)
    assert lower.level.name == "kernels"
    with pytest.raises(DataTypeError, match="compiled must return a symbolic circuit here; found a compiled one"):
        load_circuit(f"{mine}:compiled")


@pytest.mark.parametrize(
    ("function", "level", "word"),
    [
        ("traced", "compiled", "optimize/round 1"),
        ("lowered", "compiled", "Canonicalize"),
        ("lowered", "tensor", "Canonicalize"),
        ("compiled", "compiled", "compiled circuit"),
        ("compiled", "tensor", "Canonicalize"),
        ("compiled", "kernels", "slots"),
    ],
)
def test_every_command_takes_a_trace_and_a_compiled_circuit(mine, tmp_path, function, level, word):
    source, at = f"{mine}:{function}", ("--level", level)
    assert word in run("trace", source, *at).output
    assert word in run("show", source, "--steps", *at).output
    timed = run("time", source, "--steps", -1, "--seconds", "0.1", "--device", "cpu", *at).output
    assert "torch " in timed
    run("svg", source, "-o", tmp_path / "a.svg", *at)
    if function == level:  # `html` takes what `svg` takes, and draws every step
        run("html", source, "-o", tmp_path / "a.html", *at)


@pytest.mark.parametrize(
    ("function", "level"),
    [
        ("build", "tensor"),
        ("compiled", "tensor"),
        ("compiled", "kernels"),
        ("traced", "compiled"),
        ("lowered", "tensor"),
    ],
)
def test_time_takes_the_number_of_rows_or_says_that_the_inputs_are_given(mine, tmp_path, function, level):
    out = tmp_path / "run.timing.json"
    fixed = ("--steps", -1, "--seconds", "0.1", "--device", "cpu", "--level", level, "--json", out)
    said = run("time", f"{mine}:{function}", *fixed, "--batch", 7).output
    (found,) = json.loads(out.read_text())["runs"]
    is_fixed = "--batch 7 is not used: " in said
    assert is_fixed == (function == "lowered")
    assert (found["timings"][0]["batch_size"] == 7) == (not is_fixed)


def test_a_trace_of_a_function_is_written_and_the_file_is_printed_again(mine, tmp_path):
    out = tmp_path / "mine.trace.json"
    printed = run("trace", f"{mine}:traced", "-o", out).stdout.partition("\nWrote")[0]
    assert run("trace", out).stdout.split() == printed.split()


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        ("traced", ("trace", "--level", "tensor"), "is a trace at the level compiled, which is not recorded again"),
        ("traced", ("show", "--level", "tensor"), "remove --level tensor, or name the circuit or module itself"),
        ("lowered", ("trace", "--mode", "train", "--no-fold"), "remove --mode, the options for fold, or name"),
        ("compiled", ("trace", "--no-fold"), "returned a compiled circuit, and the compiler is not run on it; remove"),
        ("compiled", ("trace", "--mode", "train"), "--pipeline, --mode and --operators belong to the levels below"),
        ("compiled", ("trace", "-o", "c.trace.json"), "this circuit was compiled before; record the symbolic circuit"),
        ("lowered", ("time", "--modes"), "modes are compared for circuits; this trace is of operators"),
        ("lowered", ("time", "--backends"), "backends are compared for circuits; this trace is of operators"),
        ("lowered", ("sample",), "must return a symbolic circuit here; found a trace"),
        ("compiled", ("train",), "must return a symbolic circuit here; found a compiled one"),
    ],
)
def test_what_a_trace_or_compiled_circuit_lacks_is_said(mine, tmp_path, monkeypatch, function, arguments, message):
    monkeypatch.chdir(tmp_path)
    command, *options = arguments
    assert message in " ".join(run(command, f"{mine}:{function}", *options, code=2).stderr.split())


def test_the_trace_of_a_circuit_at_a_lower_level_is_not_called_a_module(mine, tmp_path):
    out = tmp_path / "low.trace.json"
    run("trace", f"{mine}:build", "--level", "kernels", "-o", out)
    error = " ".join(run("time", out, code=2).stderr.split())
    assert "this trace is at the level kernels, and its kernel calls cannot be run after" in error
    assert "module" not in error


@pytest.mark.parametrize("function", ["traced", "lowered", "compiled"])
def test_the_dashboard_copies_code_that_runs_for_what_a_function_returned(mine, function):
    pytest.importorskip("panel_material_ui", reason="needs panel: pip install 'circuit-explorer[ui]'")
    from explorer.app.dashboard.workspace import Workspace

    name = f"{mine}:{function}"
    library = Library(built={name: load_circuit_or_trace(name)})
    opened = open_state(library, ViewState(circuit=name))
    workspace = Workspace(Session(opened, ViewState(circuit=name)), library, print, print, print)
    found = {}
    exec(workspace.python(), found)
    assert [step.path for step in found["trace"].steps] == [step.path for step in opened.trace.steps]


@pytest.fixture
def block(tmp_path):
    """The path of a file with a function that returns a module and its inputs."""
    (tmp_path / "block.py").write_text(BLOCK)
    return str(tmp_path / "block.py")


@pytest.mark.parametrize(("level", "wanted"), [("compiled", "tensor"), ("tensor", "tensor"), ("program", "program")])
def test_a_function_returns_a_module_with_its_inputs(block, tmp_path, level, wanted):
    out = tmp_path / f"{level}.trace.json"
    output = run("trace", f"{block}:build", "--level", level, "-o", out).output
    assert "Wrote" in output
    trace = Trace.load(out)
    assert trace.level.name == wanted
    assert trace.options["subject"] == "block.py:build"
    assert any(step.changed for step in trace.steps[1:])


def test_every_command_that_draws_or_prints_takes_a_module(block, tmp_path):
    source = f"{block}:build"
    assert "import" in run("show", source, "--steps").output
    assert "aten.linear.default(" in run("show", source, "--graph", "--level", "program").output
    run("svg", source, "-o", tmp_path / "block.svg")
    assert "relu" in (tmp_path / "block.svg").read_text()
    run("html", source, "-o", tmp_path / "block.html")
    assert "<title>block.py:build" in (tmp_path / "block.html").read_text()
    timed = run("time", source, "--seconds", "0.1", "--device", "cpu").output
    assert "import" in timed
    assert "Dots are" not in timed


def test_a_module_is_traced_with_a_pipeline_and_a_mode(block, tmp_path):
    (tmp_path / "one.yaml").write_text("- passName: Canonicalize\n")
    output = run("trace", f"{block}:build", "--pipeline", tmp_path / "one.yaml", "--mode", "train").output
    assert "drop_second_time" in output
    assert "Stabilize" not in output


def test_the_dashboard_opens_a_module_of_a_function_and_copies_its_code(block):
    name = f"{block}:build"
    library = Library(built={name: load_circuit_or_trace(name, "program")})
    opened = open_state(library, ViewState(circuit=name))
    assert opened.tensor.level == "program"
    assert opened.is_live
    code = tensor_python_of(name, opened.options, opened.tensor, 1, is_live=True, is_trace=library.is_trace(name))
    found = {}
    exec(code, found)
    assert [step.path for step in found["trace"].steps] == [step.path for step in opened.trace.steps]


def test_copied_code_of_a_lower_level_runs_the_function_again(mine):
    opened = open_state(
        Library(built={f"{mine}:build": load_circuit_or_trace(f"{mine}:build")}), at_tensor(f"{mine}:build")
    )
    found = {}
    exec(tensor_python_of(f"{mine}:build", opened.options, opened.tensor, 1, is_live=True), found)
    assert len(found["trace"].steps) == len(opened.trace.steps)


def at_tensor(name):
    return ViewState(circuit=name, tensor=TensorOptions(level="tensor"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("trace", "alone"),
            "returned the module Sequential with no example inputs; return both",
        ),
        (("show", "tensor"), "returned the module Sequential with example inputs of type Tensor; return both"),
        (("trace", "build", "--level", "kernels"), "a module has no kernel calls"),
        (
            ("trace", "build", "--preset", "handbook"),
            "remove the options for preset",
        ),
        (("query", "entropy", "build"), "must return a symbolic circuit here; found the module Sequential"),
    ],
)
def test_what_a_module_lacks_is_said(block, arguments, message):
    (at,) = (n for n, word in enumerate(arguments) if word in {"alone", "tensor", "build"})
    named = [f"{block}:{word}" if n == at else word for n, word in enumerate(arguments)]
    assert message in " ".join(run(*named, code=2).stderr.split())


def test_an_error_of_the_user_shows_the_traceback_of_the_user(mine):
    with pytest.raises(UserCodeError) as caught:
        call_function(f"{mine}:broken")
    message = str(caught.value)
    assert message.startswith(f"{mine}:broken: broken() raised ZeroDivisionError; this is its traceback:\nTraceback")
    assert "return neighbour.divide(1)" in message
    assert message.endswith("ZeroDivisionError: division by zero\n")
    assert "user_functions.py" not in message
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_the_traceback_is_shown_for_a_relative_name_too(mine, monkeypatch):
    monkeypatch.chdir(Path(mine).parent)
    with pytest.raises(UserCodeError, match=r"return neighbour\.divide\(1\)"):
        call_function("mine.py:broken")


def test_a_file_that_raises_or_exits_is_named(mine, tmp_path):
    (tmp_path / "odd.py").write_text("import mine\nraise KeyError('x')\n")
    with pytest.raises(UserCodeError, match=r"odd\.py:build: the file raised KeyError(.|\n)*line 2"):
        call_function(f"{tmp_path}/odd.py:build")
    (tmp_path / "text.py").write_text("def build(:\n")
    with pytest.raises(UserCodeError, match=r"the file raised SyntaxError(.|\n)*text\.py"):
        call_function(f"{tmp_path}/text.py:build")
    with pytest.raises(UserCodeError, match=r"leaves\(\) raised SystemExit"):
        call_function(f"{mine}:leaves")


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("nothing", DataTypeError, "must return a circuit or compiled circuit of this package or of cirkit.*NoneType"),
        ("needs", DataTypeError, "must be callable without arguments; it needs units"),
        ("SIZE", DataTypeError, "SIZE is not a function; found int"),
        ("biuld", UnknownNameError, "no function named 'biuld'; known are: Options, build, compiled, traced"),
    ],
)
def test_other_functions_are_refused(mine, name, error, message):
    with pytest.raises(error, match=message):
        call_function(f"{mine}:{name}")


def test_a_missing_file_is_named():
    with pytest.raises(UnknownNameError, match=r"file not found: 'nowhere\.py', which 'nowhere\.py:build' names"):
        load_circuit("nowhere.py:build")
    with pytest.raises(UnknownNameError, match=r"it is not a file, nor FILE\.py:FUNCTION"):
        load_circuit("nowhere")


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("min.py:build", "mine.py"), ("min.py", "mine.py"), ("mine.p", "mine.py"), ("digit", "digits")],
)
def test_a_missing_file_suggests_the_nearest_one_and_no_code_is_announced(mine, monkeypatch, name, nearest):
    monkeypatch.chdir(Path(mine).parent)
    message = run("trace", name, code=2).stderr
    assert f"did you mean {nearest}?" in " ".join(message.split())
    assert "running the code" not in message


def test_a_missing_folder_is_a_missing_file(tmp_path):
    with pytest.raises(UnknownNameError, match=r"file not found: .*; the form is"):
        load_circuit(f"{tmp_path}/none/mine.py:build")


def test_a_file_of_code_without_a_function_says_how_to_name_one(mine):
    with pytest.raises(UnknownNameError, match=rf"returns a circuit, or a module and a tuple .*: {mine}:FUNCTION"):
        load_circuit(mine)


def test_a_file_named_like_a_package_does_not_replace_it(mine, tmp_path):
    (tmp_path / "explorer.py").write_text("def build():\n    from mine import build\n    return build()\n")
    package = sys.modules["explorer"]
    assert isinstance(call_function(f"{tmp_path}/explorer.py:build"), Circuit)
    assert sys.modules["explorer"] is package


def test_the_library_offers_what_a_function_returned(mine):
    name = f"{mine}:build"
    library = Library(built={name: load_circuit_or_trace(name)})
    assert name in library.names()
    assert library.describe(name) == f"what {name} returned"
    opened = open_state(library, ViewState(circuit=name))
    assert opened.trace.steps[0].snapshot.graph


def test_copied_code_runs_the_function_again(mine):
    code = python_of(f"{mine}:build", step=0)
    assert f"circuit = load_circuit('{mine}:build')" in code
    exec(code, {})


CIRKIT = """
from cirkit.pipeline import PipelineContext
from cirkit.templates import tensor_factorizations

CONTEXT = PipelineContext(semiring="sum-product")

def symbolic():
    return tensor_factorizations.cp((2, 2), 2)

def compiled():
    return CONTEXT.compile(symbolic())

def forgotten():
    return PipelineContext().compile(symbolic())

def with_context():
    context = PipelineContext(fold=True)
    return context.compile(symbolic()), context
"""


@pytest.mark.peer
def test_a_function_returns_a_circuit_of_cirkit(tmp_path, monkeypatch):
    pytest.importorskip("cirkit")
    (tmp_path / "theirs.py").write_text(CIRKIT)
    monkeypatch.delitem(sys.modules, "theirs", raising=False)
    source = str(tmp_path / "theirs.py")
    for name in ("symbolic", "compiled", "with_context"):
        assert isinstance(call_function(f"{source}:{name}"), Circuit)
    with pytest.raises(ConversionError, match=r"no longer exists.*; a function may return \(circuit, context\)"):
        call_function(f"{source}:forgotten")


def test_the_name_of_a_file_with_a_colon_is_still_a_file(tmp_path: Path):
    path = tmp_path / "odd.py:build"
    load_circuit("blackboard").save(path)
    assert isinstance(load_circuit(str(path)), Circuit)


def test_commands_do_not_promise_a_cause_that_they_do_not_print(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import torch\ndef wrongshape():\n    return torch.nn.Linear(4, 3), (torch.zeros(2, 5),)\n"
    )
    said = run("trace", f"{tmp_path}/mine.py:wrongshape", code=2).stderr
    assert "same reduction dim" in said
    assert "says more" not in said
