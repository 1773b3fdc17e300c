"""The view state: circuit, options, step, selection and display, as a frozen value and as the query of a link.

Only non-default values are written; a list repeats its name. Names that begin with `vs.` belong to the trace that is
compared with: `circuit=digits&step=3&vs.disable=SumCollapse`.
"""

from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, Self, get_args
from urllib.parse import parse_qsl, urlencode

from explorer.errors import CircuitError, ValueRangeError, check_name
from explorer.options import CompilerOptions
from explorer.rewrite import OptMatchStrategy
from explorer.templates import gallery
from explorer.trace import COMPILED, LEVELS
from explorer.views import ALL_MODES, COLOURS, GROUPINGS, SLIDES, SlidesName
from explorer_widgets.schema import ColourBy, GroupBy, Mode
from explorer_widgets.theme import CLOSEUPS

OPERATORS = {"functional": "of PyTorch", "core": "core ATen", "circuit": "whole layers"}
"""The levels of operators at which a circuit is exported, and how they are offered."""

STRATEGIES = tuple(strategy.value for strategy in OptMatchStrategy)
LEVEL_NAMES = tuple(LEVELS)


@dataclass(frozen=True, slots=True)
class TensorOptions:
    """The level that is shown, and the options of the tensor level.

    `passes` are entries of a pipeline as strings (`entry_text`); none: the default pipeline of the mode. `operators` is
    one of `OPERATORS`.
    """

    level: str = COMPILED
    compile_for: str = "infer"
    passes: tuple[str, ...] = ()
    one_by_one: bool = False
    operators: str = "functional"


# ---------------------------------------------------------------------- the view state


OTHER = "vs."
STEPS: SlidesName = "steps"
"""The slides of `?slides` without a value: lecture mode."""
MODES_OF_USE = ("infer", "train")
MAX_LENGTH, MAX_FORM_LENGTH, MAX_VALUES = 200, 4_000, 500
"""Bounds on the length of a value in a link, on the length of a pattern form, and on the number of values."""
MAX_SELECTED, MAX_FORMS, MAX_ROUNDS = 50, 8, 1_000
"""Bounds on the selected boxes, applied patterns and rounds of a link."""


@dataclass(frozen=True, slots=True)
class DisplayOptions:
    """The display of a step; `near_misses` names the pattern with drawn near misses.

    With `everything` every layer is drawn, however many there are. `slides` fills the window with the steps (`steps`)
    or with a scene of the story.
    """

    mode: Mode = "diff"
    colour_by: ColourBy = "change"
    group_by: GroupBy = "plates"
    near_misses: str | None = None
    everything: bool = False
    slides: SlidesName = ""


@dataclass(frozen=True, slots=True)
class CloserLook:
    """A closer look: a match in the rule lens, by its hull and its number there, and a part of the close-up.

    An empty part is the first. With `beliefs`, cells show what their layers believe.
    """

    hull: str = ""
    match: int = 0
    closeup: str = ""
    beliefs: bool = False


