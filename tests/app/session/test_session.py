"""A session: its notifications, the selection across steps, and up-to-date pictures."""

from dataclasses import replace
from typing import Any

import pytest

import explorer
from explorer.app.session.library import Library
from explorer.app.session.opening import Opened, open_state
from explorer.app.session.sending_ahead import open_drawn
from explorer.app.session.session import KEPT_PICTURES, Session
from explorer.app.session.view_state import DisplayOptions, ViewState
from explorer.errors import CircuitError, UnknownNameError
from explorer.options import CompilerOptions
from explorer.templates import gallery
from explorer.timings import PartTime, estimate
from explorer.trace import StepCheck
from explorer.views import PatternTrial, SlidesName
from tests.views.score.compiling import compiled

FUSE, LEVEL_0, LEVEL_1 = "optimize/round 1/fuse", "fold/level 0", "fold/level 1"


@pytest.fixture(scope="module")
def digits() -> Opened:
    return open_state(Library(), ViewState(circuit="digits"))


@pytest.fixture(scope="module")
def blackboard() -> Opened:
    return open_state(Library(), ViewState(circuit="blackboard"))


class Events(list[frozenset[str]]):
    """Records the notifications of a session."""

    def __init__(self, session: Session) -> None:
        self.stop = session.listen(self.append)

    def only(self) -> set[str]:
        """Return the notifications since the last call, merged."""
        (names,) = self
        self.clear()
        return set(names)


def node_box(session: Session, node: int) -> str:
    return next(box for box, nodes in session.boxes.items() if node in nodes)


def test_going_to_a_step_notifies_of_the_step_and_a_changed_selection(digits: Opened) -> None:
    session = Session(digits, ViewState())
    events = Events(session)
    session.go(FUSE)
    assert (session.step, events.only()) == (3, {"step"})
    session.go(3)
    assert events == []
    session.select([node_box(session, 170)])
    assert events.only() == {"selection"}
    session.go(-1)
    assert session.step == len(digits.trace.steps) - 1
    assert events.only() == {"step", "selection"}
    events.stop()
    session.go(0)
    assert events == []


def test_a_state_of_the_same_trace_is_shown_as_it_was(digits: Opened) -> None:
    session = Session(digits, ViewState())
    session.go(FUSE)
    session.change_look(mode="after")
    session.select([node_box(session, 234)])
    then = session.state
    session.go(0)
    session.change_look(mode="diff")
    events = Events(session)
    session.show(then)
    assert session.state == then
    assert events.only() == {"step", "selection", "look", "trial"}
    session.show(replace(then, step=1_000, selection=("nothing",)))
    assert (session.step, session.selection) == (len(digits.trace.steps) - 1, ())


def test_an_unknown_step_changes_nothing(digits: Opened) -> None:
    session = Session(digits, ViewState(step=3))
    events = Events(session)
    for step in (99, -99, "fold/level 99"):
        with pytest.raises(UnknownNameError):
            session.go(step)
    assert (session.step, events) == (3, [])


def test_selecting_ignores_unknown_and_repeated_boxes(digits: Opened) -> None:
    session = Session(digits, ViewState())
    events = Events(session)
    first, second, *_ = session.boxes
    session.select([second, "nothing", first, second])
    assert (session.selection, events.only()) == ((second, first), {"selection"})
    session.select([second, first])
    assert events == []
    session.select([])
    assert (session.selection, events.only()) == ((), {"selection"})


def test_the_selection_follows_a_fuse_to_the_layer_that_was_made(digits: Opened) -> None:
    session = Session(digits, ViewState(look=DisplayOptions(group_by="none", mode="after", everything=True)))
    step = digits.trace.step(FUSE)
    rewrite = next(rewrite for rewrite in step.rewrites if rewrite.rule == "Candecomp")
    session.go(step.index - 1)
    session.select_nodes(rewrite.removed)
    assert len(session.selection) == len(rewrite.removed) == 2
    session.go(step.index)
    assert session.selected_nodes == rewrite.added
    session.go(step.index - 1)
    assert set(session.selected_nodes) == set(rewrite.removed)


def test_the_box_that_was_selected_last_is_inspected_whatever_the_order_of_the_picture(digits: Opened) -> None:
    session = Session(digits, ViewState(step=3))
    first, *_, last = session.boxes
    session.select([last, first])
    inspected = session.inspected_nodes
    session.change_look(colour_by="kind")
    assert session.selection == (last, first)
    session.go(4)
    assert session.inspected_nodes == inspected


def test_the_selection_follows_a_layer_into_its_fold_and_back(digits: Opened) -> None:
    session = Session(digits, ViewState(look=DisplayOptions(group_by="none", mode="after", everything=True)))
    step = digits.trace.step(LEVEL_1)
    group = next(group for group in step.folds if len(group.members) > 1)
    session.go(step.index - 1)
    session.select_nodes([group.members[5]])
    session.go(step.index)
    assert session.selected_nodes == (group.node,)
    session.go(step.index - 1)
    assert group.members[5] in session.selected_nodes


