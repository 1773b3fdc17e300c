"""The types of the data in a trace file: what is missing or of another type is reported with its path in the file."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from explorer.files import MAX_VARIABLE
from explorer.trace.ladder import Level

MAX_ID = 2**24 - 1
"""The largest id of a node: views keep arrays of this length."""
MAX_COUNT = 2**53
"""The largest count, of bytes for example, that every reader of JSON reads exactly."""

MAX_DEPTH = 8
"""Maximum nesting of nodes, refusals and other data."""

READ_KINDS = ("view", "slice", "transpose", "expand", "cat", "gather", "cat+gather")
"""The kinds of reads by which folded layers get their inputs."""

Test = Callable[[Any], None]
"""Raises `_WrongDataError` unless a value is as expected."""


class _WrongDataError(Exception):
    """A value that is not as expected; `path` leads to it, innermost key first."""

    def __init__(self, found: Any, expected: str) -> None:
        self.path: list[str] = []
        self.text = f"is {_short(found)}; expected {expected}"


def check_types(data: Mapping[str, Any], level: Level) -> None:
    """Check all data of a trace of version 2 but its options. Raises: ValueError naming the first wrong value."""
    try:
        (CIRCUIT_TRACE if level.has_circuit else OPERATOR_TRACE)(data)
    except _WrongDataError as error:
        raise ValueError(f"{''.join(reversed(error.path)).lstrip('.')} {error.text}") from None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


# ---------------------------------------------------------------------- tests of a value


def _is(name: str, *types: type) -> Test:
    """Accept values of one of these types; a bool is not an int."""

    def test(value: Any) -> None:
        if type(value) not in types:
            raise _WrongDataError(value, name)

    return test


def _between(least: int, largest: int) -> Test:
    def test(value: Any) -> None:
        if type(value) is not int or not least <= value <= largest:
            raise _WrongDataError(value, f"an integer from {least} to {largest}")

    return test


def _one_of(known: Collection[str]) -> Test:
    def test(value: Any) -> None:
        if value not in known:
            raise _WrongDataError(value, f"one of {', '.join(known)}")

    return test


def _anything(value: Any, depth: int = 0) -> None:
    """Any data, if it is not nested deeply."""
    if isinstance(value, list | dict):
        if depth == MAX_DEPTH:
            raise _WrongDataError(value, f"data that is at most {MAX_DEPTH} levels deep")
        inner: Any = value.values() if isinstance(value, dict) else value  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        for item in inner:
            _anything(item, depth + 1)


def _maybe(test: Test) -> Test:
    """As tested, or null."""
    return lambda value: None if value is None else test(value)


def _list_of(test: Test) -> Test:
    def test_list(value: Any) -> None:
        if type(value) not in (list, tuple):
            raise _WrongDataError(value, "a list")
        for position, item in enumerate(value):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            _test_at(f"[{position}]", item, test)

    return test_list


def _row(*tests: Test, optional: int = 0) -> Test:
    """A list with one value for each test; the last `optional` values may be missing."""
    counts = range(len(tests) - optional, len(tests) + 1)

    def test_row(value: Any) -> None:
        if not isinstance(value, list | tuple) or len(value) not in counts:  # pyright: ignore[reportUnknownArgumentType]
            raise _WrongDataError(value, f"a list of {len(tests)} values")
        for position, (item, test) in enumerate(zip(value, tests, strict=False)):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            _test_at(f"[{position}]", item, test)

    return test_row


def _mapping_of(test: Test) -> Test:
    def test_mapping(value: Any) -> None:
        if type(value) is not dict:
            raise _WrongDataError(value, "an object")
        for name, item in value.items():  # pyright: ignore[reportUnknownVariableType]
            _test_at(f".{name}", item, test)

    return test_mapping


def _record(required: Mapping[str, Test], optional: Mapping[str, Test] | None = None) -> Test:
    """An object with these fields; unknown fields are ignored."""

    def test_record(value: Any) -> None:
        if type(value) is not dict:
            raise _WrongDataError(value, "an object")
        for name, test in required.items():
            if name not in value:
                raise _WrongDataError(value, f"an object with the field {name}")
            _test_at(f".{name}", value[name], test)
        for name, test in (optional or {}).items():
            if name in value:
                _test_at(f".{name}", value[name], test)

    return test_record


def _all(*tests: Test) -> Test:
    def test_all(value: Any) -> None:
        for test in tests:
            test(value)

    return test_all


def _test_at(step: str, value: Any, test: Test) -> None:
    try:
        test(value)
    except _WrongDataError as error:
        error.path.append(step)
        raise


# ---------------------------------------------------------------------- the data of a trace

TEXT, FLAG = _is("a string", str), _is("true or false", bool)
NUMBER = _is("a number", int, float)
INTEGER, COUNT, SIZE = _is("an integer", int), _between(0, MAX_COUNT), _between(1, MAX_COUNT)
ID = _between(0, MAX_ID)
IDS, COUNTS, TEXTS, NUMBERS = _list_of(ID), _list_of(COUNT), _list_of(TEXT), _list_of(NUMBER)

PARAMETER_CONFIG = _all(_mapping_of(_anything), _record({}, {"shape": _maybe(COUNTS)}))
PARAMETER_NODE = _row(TEXT, SIZE, PARAMETER_CONFIG, COUNTS)
FORM = _record({"shape": COUNTS, "nodes": _list_of(PARAMETER_NODE), "outputs": _list_of(_row(COUNT, COUNT))})
PARAMETER = _record({"form": COUNT, "leaves": _list_of(TEXTS)})
UNITS = {"num_input_units": _maybe(COUNT), "arity": _maybe(COUNT)}
LAYER_CONFIG = _all(_mapping_of(_anything), _record({"num_output_units": SIZE}, UNITS))
OPERATOR_CONFIG = _all(_mapping_of(_anything), _record({"results": TEXTS, "bytes": COUNT}))
NESTED_CONFIG = _all(_mapping_of(_anything), _record({}, UNITS))
ABOUT = _all(_mapping_of(_anything), _record({}, {"module": TEXT, "modules": TEXTS}))
SCOPES = _list_of(_list_of(_between(0, MAX_VARIABLE)))


def _node(config: Test, depth: int = 0) -> Test:
    def nested(value: Any) -> None:
        if depth == MAX_DEPTH:
            raise _WrongDataError(value, f"at most {MAX_DEPTH} nodes inside each other")
        _node(NESTED_CONFIG, depth + 1)(value)

    inside = {"about": ABOUT, "parameters": _mapping_of(PARAMETER), "nested": _mapping_of(nested)}
    names = {"type": TEXT, "kind": TEXT, "title": TEXT}
    return _record({**names, "folds": SIZE, "config": config}, {"scope": _maybe(SCOPES), **inside})


def _refusal(value: Any, depth: int = 0) -> None:
    """A refusal, which may contain refusals of a sub-pattern."""
    if depth == MAX_DEPTH:
        raise _WrongDataError(value, f"at most {MAX_DEPTH} refusals inside each other")
    inner = _list_of(lambda one: _refusal(one, depth + 1))
    names = {"what": TEXT, "parameter_path": TEXT, "inner": inner, "found": _anything, "wanted": _anything}
    _record({"pattern": TEXT, "root": ID, "entry": COUNT, "node": ID, "kind": TEXT}, names)(value)


READ = _record({"kind": _one_of(READ_KINDS), "copied_bytes": COUNT, "index": _list_of(_list_of(_row(ID, COUNT)))})
FOLD = {"level": COUNT, "node": ID, "type": TEXT, "key": _list_of(_row(TEXT, _anything)), "members": IDS}
LIFETIME = {"start": COUNT, "end": COUNT, "bytes": COUNT, "offset": _maybe(COUNT)}
BUFFER = _record({"id": ID, "type": TEXT, **LIFETIME, "users": IDS, "accesses": TEXTS})
LISTING = _list_of(_row(ID, TEXT))
SIZES = {"lower_bound_bytes": COUNT, "size_bytes": COUNT}
MORE = {"reasons": _list_of(_row(ID, ID, TEXT)), "parts": _list_of(_row(COUNT, TEXT))}
MEMORY = _record({"order": IDS, "buffers": _list_of(BUFFER), **SIZES, "listing": LISTING}, MORE)
PRESENT = _list_of(_row(TEXT, IDS))
APPLIED = _record({"name": TEXT, "circuits": PRESENT, "sources": _list_of(_row(ID, IDS))})
STEP = _record(
    {
        "removed": IDS,
        "added": _list_of(_row(ID, COUNT, IDS)),
        "replaced": _list_of(_row(ID, COUNT)),
        "rewired": _list_of(_row(ID, IDS)),
        "outputs": IDS,
        "stages": _list_of(_row(TEXT, _maybe(COUNT), SIZE)),
        "part": SIZE,
        "level": TEXT,
        "changed": FLAG,
        "stats": _mapping_of(INTEGER),
        "matches": _list_of(_row(TEXT, ID, IDS, TEXT, _list_of(_row(TEXT, NUMBER)), optional=1)),
        "refusals": _list_of(_refusal),
        "refusals_over": _mapping_of(SIZE),
        "lost": _list_of(_row(COUNT, COUNT, ID, TEXT, TEXT, TEXT, optional=1)),
        "rewrites": _list_of(_row(COUNT, TEXT, IDS, IDS, TEXT, IDS, optional=1)),
        "folds": _list_of(_record(FOLD, {"read": READ})),
        "limits": _list_of(_row(TEXT, INTEGER, TEXT)),
        "error": _maybe(TEXT),
    },
    {
        "memory": MEMORY,
        "notes": TEXTS,
        "operator": APPLIED,
        "reads": _list_of(_row(_maybe(ID), TEXT, TEXT, COUNT, COUNT, TEXT)),
        "tried": COUNT,
    },
)
RULE = _record(
    {"name": TEXT, "pattern": TEXT, "entries": TEXTS, "kind": TEXT, "exactness": TEXT, "doc": TEXT, "source": TEXT},
    {"guarded": FLAG, "questions": _list_of(_list_of(_row(TEXT, TEXT, TEXT)))},
)
TIMES = _record({"steps": NUMBERS, "rewrites": _list_of(NUMBERS), "folds": _list_of(NUMBERS)})
LAYERS = _list_of(_record({"id": COUNT}, {"name": _maybe(TEXT)}))
OTHERS = {"layers": _list_of(_row(ID, TEXT, TEXT, SIZE, IDS)), "tried": _list_of(TEXTS), "times": _maybe(TIMES)}


def _trace(config: Test, circuit: Test) -> Test:
    """The data of a trace with such a config of nodes."""
    rows = {"steps": _list_of(STEP), "nodes": _list_of(_node(config)), "parameters": _list_of(FORM)}
    return _record({"rules": _list_of(RULE), "circuit": circuit, **rows}, OTHERS)


CIRCUIT_TRACE = _trace(LAYER_CONFIG, _maybe(_record({"layers": LAYERS})))
OPERATOR_TRACE = _trace(OPERATOR_CONFIG, _is("null", type(None)))


TRACE_FORMAT = "circuit-explorer trace"
VERSION = 2