@dataclass(frozen=True, slots=True)
class ViewState:
    """Everything that a link reopens. `circuit` is a name in the library; `other` is the trace it is compared with.

    A trace file is shown as it was recorded, whatever the options, unless it is compiled `again`. `form` contains
    pattern forms as JSON, applied one after the other, each with its `replacement`. `tensor` selects the level. A link
    contains the semiring unless it is that with which the circuit opens.
    """

    circuit: str = "digits"
    again: bool = False
    form: tuple[str, ...] = ()
    replacement: tuple[str, ...] = ()
    options: CompilerOptions = field(default_factory=CompilerOptions)
    tensor: TensorOptions = field(default_factory=TensorOptions)
    step: int = 0
    selection: tuple[str, ...] = ()
    look: DisplayOptions = field(default_factory=DisplayOptions)
    closer: CloserLook = field(default_factory=CloserLook)
    other: "ViewState | None" = None

    @classmethod
    def of_circuit(cls, name: str) -> Self:
        """A circuit as it opens: with the semiring that it needs."""
        return cls(circuit=name, options=gallery.default_options(name))

    def query(self) -> str:
        """The query of a link, without the question mark. A large selection is cut to the boxes selected last."""
        return urlencode(self._pairs())

    def _pairs(self) -> list[tuple[str, str]]:
        pairs: list[tuple[str, str]] = []
        changed = self.options.non_defaults()
        default = gallery.default_options(self.circuit).semiring
        for part in (self, self.options, self.tensor, self.look, self.closer):
            for f in fields(part):
                value = getattr(part, f.name)
                if f.name == "semiring":
                    pairs += [(f.name, value)] if value != default else []
                    continue
                if f.name in ("options", "tensor", "look", "closer", "other") or (
                    value == f.default and f.name != "circuit"
                ):
                    continue
                if part is self.options and f.name not in changed:
                    continue
                values = value[-MAX_SELECTED:] if f.name == "selection" else value
                pairs += [(f.name, _text(one)) for one in (values if isinstance(values, tuple) else (values,))]
        return pairs + [(OTHER + name, value) for name, value in (self.other._pairs() if self.other else ())]


def trace_of(state: ViewState) -> ViewState:
    """Return the part of a view state that names its traces: without steps, selections and display."""
    other = state.other and trace_of(state.other)
    return replace(state, step=0, selection=(), look=DisplayOptions(), closer=CloserLook(), other=other)


def view_state_of_query(query: str) -> ViewState:
    """Parse the query of a link; absent values have their defaults, and unknown names are ignored.

    Raises: ValueRangeError, UnknownNameError for invalid values.
    """
    return _state_of(_pairs_of(query))


def names_nothing(query: str) -> bool:
    """Whether a query has only parameters of others, such as the token of a proxy, and no part of a view state."""
    known = {
        f.name for kind in (ViewState, DisplayOptions, CloserLook, TensorOptions, CompilerOptions) for f in fields(kind)
    }
    try:
        return not any(name.removeprefix(OTHER) in known for name, _ in _pairs_of(query))
    except ValueRangeError:
        return False


def readable_state(query: str, check: Callable[[ViewState], object] = lambda state: None) -> tuple[ViewState, str]:
    """Parse what can be read of a link; also return, in a sentence, what cannot; empty if all can.

    `check` raises a CircuitError for a view state that cannot be opened.
    """
    try:
        pairs = _pairs_of(query)
    except CircuitError as error:
        return ViewState(), f"The link cannot be read: {error}."
    try:
        state = _state_of(pairs)
        check(state)
    except CircuitError:
        pass  # which names cannot be read is found below, one after the other
    else:
        return state, ""
    groups: dict[str, list[tuple[str, str]]] = {}
    for name, value in pairs:
        groups.setdefault(name.replace("replacement", "form"), []).append((name, value))
    kept: list[tuple[str, str]] = []
    waiting = list(groups.items())
    problems: dict[str, str] = {}
    while waiting:
        problems.clear()
        for name, own in waiting:
            try:
                check(_state_of([*kept, *own]))
            except CircuitError as error:
                problems[name] = str(error)
            else:
                kept += own
        if len(problems) == len(waiting):
            break
        waiting = [(name, groups[name]) for name in problems]  # a value may be valid only with one that follows
    return _state_of(kept), f"Not understood in the link: {'; '.join(problems.values())}." if problems else ""


def _pairs_of(query: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query.removeprefix("?"), keep_blank_values=True, max_num_fields=MAX_VALUES)
    except ValueError as error:
        raise ValueRangeError(f"the link names more than {MAX_VALUES} values") from error


def _state_of(pairs: Sequence[tuple[str, str]]) -> ViewState:
    here = [(name, value) for name, value in pairs if not name.startswith(OTHER)]
    there = [(name.removeprefix(OTHER), value) for name, value in pairs if name.startswith(OTHER)]
    state = _parse(here)
    return replace(state, other=_parse(there)) if there else state