def test_a_link_may_name_a_step_or_near_misses_that_the_trace_lacks(digits: Opened) -> None:
    session = Session(digits, ViewState(step=10**6, look=DisplayOptions(near_misses="NoPattern")))
    assert session.step == len(digits.trace.steps) - 1
    assert session.look == DisplayOptions()
    assert Session(digits, ViewState(look=DisplayOptions(near_misses="Candecomp"))).look.near_misses == "Candecomp"


@pytest.mark.parametrize(
    ("slides", "step", "wanted"),
    [
        ("fold", 0, ("fold", 7, "diff")),
        ("match", 9, ("match", 3, "before")),
        ("steps", 5, ("steps", 3, "diff")),
    ],
)
def test_a_link_may_name_only_a_slide(
    digits: Opened, slides: SlidesName, step: int, wanted: tuple[object, ...]
) -> None:
    look = DisplayOptions(mode="side", group_by="none", slides=slides)
    session = Session(digits, ViewState(step=step, look=look))
    assert (session.look.slides, session.step, session.look.mode) == wanted
    assert session.picture().view["group_by"] == "plates"


def test_a_trace_opens_in_the_grouping_of_its_level_unless_the_link_names_another() -> None:
    opened = Opened("mlp", compiled(), CompilerOptions())
    assert Session(opened, ViewState()).picture().view["group_by"] == "score"
    look = DisplayOptions(group_by="fold")
    assert Session(opened, ViewState(look=look)).picture().view["group_by"] == "fold"
    session = Session(opened, ViewState())
    session.change_look(group_by="plates")
    assert session.picture().view["group_by"] == "plates"


@pytest.mark.parametrize("step", [0, 1])
def test_a_link_to_one_of_several_operators_opens_that_of_its_step(step: int) -> None:
    opened = open_state(Library(), ViewState(circuit="squared"))
    session = Session(opened, ViewState(step=step, look=DisplayOptions(slides="operator")))
    assert (session.look.slides, session.step, session.look.mode) == ("operator", step, "diff")
    session.go(1)
    session.change_look(slides="circuit")
    session.change_look(slides="operator")
    assert session.step == 1


def test_the_first_scene_takes_the_place_of_one_that_the_trace_lacks() -> None:
    opened = open_state(Library(), ViewState(circuit="blackboard", options=CompilerOptions(optimize=False)))
    session = Session(opened, ViewState(look=DisplayOptions(slides="match")))
    assert (session.look.slides, session.step, session.look.mode) == ("circuit", 0, "after")


def test_unknown_boxes_of_a_link_select_no_nodes(digits: Opened) -> None:
    session = Session(digits, ViewState(selection=("nothing",)))
    assert session.selection == session.selected_nodes == ()
    assert session.details() is None


def test_changing_the_look_notifies_and_keeps_the_selection(digits: Opened) -> None:
    session = Session(digits, ViewState(step=3))
    events = Events(session)
    session.change_look(mode="after", colour_by="kind")
    assert (session.look, events.only()) == (DisplayOptions(mode="after", colour_by="kind"), {"look"})
    session.change_look(mode="after")
    assert events == []
    session.select([next(box for box, nodes in session.boxes.items() if len(nodes) == 16)])
    events.clear()
    nodes = session.selected_nodes
    session.change_look(group_by="none", everything=True)
    assert events.only() == {"look", "selection"}
    assert len(session.selection) == 16
    assert set(session.selected_nodes) == set(nodes)


def test_in_mode_before_the_costs_are_those_before_the_step(digits: Opened) -> None:
    session = Session(digits, ViewState())
    session.go(8)
    assert session.costs()["rows"][0] == ["calls", "23 (−63)"]
    session.change_look(mode="before")
    assert session.costs()["rows"][0] == ["calls", "86"]


@pytest.mark.parametrize(
    "look", [{"mode": "x"}, {"colour_by": "x"}, {"group_by": "x"}, {"near_misses": "NoPattern"}], ids=str
)
def test_an_unknown_look_changes_nothing(digits: Opened, look: dict[str, Any]) -> None:
    session = Session(digits, ViewState(step=3))
    events = Events(session)
    with pytest.raises(UnknownNameError, match="known are"):
        session.change_look(**look)
    assert (session.look, events) == (DisplayOptions(), [])
    assert session.picture().view["step"] == 3


def test_a_trial_is_drawn_until_it_ends(blackboard: Opened) -> None:
    session = Session(blackboard, ViewState())
    events = Events(session)
    plain = session.picture().view
    session.try_pattern(PatternTrial("Mine", "TorchSumLayer", 13, 4, ((7, 5),), 1, ()))
    assert events.only() == {"trial"}
    assert "Mine" in session.picture().view["message"]
    session.try_pattern(None)
    assert events.only() == {"trial"}
    session.try_pattern(None)
    assert events == []
    assert session.picture().view == plain


