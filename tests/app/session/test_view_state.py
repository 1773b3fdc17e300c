"""Links: a view state survives a round trip, and invalid values are typed errors."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from explorer.app.session.opening import read_link
from explorer.app.session.view_state import (
    MAX_FORM_LENGTH,
    MAX_FORMS,
    MAX_LENGTH,
    MAX_ROUNDS,
    MAX_SELECTED,
    MAX_VALUES,
    CloserLook,
    DisplayOptions,
    ViewState,
    missing_from,
    names_nothing,
    readable_state,
    view_state_of_query,
)
from explorer.errors import CircuitError, UnknownNameError, ValueRangeError, check_name
from explorer.options import PRESETS, CompilerOptions
from explorer.views import COLOURS, GROUPINGS, MODES, SLIDES
from explorer_widgets.theme import CLOSEUPS

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
names = st.lists(texts, max_size=3).map(tuple)
numbers = st.integers(0, 2**63 - 1)
options = st.builds(
    CompilerOptions,
    preset=st.sampled_from(list(PRESETS)),
    semiring=texts,
    optimize=st.booleans(),
    fold=st.booleans(),
    strategy=texts,
    disable=names,
    skip=names,
    max_rounds=st.none() | st.integers(0, MAX_ROUNDS),
    levels=st.none() | texts,
    seed=numbers,
)
looks = st.builds(
    DisplayOptions,
    mode=st.sampled_from(MODES),
    colour_by=st.sampled_from(COLOURS),
    group_by=st.sampled_from(GROUPINGS),
    near_misses=st.none() | texts,
    everything=st.booleans(),
    slides=st.sampled_from(SLIDES),
)

closer = st.builds(
    CloserLook, hull=texts, match=numbers, closeup=st.sampled_from(["", *CLOSEUPS]), beliefs=st.booleans()
)


@st.composite
def places(draw: st.DrawFn) -> ViewState:
    forms = draw(st.lists(st.tuples(texts, texts), max_size=3))
    return ViewState(
        circuit=draw(texts),
        again=draw(st.booleans()),
        form=tuple(form for form, _ in forms),
        replacement=tuple(replacement for _, replacement in forms),
        options=draw(options),
        step=draw(numbers),
        selection=draw(names),
        look=draw(looks),
        closer=draw(closer),
    )


@given(places(), st.none() | places())
def test_a_view_state_round_trips_through_its_query(place: ViewState, other: ViewState | None) -> None:
    place = replace(place, other=other)
    assert view_state_of_query(place.query()) == place
    assert view_state_of_query("?" + place.query()) == place


@given(
    st.text(max_size=60)
    | st.lists(st.tuples(st.sampled_from([*ViewState.__slots__, "mode", "seed"]), texts)).map(
        lambda pairs: "&".join(f"{name}={value}" for name, value in pairs)
    )
)
def test_any_text_is_a_view_state_or_a_typed_error(query: str) -> None:
    try:
        place = view_state_of_query(query)
    except CircuitError:
        return
    assert view_state_of_query(place.query()) == place


def test_only_non_default_values_are_written() -> None:
    assert ViewState().query() == "circuit=digits"
    place = ViewState(circuit="hmm", step=3, selection=("a b", "c"), look=DisplayOptions(mode="side", everything=True))
    assert place.query() == "circuit=hmm&step=3&selection=a+b&selection=c&mode=side&everything=yes"
    fewer = CompilerOptions(fold=False, disable=("SumCollapse", "Candecomp"), max_rounds=0)
    assert (
        ViewState(options=fewer).query() == "circuit=digits&fold=no&disable=SumCollapse&disable=Candecomp&max_rounds=0"
    )


def test_the_compared_trace_has_its_own_prefix() -> None:
    place = ViewState(circuit="hmm", other=ViewState(circuit="hmm", options=CompilerOptions(optimize=False)))
    assert place.query() == "circuit=hmm&vs.circuit=hmm&vs.optimize=no"
    assert ViewState(other=ViewState()).query() == "circuit=digits&vs.circuit=digits"
    assert view_state_of_query("vs.circuit=digits").other == ViewState()


def test_unknown_names_in_a_query_are_ignored() -> None:
    assert view_state_of_query("?utm_source=mail&step=2&options=x&look=y&other=z&vs=w") == ViewState(step=2)


def test_slides_without_a_value_are_the_steps() -> None:
    assert view_state_of_query("?slides").look.slides == "steps"
    assert view_state_of_query("?circuit=hmm&slides=fold").look.slides == "fold"


def test_the_last_of_repeated_parameters_wins() -> None:
    assert view_state_of_query("step=2&step=5").step == 5


@pytest.mark.parametrize(
    ("query", "error", "message"),
    [
        ("step=-1", ValueRangeError, "step in the link must be an integer of at least 0; found '-1'"),
        ("step=two", ValueRangeError, "found 'two'"),
        ("step=²", ValueRangeError, "found '²'"),
        ("seed=1.5", ValueRangeError, "seed in the link must be an integer"),
        ("max_rounds=", ValueRangeError, "max_rounds in the link must be an integer"),
        ("fold=true", ValueRangeError, "fold in the link must be yes or no; found 'true'"),
        ("vs.fold=1", ValueRangeError, "fold in the link must be yes or no; found '1'"),
        ("mode=sideways", UnknownNameError, "no mode named 'sideways'; known are: diff, before, after, side"),
        ("colour_by=mood", UnknownNameError, "no colouring named 'mood'"),
        ("group_by=size", UnknownNameError, "no grouping named 'size'"),
        ("vs.mode=sideways", UnknownNameError, "no mode named 'sideways'"),
        ("form={}", ValueRangeError, "the link names 1 forms and 0 replacements; each form has one"),
        ("replacement=one+layer", ValueRangeError, "the link names 0 forms and 1 replacements"),
    ],
)
def test_invalid_values_in_a_link_are_typed_errors(query: str, error: type[CircuitError], message: str) -> None:
    with pytest.raises(error) as raised:
        view_state_of_query(query)
    assert message in str(raised.value)


def test_what_can_be_read_of_a_link_is_kept_and_the_rest_is_named() -> None:
    state, problem = readable_state("?circuit=hmm&step=two&mode=before&fold=true&slides=match&utm=1")
    assert (state.circuit, state.step, state.look.mode, state.look.slides) == ("hmm", 0, "before", "match")
    assert problem == (
        "Not understood in the link: step in the link must be an integer of at least 0; found 'two'; "
        "fold in the link must be yes or no; found 'true'."
    )
    assert readable_state("circuit=hmm&step=2") == (ViewState(circuit="hmm", step=2), "")
    assert readable_state("form={}&replacement=one&step=1")[0].form == ("{}",)

    def check(state: ViewState) -> None:
        check_name("preset", state.options.preset, PRESETS)

    assert readable_state("circuit=hmm&preset=odd", check)[0] == ViewState(circuit="hmm")


def test_the_order_of_a_link_does_not_matter() -> None:
    def check(state: ViewState) -> None:
        for rule in state.options.disable:
            check_name("rule", rule, ["Own"] if state.options.preset == "handbook" else [])

    words = ("disable=Own", "preset=handbook")
    wanted = CompilerOptions(preset="handbook", disable=("Own",))
    for query in ("&".join(words), "&".join(reversed(words))):
        assert readable_state(query, check) == (ViewState(options=wanted), "")
        state, problem = readable_state(f"step=two&{query}", check)
        assert (state.options, "rule" in problem) == (wanted, False)


def test_only_options_that_are_used_are_checked_and_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[CompilerOptions] = []
    monkeypatch.setattr("explorer.app.session.opening.TorchCompiler", built.append)
    words = "&".join(f"word{n}=x" for n in range(400))
    read_link(f"circuit=digits&step=two&{words}")
    read_link(f"circuit=some.trace.json&fold=no&step=two&{words}")
    assert built == []
    read_link(f"circuit=digits&fold=no&step=two&{words}")
    assert built == [CompilerOptions(fold=False)]


def test_a_link_reopens_the_rule_lens_and_the_part_of_the_close_up() -> None:
    state = view_state_of_query("circuit=digits&step=3&mode=before&hull=hull-2&match=4&closeup=values")
    assert state.closer == CloserLook("hull-2", 4, "values")
    with pytest.raises(UnknownNameError, match="no part of the close-up named 'dust'"):
        view_state_of_query("closeup=dust")
    assert tuple(CLOSEUPS) == ("memory", "table", "parameters", "values", "code")
    for part in CLOSEUPS:
        place = ViewState(closer=CloserLook(closeup=part))
        assert view_state_of_query(place.query()) == place


def test_long_links_are_refused() -> None:
    assert view_state_of_query("circuit=" + "a" * MAX_LENGTH).circuit == "a" * MAX_LENGTH
    with pytest.raises(
        ValueRangeError, match=f"circuit in the link has {MAX_LENGTH + 1} characters; at most {MAX_LENGTH}"
    ):
        view_state_of_query("circuit=" + "a" * (MAX_LENGTH + 1))
    form = "a" * MAX_FORM_LENGTH
    assert view_state_of_query(f"form={form}&replacement=b").form == (form,)
    with pytest.raises(ValueRangeError, match="form in the link has"):
        view_state_of_query(f"form={form}a&replacement=b")
    assert len(view_state_of_query("&".join(["selection=a"] * MAX_VALUES)).selection) == MAX_VALUES
    with pytest.raises(ValueRangeError, match=f"more than {MAX_VALUES} values"):
        view_state_of_query("&".join(["selection=a"] * (MAX_VALUES + 1)))


def test_a_link_can_request_only_a_bounded_amount_of_work() -> None:
    assert len(view_state_of_query("&".join(["form={}&replacement=a"] * MAX_FORMS)).form) == MAX_FORMS
    with pytest.raises(ValueRangeError, match=f"names {MAX_FORMS + 1} patterns to apply; at most {MAX_FORMS}"):
        view_state_of_query("&".join(["form={}&replacement=a"] * (MAX_FORMS + 1)))
    assert view_state_of_query(f"max_rounds={MAX_ROUNDS}").options.max_rounds == MAX_ROUNDS
    with pytest.raises(ValueRangeError, match=f"at most {MAX_ROUNDS} are run"):
        view_state_of_query(f"vs.max_rounds={MAX_ROUNDS + 1}")


def test_a_link_names_the_last_selected_boxes_of_a_large_selection() -> None:
    boxes = tuple(f"g{i}" for i in range(MAX_SELECTED + 7))
    assert view_state_of_query(ViewState(selection=boxes).query()).selection == boxes[7:]


def test_a_link_has_the_semiring_unless_the_circuit_opens_with_it():
    state = ViewState.of_circuit("sos")
    assert state.options.semiring == "complex-lse-sum"
    assert state.query() == "circuit=sos"
    assert view_state_of_query("circuit=sos") == state
    other = view_state_of_query("circuit=sos&semiring=lse-sum")
    assert other.options.semiring == "lse-sum"
    assert view_state_of_query(other.query()) == other
    assert ViewState.of_circuit("digits") == ViewState()


@pytest.mark.parametrize(
    ("query", "expected"),
    [("", True), ("token=abc", True), ("circuit=digits", False), ("token=abc&step=x", False), ("vs.step=1", False)],
)
def test_a_query_with_parameters_of_others_only_names_nothing(query: str, expected: bool) -> None:
    assert names_nothing(query) is expected


def test_what_a_link_asks_for_and_a_trace_does_not_show_is_said() -> None:
    asked = ViewState(step=2, selection=("a", "b"), look=DisplayOptions(near_misses="SumCollapse"))
    assert missing_from(asked, asked, last=2) == ""
    assert missing_from(asked, ViewState(step=2, selection=("a",)), last=2) == (
        "The link names near misses of SumCollapse, which this trace does not have. "
        "The link selects b, which this step does not show."
    )
    assert missing_from(replace(asked, step=5), asked, last=2) == "The link names step 5, but the last step is 2."
