"""The tensor level of a circuit, opened from a link as the dashboard does."""

from dataclasses import replace
from functools import cache

import pytest

from explorer.app.session.library import Library
from explorer.app.session.opening import open_state
from explorer.app.session.reproduce import tensor_python_of
from explorer.app.session.session import Session
from explorer.app.session.view_state import TensorOptions, ViewState, view_state_of_query
from explorer.app.training.checkpoint import Checkpoint
from explorer.compiler import TorchCompiler
from explorer.errors import CircuitError, FileFormatError, UnknownNameError
from explorer.options import CompilerOptions
from explorer.symbolic import Circuit
from explorer.templates import load_named
from explorer.trace import TENSOR, Trace

PLACE = ViewState(circuit="conflict", tensor=TensorOptions(level=TENSOR), step=2)
SHORT = replace(PLACE, tensor=TensorOptions(TENSOR, passes=("CSE", "ConstantFold:until_fixed_point"), one_by_one=True))


@cache
def opened_at(place):
    """Return the trace that a link opens, recorded once: leave it as it is."""
    return open_state(Library(), place)


@pytest.fixture(scope="module")
def opened():
    return opened_at(PLACE)


def test_a_link_holds_level_passes_and_mode():
    assert PLACE.query() == "circuit=conflict&step=2&level=tensor"
    for place in (
        PLACE,
        SHORT,
        replace(PLACE, tensor=TensorOptions(TENSOR, compile_for="train", operators="circuit")),
    ):
        assert view_state_of_query(place.query()) == place


@pytest.mark.parametrize("query", ["level=buffers", "level=tensor&compile_for=fun", "level=tensor&operators=whole"])
def test_an_unknown_level_mode_or_kind_of_operators_in_a_link_is_an_error(query):
    with pytest.raises(UnknownNameError, match="known are"):
        view_state_of_query(f"circuit=conflict&{query}")


def test_a_circuit_is_opened_at_the_tensor_level(opened):
    assert opened.trace.level.name == "tensor"
    assert opened.is_live
    assert opened.tensor.level == TENSOR
    stats = [opened.trace.stats(step)["operators"] for step in (0, -1)]
    assert stats[1] < stats[0]
    assert all(check.ok for check in opened.trace.check())


def test_a_session_steps_selects_and_inspects(opened):
    session = Session(opened, PLACE)
    changing = [step.index for step in opened.trace.steps if step.changed]
    assert len(changing) >= 4
    for step in changing:
        session.go(step)
        box = session.picture().view["nodes"][0]["id"]
        session.select([box])
        details = session.details()
        assert details is not None
        assert details["sections"][0]["rows"][0][0] == "id"
    assert session.state.tensor.level == TENSOR


def test_the_passes_of_a_link_are_run():
    trace = opened_at(SHORT).trace
    passes = {step.path.split("/")[0].split(",")[0] for step in trace.steps}
    assert passes == {"import", "CSE", "ConstantFold"}
    assert all(len(step.rewrites) <= 1 for step in trace.steps)


def test_an_unknown_pass_in_a_link_is_an_error_that_lists_the_known():
    with pytest.raises(UnknownNameError, match=r"no pass named 'Nothing'.*CSE"):
        open_state(Library(), replace(PLACE, tensor=TensorOptions(TENSOR, passes=("Nothing",))))


def test_a_file_of_the_tensor_level_is_opened_and_not_run_again(opened, tmp_path):
    path = tmp_path / "conflict.trace.json.gz"
    opened.trace.save(path)
    library = Library(tmp_path)
    read = open_state(library, ViewState(circuit=path.name))
    assert read.tensor.level == TENSOR
    assert not read.is_live
    assert Session(read, ViewState(circuit=path.name, step=2)).picture().view["nodes"]
    with pytest.raises(CircuitError, match="record it again in Python"):
        open_state(library, ViewState(circuit=path.name, again=True))


def test_the_code_of_a_checkpoint_loads_it(tmp_path):
    path = tmp_path / "learned.pt"
    compiled = TorchCompiler(seed=7).compile(load_named("conflict"))
    Checkpoint("conflict", {}, "digits", compiled.leaf_state()).save(path)
    made: dict[str, object] = {}
    exec(tensor_python_of(str(path), CompilerOptions(), PLACE.tensor, 1, is_live=True), made)
    assert isinstance(made["trace"], Trace)
    with pytest.raises(FileFormatError, match=r"explorer\.load reads checkpoints"):
        Circuit.load(path)


@pytest.mark.parametrize("place", [PLACE, SHORT], ids=["the default passes", "passes of the link"])
def test_the_code_makes_the_same_trace(place, capsys):
    made: dict[str, object] = {}
    exec(tensor_python_of("conflict", CompilerOptions(), place.tensor, 1, is_live=True), made)
    trace = made["trace"]
    assert isinstance(trace, Trace)
    wanted = opened_at(place).trace
    assert [step.summary for step in trace.steps] == [step.summary for step in wanted.steps]
    assert str(trace.graph_at(-1)) == str(wanted.graph_at(-1))
    assert "import" in capsys.readouterr().out