def _parse(pairs: Sequence[tuple[str, str]]) -> ViewState:
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        longest = MAX_FORM_LENGTH if name == "form" else MAX_LENGTH
        if len(value) > longest:
            raise ValueRangeError(f"{name} in the link has {len(value)} characters; at most {longest} are read")
        values.setdefault(name, []).append(value or STEPS if name == "slides" else value)
    look = _build(DisplayOptions, values)
    check_look(look)
    tensor = _build(TensorOptions, values)
    for kind, name, known in (
        ("level", tensor.level, LEVEL_NAMES),
        ("mode", tensor.compile_for, MODES_OF_USE),
        ("set of operators", tensor.operators, OPERATORS),
    ):
        check_name(kind, name, known)
    closer = _build(CloserLook, values)
    check_closer(closer)
    values.setdefault("semiring", [gallery.default_options(values.get("circuit", [""])[-1]).semiring])
    options = _build(CompilerOptions, values)
    state = replace(_build(ViewState, values), options=options, tensor=tensor, look=look, closer=closer)
    if len(state.form) != len(state.replacement):
        raise ValueRangeError(
            f"the link names {len(state.form)} forms and {len(state.replacement)} replacements; each form has one"
        )
    if len(state.form) > MAX_FORMS:
        raise ValueRangeError(f"the link names {len(state.form)} patterns to apply; at most {MAX_FORMS} are applied")
    if state.options.max_rounds > MAX_ROUNDS:
        raise ValueRangeError(f"max_rounds in the link is {state.options.max_rounds}; at most {MAX_ROUNDS} are run")
    return state


def missing_from(asked: ViewState, shown: ViewState, last: int) -> str:
    """Say which parts of a link a trace with the last step `last` does not show; empty if it shows everything."""
    missing: list[str] = []
    if asked.step > last and not asked.look.slides:
        missing.append(f"The link names step {asked.step}, but the last step is {last}.")
    if asked.look.near_misses is not None and shown.look.near_misses is None:
        missing.append(f"The link names near misses of {asked.look.near_misses}, which this trace does not have.")
    lost = [box for box in asked.selection if box not in shown.selection] if asked.step <= last else []
    if lost:
        missing.append(f"The link selects {', '.join(lost)}, which this step does not show.")
    return " ".join(missing)


def check_closer(closer: CloserLook) -> None:
    """Raises: UnknownNameError for an unknown part of the close-up."""
    check_name("part of the close-up", closer.closeup, ("", *CLOSEUPS))


def check_look(look: DisplayOptions) -> None:
    """Raises: UnknownNameError for an unknown mode, colouring or grouping."""
    for kind, name, known in (
        ("mode", look.mode, ALL_MODES),
        ("colouring", look.colour_by, COLOURS),
        ("grouping", look.group_by, GROUPINGS),
        ("slides", look.slides or "steps", SLIDES[1:]),
    ):
        check_name(kind, name, known)


def _build(kind: Any, values: dict[str, list[str]]) -> Any:
    """Build the dataclass from the values named after its fields, parsed by their declared types."""
    found: dict[str, Any] = {}
    for f in fields(kind):
        if f.name in values and f.default is not MISSING and f.name != "other":
            found[f.name] = _read(f.name, f.type, values[f.name])
    return kind(**found)


def _read(name: str, kind: Any, values: list[str]) -> Any:
    if kind == tuple[str, ...]:
        return tuple(values)
    text = values[-1]
    if kind is bool:
        if text not in ("yes", "no"):
            raise ValueRangeError(f"{name} in the link must be yes or no; found {text!r}")
        return text == "yes"
    if kind is int or int in get_args(kind):
        if not text.isascii() or not text.isdigit():
            raise ValueRangeError(f"{name} in the link must be an integer of at least 0; found {text!r}")
        return int(text)
    return text


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
