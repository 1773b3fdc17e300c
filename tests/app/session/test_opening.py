"""Opening a view state: from the gallery, from a file as recorded, compiled again, or ended by an error."""

import json
from typing import Any

import pytest

import explorer
from explorer.app.session.library import Library
from explorer.app.session.opening import circuit_of, open_state, open_trace
from explorer.app.session.pattern_form import LayerForm, PatternForm
from explorer.app.session.view_state import ViewState
from explorer.errors import CircuitError, UnknownNameError
from explorer.options import CompilerOptions
from explorer.templates import gallery
from explorer.trace import StepStarted, Trace


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("files")
    explorer.record(gallery.load_named("conflict"), strategy="first-match").save(folder / "c.trace.json")
    gallery.load_named("blackboard").save(folder / "b.circuit.json")
    data = json.loads((folder / "c.trace.json").read_text())
    data["circuit"] = None
    (folder / "bare.trace.json").write_text(json.dumps(data))
    return Library(folder)


def form(name: str, *types: str) -> str:
    return json.dumps(PatternForm(name, tuple(LayerForm(kind) for kind in types)).to_json())


def rewrites(trace: Trace) -> list[str]:
    return [rewrite.rule for step in trace.steps for rewrite in step.rewrites]


def test_a_circuit_of_the_gallery_is_compiled_with_the_options() -> None:
    options = CompilerOptions(fold=False, disable=("Candecomp",))
    opened = open_state(Library(), ViewState(circuit="blackboard", options=options))
    assert (opened.name, opened.options, opened.error, opened.is_live) == ("blackboard", options, "", True)
    assert opened.trace.options["fold"] is False
    assert "Candecomp" not in rewrites(opened.trace)
    assert opened.index.trace is opened.trace


def test_a_trace_of_a_file_is_shown_as_it_was_recorded(library: Library) -> None:
    opened = open_state(library, ViewState(circuit="c.trace.json", options=CompilerOptions(fold=False)))
    assert not opened.is_live
    assert opened.options == CompilerOptions(strategy="first-match")
    assert opened.trace.fold_groups()


def test_a_trace_from_a_file_is_recompiled_on_request(library: Library) -> None:
    recorded = open_state(library, ViewState(circuit="c.trace.json"))
    same = open_state(library, ViewState(circuit="c.trace.json", again=True, options=recorded.options))
    assert same.is_live
    assert rewrites(same.trace) == rewrites(recorded.trace)
    other = open_state(library, ViewState(circuit="c.trace.json", again=True))
    assert other.is_live
    assert other.trace.options["strategy"] == "largest-match"


def test_a_trace_without_its_circuit_can_be_seen_and_not_be_compiled(library: Library) -> None:
    opened = open_state(library, ViewState(circuit="bare.trace.json"))
    assert len(opened.trace.steps) > 3
    with pytest.raises(CircuitError, match="the trace contains no circuit; record the circuit again"):
        circuit_of(opened.trace)
    with pytest.raises(CircuitError, match="contains no circuit"):
        open_state(library, ViewState(circuit="bare.trace.json", again=True, options=CompilerOptions(fold=False)))


def test_an_unknown_name_is_an_error(library: Library) -> None:
    with pytest.raises(UnknownNameError, match=r"no circuit or trace named 'nothing'; known are: digits, .*b\.circuit"):
        open_state(library, ViewState(circuit="nothing"))


@pytest.mark.parametrize(
    ("option", "value"),
    [("preset", "x"), ("semiring", "x"), ("strategy", "x"), ("levels", "x"), ("disable", ("x",)), ("skip", ("x",))],
)
def test_an_invalid_option_is_a_typed_error(option: str, value: Any) -> None:
    with pytest.raises(CircuitError):
        open_state(Library(), ViewState(circuit="blackboard", options=CompilerOptions(**{option: value})))


def test_a_rule_that_fails_leaves_the_trace_up_to_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any, **fields: Any) -> None:
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr("explorer.optimize.default_rules.apply_op", broken)
    opened = open_state(Library(), ViewState(circuit="sum-chain"))
    assert "SumCollapse" in opened.error
    assert "on purpose" in opened.error
    assert opened.trace.steps[-1].error is not None
    assert not opened.trace.steps[0].error


def test_the_listener_receives_every_step_and_can_stop_by_raising() -> None:
    events: list[object] = []
    state = ViewState(circuit="blackboard", options=CompilerOptions(seed=99))  # no other test has it open to share
    opened = open_state(Library(), state, events.append)
    assert [event.path for event in events if isinstance(event, StepStarted)] == [s.path for s in opened.trace.steps]

    class EnoughError(Exception):
        pass

    def listener(event: object) -> None:
        if isinstance(event, StepStarted) and event.path.startswith("fold"):
            raise EnoughError

    del opened  # otherwise its trace would be shared, and nothing compiled
    with pytest.raises(EnoughError):
        open_state(Library(), state, listener)


def test_forms_are_applied_one_after_the_other() -> None:
    first = form("Mine", "TorchSumLayer", "TorchHadamardLayer")
    second = form("Yours", "TorchSumLayer", "TorchHadamardLayer")
    plain = open_state(Library(), ViewState(circuit="digits"))
    assert "Candecomp" in rewrites(plain.trace)
    once = open_state(Library(), ViewState(circuit="digits", form=(first,), replacement=("one layer",)))
    assert rewrites(once.trace).count("Mine") == 21
    twice = open_state(
        Library(), ViewState(circuit="digits", form=(first, second), replacement=("one layer", "one layer"))
    )
    rules = [rule.name for rule in twice.trace.rules]
    assert rules.index("Yours") < rules.index("Mine")
    assert rewrites(twice.trace).count("Yours") == 21
    assert twice.is_live


@pytest.mark.parametrize(
    ("text", "replacement"),
    [
        ("not json", "one layer"),
        ("{}", "one layer"),
        (form("Mine", "NoLayer"), "one layer"),
        (form("Mine", "TorchSumLayer"), "no such rule"),
        (form("Candecomp", "TorchSumLayer", "TorchHadamardLayer"), "one layer"),
    ],
)
def test_an_invalid_form_is_a_typed_error(text: str, replacement: str) -> None:
    with pytest.raises(CircuitError):
        open_state(Library(), ViewState(circuit="blackboard", form=(text,), replacement=(replacement,)))


def test_an_existing_trace_is_opened_with_its_options() -> None:
    trace = explorer.record(gallery.load_named("blackboard"), fold=False)
    opened, place = open_trace(trace, "mine")
    assert opened.trace is trace
    assert (place.circuit, place.options, place.step) == ("mine", CompilerOptions(fold=False), 0)