def test_a_trial_ends_with_the_step_on_whose_layers_it_was_made(blackboard: Opened) -> None:
    session = Session(blackboard, ViewState(look=DisplayOptions(group_by="none")))
    session.try_pattern(PatternTrial("Mine", "TorchSumLayer", 13, 4, ((7, 5),), 1, ()))
    session.select_nodes([7])
    events = Events(session)
    session.go(-1)
    assert events.only() == {"step", "selection", "trial"}
    assert session.trial is None
    assert session.picture().view["step"] == len(blackboard.trace.steps) - 1


def test_opening_a_different_trace_drops_the_findings(digits: Opened, blackboard: Opened) -> None:
    session = Session(digits, ViewState(step=8))
    session.select([next(iter(session.boxes))])
    session.add_findings(missing={"cuda": "none here"})
    before = session.picture()
    events = Events(session)
    session.open(blackboard, ViewState(circuit="blackboard", step=99, options=CompilerOptions(fold=False)))
    names = events.only()
    assert names >= {"trace", "step", "selection", "look", "times", "checks", "trial", "other"}
    assert session.step == len(blackboard.trace.steps) - 1
    assert session.state.options == CompilerOptions()  # the options of the trace, not those of a link
    assert (session.selection, session.findings.missing) == ((), {})
    assert session.picture() is not before


def test_findings_notify_of_checks_or_times(digits: Opened) -> None:
    session = Session(digits, ViewState())
    events = Events(session)
    check = StepCheck(3, digits.trace.steps[3].path, 0.0, "exact", 0.0)
    session.add_findings(checks={3: check})
    assert events.only() == {"checks"}
    assert [step["ok"] for step in session.steps()][2:4] == [None, True]
    session.add_findings(layer_times={"cpu": {0: {0: PartTime(estimate([0.0015]))}}})
    assert events.only() == {"times"}
    session.add_findings(checks={}, missing={})
    assert events.only() == {"checks", "times"}


def test_pictures_are_cached_until_times_change(digits: Opened) -> None:
    session = Session(digits, ViewState(look=DisplayOptions(colour_by="time", group_by="none", everything=True)))
    first = session.picture()
    assert session.picture() is first
    assert "Not measured yet" in first.view["note"]
    session.go(3)
    session.go(0)
    assert session.picture() is first
    session.add_findings(layer_times={"cpu": {0: dict.fromkeys(range(170), PartTime(estimate([0.002])))}})
    assert session.picture() is not first
    assert all("2" in node["fill_text"] for node in session.picture().view["nodes"])


def test_the_picture_cache_has_a_limit(blackboard: Opened) -> None:
    session = Session(blackboard, ViewState())
    first = session.picture()
    for mode in ("after", "before"):
        session.change_look(mode=mode)
        for step in range(len(blackboard.trace.steps)):
            session.go(step)
            session.picture()
    for colour in ("kind", "fold", "memory"):
        session.change_look(colour_by=colour)
        for step in range(len(blackboard.trace.steps)):
            session.go(step)
            session.picture()
    assert len(session._pictures) == KEPT_PICTURES
    session.change_look(mode="diff", colour_by="change")
    session.go(0)
    assert session.picture() is not first
    assert session.picture().view == first.view


def test_a_comparison_is_noted_for_the_link(digits: Opened) -> None:
    session = Session(digits, ViewState())
    events = Events(session)
    session.compare_with(ViewState(circuit="hmm"))
    assert events.only() == {"other"}
    assert session.state.query() == "circuit=digits&vs.circuit=hmm"


def test_a_program_from_a_file_cannot_be_compiled_again(tmp_path) -> None:
    explorer.record(gallery.load_named("blackboard"), level="program").save(tmp_path / "p.trace.json")
    loaded = open_state(Library(tmp_path), ViewState(circuit="p.trace.json"))
    with pytest.raises(CircuitError, match="record it again in Python"):
        loaded.require_live()


def test_a_trace_from_a_file_cannot_be_run(digits: Opened, tmp_path) -> None:
    digits.require_live()
    digits.trace.save(tmp_path / "d.trace.json")
    loaded = open_state(Library(tmp_path), ViewState(circuit="d.trace.json"))
    with pytest.raises(CircuitError, match="compile it again first"):
        loaded.require_live()


def test_a_slide_that_python_asks_for_has_its_own_step_and_mode(digits: Opened) -> None:
    session = Session(digits, ViewState())
    events = Events(session)
    session.change_look(slides="match")
    assert (session.step, session.look.mode, session.look.slides) == (3, "before", "match")
    assert "step" in events.only()


@pytest.mark.parametrize("look", [DisplayOptions(), DisplayOptions(mode="before", group_by="none")])
def test_the_views_of_a_page_are_drawn_before_its_trace_is_delivered(look: DisplayOptions) -> None:
    """Otherwise the thread of all pages draws them, which takes seconds for a large trace."""
    state = ViewState(circuit="hclt", options=CompilerOptions(seed=20), step=3, look=look)
    opened = open_drawn(Library(), state, lambda event: None)
    index = opened.index

    def drawn() -> list[set[object]]:
        return [set(index.cache), set(vars(index)), set(index._states)]

    before = drawn()
    assert len(before[0]) > 0
    session = Session(opened, state)
    session.picture()
    session.steps()
    session.details()
    assert drawn() == before
