"""The types of the data in a trace file: what is missing or wrong is reported with its path; the same as a schema."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from explorer.files import MAX_VARIABLE
from explorer.trace.ladder import LEVELS, Level

TRACE_FORMAT = "circuit-explorer trace"
VERSION = 2
FIELDS = ("options", "rules", "circuit", "steps", "nodes", "parameters", "layers", "tried", "times")
CIRCUIT_FIELDS = (
    *("format", "version", "parameters", "layers", "outputs"),
    *("labels", "derivation", "circuits", "columns", "column_values"),
)
"""The fields of a trace and of its circuit that are read; unknown ones are dropped, so that they cost no memory."""
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


class Form(NamedTuple):
    """A test of a value, and the JSON schema of the values that pass it."""

    test: Test
    schema: Mapping[str, Any]


class _WrongDataError(Exception):
    """A value that is not as expected; `path` leads to it, innermost key first."""

    def __init__(self, found: Any, expected: str) -> None:
        self.path: list[str] = []
        self.text = f"is {_short(found)}; expected {expected}"


def check_types(data: Mapping[str, Any], level: Level) -> None:
    """Check all data of a trace of version 2 but its options. Raises: ValueError naming the first wrong value."""
    try:
        (CIRCUIT_TRACE if level.has_circuit else OPERATOR_TRACE).test(data)
    except _WrongDataError as error:
        raise ValueError(f"{''.join(reversed(error.path)).lstrip('.')} {error.text}") from None


def trace_schema() -> dict[str, Any]:
    """The JSON schema of a trace file: what `check_types` tests, and the format, version and options."""
    options = {"type": "object", "properties": {"level": {"enum": list(LEVELS)}}}
    head = {"format": {"const": TRACE_FORMAT}, "version": {"const": VERSION}, "options": options}
    of_circuit = [name for name, level in LEVELS.items() if level.has_circuit]
    without = {"required": ["level"], "properties": {"level": {"enum": [x for x in LEVELS if x not in of_circuit]}}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{TRACE_FORMAT}, version {VERSION}",
        "description": "docs/trace-format.md explains the fields. Readers ignore unknown fields.",
        "type": "object",
        "required": list(head),
        "properties": head,
        "if": {"properties": {"options": without}},
        "then": OPERATOR_TRACE.schema,
        "else": CIRCUIT_TRACE.schema,
        "$defs": DEFINITIONS,
    }


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


# ---------------------------------------------------------------------- forms of a value

DEFINITIONS: dict[str, Mapping[str, Any]] = {}
"""The schemas of forms with a name, which others refer to."""


def _named(name: str, form: Form) -> Form:
    DEFINITIONS[name] = form.schema
    return Form(form.test, _reference(name))


def _reference(name: str) -> Mapping[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


def _is(name: str, json_type: str, *types: type) -> Form:
    """Accept values of one of these types; a bool is not an int."""

    def test(value: Any) -> None:
        if type(value) not in types:
            raise _WrongDataError(value, name)

    return Form(test, {"type": json_type})


def _between(least: int, largest: int) -> Form:
    def test(value: Any) -> None:
        if type(value) is not int or not least <= value <= largest:
            raise _WrongDataError(value, f"an integer from {least} to {largest}")

    return Form(test, {"type": "integer", "minimum": least, "maximum": largest})


def _one_of(known: Collection[str]) -> Form:
    def test(value: Any) -> None:
        if value not in known:
            raise _WrongDataError(value, f"one of {', '.join(known)}")

    return Form(test, {"enum": list(known)})


def _test_anything(value: Any, depth: int = 0) -> None:
    """Any data, if it is not nested deeply."""
    if isinstance(value, list | dict):
        if depth == MAX_DEPTH:
            raise _WrongDataError(value, f"data that is at most {MAX_DEPTH} levels deep")
        inner: Any = value.values() if isinstance(value, dict) else value  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        for item in inner:
            _test_anything(item, depth + 1)


def _maybe(form: Form) -> Form:
    """As tested, or null."""

    def test(value: Any) -> None:
        if value is not None:
            form.test(value)

    return Form(test, {"anyOf": [{"type": "null"}, form.schema]})


def _list_of(form: Form) -> Form:
    def test_list(value: Any) -> None:
        if type(value) not in (list, tuple):
            raise _WrongDataError(value, "a list")
        for position, item in enumerate(value):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            _test_at(f"[{position}]", item, form)

    return Form(test_list, {"type": "array", "items": form.schema})


def _row(*forms: Form, optional: int = 0) -> Form:
    """A list with one value for each form; the last `optional` values may be missing."""
    counts = range(len(forms) - optional, len(forms) + 1)

    def test_row(value: Any) -> None:
        if not isinstance(value, list | tuple) or len(value) not in counts:  # pyright: ignore[reportUnknownArgumentType]
            raise _WrongDataError(value, f"a list of {len(forms)} values")
        for position, (item, form) in enumerate(zip(value, forms, strict=False)):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            _test_at(f"[{position}]", item, form)

    bounds = {"minItems": counts[0], "maxItems": counts[-1]}
    return Form(test_row, {"type": "array", "prefixItems": [form.schema for form in forms], **bounds})


def _mapping_of(form: Form) -> Form:
    def test_mapping(value: Any) -> None:
        if type(value) is not dict:
            raise _WrongDataError(value, "an object")
        for name, item in value.items():  # pyright: ignore[reportUnknownVariableType]
            _test_at(f".{name}", item, form)

    return Form(test_mapping, {"type": "object", "additionalProperties": form.schema})


def _record(required: Mapping[str, Form], optional: Mapping[str, Form] | None = None) -> Form:
    """An object with these fields; unknown fields are ignored."""

    def test_record(value: Any) -> None:
        if type(value) is not dict:
            raise _WrongDataError(value, "an object")
        for name, form in required.items():
            if name not in value:
                raise _WrongDataError(value, f"an object with the field {name}")
            _test_at(f".{name}", value[name], form)
        for name, form in (optional or {}).items():
            if name in value:
                _test_at(f".{name}", value[name], form)

    properties = {name: form.schema for name, form in {**required, **(optional or {})}.items()}
    return Form(test_record, {"type": "object", "required": list(required), "properties": properties})


def _all(*forms: Form) -> Form:
    def test_all(value: Any) -> None:
        for form in forms:
            form.test(value)

    return Form(test_all, {"allOf": [form.schema for form in forms]})


def _test_at(step: str, value: Any, form: Form) -> None:
    try:
        form.test(value)
    except _WrongDataError as error:
        error.path.append(step)
        raise


# ---------------------------------------------------------------------- the data of a trace

TEXT, FLAG = _is("a string", "string", str), _is("true or false", "boolean", bool)
NUMBER = _is("a number", "number", int, float)
ANYTHING = Form(_test_anything, {})
INTEGER, COUNT, SIZE = _is("an integer", "integer", int), _between(0, MAX_COUNT), _between(1, MAX_COUNT)
ID = _between(0, MAX_ID)
IDS, COUNTS, TEXTS, NUMBERS = _list_of(ID), _list_of(COUNT), _list_of(TEXT), _list_of(NUMBER)

PARAMETER_CONFIG = _all(_mapping_of(ANYTHING), _record({}, {"shape": _maybe(COUNTS)}))
PARAMETER_NODE = _row(TEXT, SIZE, PARAMETER_CONFIG, COUNTS)
FORM = _record({"shape": COUNTS, "nodes": _list_of(PARAMETER_NODE), "outputs": _list_of(_row(COUNT, COUNT))})
PARAMETER = _record({"form": COUNT, "leaves": _list_of(TEXTS)})
UNITS = {"num_input_units": _maybe(COUNT), "arity": _maybe(COUNT)}
LAYER_CONFIG = _all(_mapping_of(ANYTHING), _record({"num_output_units": SIZE}, UNITS))
OPERATOR_CONFIG = _all(_mapping_of(ANYTHING), _record({"results": TEXTS, "bytes": COUNT}))
NESTED_CONFIG = _all(_mapping_of(ANYTHING), _record({}, UNITS))
ABOUT = _all(_mapping_of(ANYTHING), _record({}, {"module": TEXT, "modules": TEXTS}))
SCOPES = _list_of(_list_of(_between(0, MAX_VARIABLE)))


def _node(config: Form, depth: int = 0) -> Form:
    def test_nested(value: Any) -> None:
        if depth == MAX_DEPTH:
            raise _WrongDataError(value, f"at most {MAX_DEPTH} nodes inside each other")
        _node(NESTED_CONFIG, depth + 1).test(value)

    nested = Form(test_nested, _reference("nested_node"))
    inside = {"about": ABOUT, "parameters": _mapping_of(PARAMETER), "nested": _mapping_of(nested)}
    names = {"type": TEXT, "kind": TEXT, "title": TEXT}
    return _record({**names, "folds": SIZE, "config": config}, {"scope": _maybe(SCOPES), **inside})


def _refusal(depth: int = 0) -> Form:
    """A refusal, which may contain refusals of a sub-pattern."""

    def test_inner(value: Any) -> None:
        if depth == MAX_DEPTH:
            raise _WrongDataError(value, f"at most {MAX_DEPTH} refusals inside each other")
        _refusal(depth + 1).test(value)

    inner = _list_of(Form(test_inner, _reference("refusal")))
    names = {"what": TEXT, "parameter_path": TEXT, "inner": inner, "found": ANYTHING, "wanted": ANYTHING}
    return _record({"pattern": TEXT, "root": ID, "entry": COUNT, "node": ID, "kind": TEXT}, names)


_named("nested_node", _node(NESTED_CONFIG))
REFUSAL = _named("refusal", _refusal())
READ = _record({"kind": _one_of(READ_KINDS), "copied_bytes": COUNT, "index": _list_of(_list_of(_row(ID, COUNT)))})
FOLD = {"level": COUNT, "node": ID, "type": TEXT, "key": _list_of(_row(TEXT, ANYTHING)), "members": IDS}
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
        "level": _one_of(LEVELS),
        "changed": FLAG,
        "stats": _mapping_of(INTEGER),
        "matches": _list_of(_row(TEXT, ID, IDS, TEXT, _list_of(_row(TEXT, NUMBER)), optional=1)),
        "refusals": _list_of(REFUSAL),
        "refusals_over": _mapping_of(SIZE),
        "lost": _list_of(_row(COUNT, COUNT, ID, TEXT, TEXT, TEXT, _list_of(_row(TEXT, NUMBER, NUMBER)), optional=2)),
        "rewrites": _list_of(_row(COUNT, TEXT, IDS, IDS, TEXT, IDS, optional=1)),
        "folds": _list_of(_record(FOLD, {"read": READ})),
        "limits": _list_of(_row(TEXT, INTEGER, TEXT)),
        "error": _maybe(TEXT),
    },
    {
        "memory": _named("memory", MEMORY),
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


def _trace(name: str, config: Form, circuit: Form) -> Form:
    """The data of a trace with such a config of nodes."""
    rows = {
        "steps": _list_of(_named("step", STEP)),
        "nodes": _list_of(_named(f"{name}_node", _node(config))),
        "parameters": _list_of(_named("parameter_graph", FORM)),
    }
    return _record({"rules": _list_of(_named("rule", RULE)), "circuit": circuit, **rows}, OTHERS)


COLUMNS = {
    "columns": TEXTS,
    "column_values": _list_of(_record({"labels": TEXTS, "zero": NUMBER, "unit": NUMBER}, {"is_integer": FLAG})),
}
CIRCUIT_TRACE = _trace("circuit", LAYER_CONFIG, _maybe(_record({"layers": LAYERS}, COLUMNS)))
OPERATOR_TRACE = _trace("operator", OPERATOR_CONFIG, _is("null", "null", type(None)))
