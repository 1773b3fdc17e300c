"""A layer pattern as a form: plain data that a page fills in, and the pattern, found and applied in a trace.

No code is evaluated: types, fields and operators are chosen from the existing ones, and values are parsed by the
declared type of their field.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from inspect import isabstract
from types import MappingProxyType
from typing import Any, cast, get_args, get_origin, get_type_hints

from explorer.backend import TorchLayer
from explorer.backend.parameters import TorchParameterNode
from explorer.compiler import TorchCompiler, record
from explorer.compiler.compiler_snapshot import CompiledSnapshot
from explorer.errors import CircuitError, FormError, UnknownNameError
from explorer.graph import Graph, field_names, subclasses
from explorer.optimize import put_rule_first, replacements_of
from explorer.rewrite import (
    LayerOptPattern,
    ParameterOptPattern,
    all_of,
    at_least,
    at_most,
    match_optimization_patterns,
    match_pattern,
    other_than,
)
from explorer.symbolic import Circuit
from explorer.trace import Check, Listener, Refusal, Trace, type_title
from explorer.views import PatternTrial

Value = str | int | float | bool | Sequence[int] | None

EQUAL, OTHER, AT_LEAST, AT_MOST = "=", "≠", "≥", "≤"
WHOLE, NUMBER, TRUTH, WHOLES = "integer", "number", "true or false", "integers"
KINDS: Mapping[Any, str] = MappingProxyType(
    {int: WHOLE, float: NUMBER, float | None: NUMBER, bool: TRUTH, tuple[int, ...]: WHOLES}
)
"""The declared types of fields that support conditions, and their names."""
NAME = re.compile(r"[A-Za-z][A-Za-z0-9]{0,59}")
NUMBERS = re.compile(r"[+-]?\d{1,18}")
MAX_PATTERN_ENTRIES, MAX_CONDITIONS = 12, 12
"""Maximum numbers of entries of a form, and of conditions of an entry."""


@dataclass(frozen=True, slots=True)
class ConditionForm:
    """A condition on a config field; `value` is typed text or a Python value."""

    field: str
    operator: str = EQUAL
    value: Value = ""


@dataclass(frozen=True, slots=True)
class NodeForm:
    """A node of a parameter graph: its type by name, and conditions."""

    type: str
    conditions: tuple[ConditionForm, ...] = ()


@dataclass(frozen=True, slots=True)
class ParameterForm:
    """A sub-pattern of a parameter: a chain of nodes; with `is_output` it ends at the parameter's output."""

    entries: tuple[NodeForm, ...]
    is_output: bool = True


@dataclass(frozen=True, slots=True)
class LayerForm:
    """A layer: its type by name, conditions, and (parameter name, sub-pattern) pairs."""

    type: str
    conditions: tuple[ConditionForm, ...] = ()
    parameters: tuple[tuple[str, ParameterForm], ...] = ()


@dataclass(frozen=True, slots=True)
class PatternForm:
    """A pattern of consecutive layers, the one nearest to the outputs first."""

    name: str = "MyPattern"
    entries: tuple[LayerForm, ...] = ()
    is_output: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the form as data of JSON types."""
        return asdict(self)

    @staticmethod
    def from_json(data: object) -> "PatternForm":
        """Read a form from such data; names are checked by `build_pattern`. Raises: FormError for malformed data."""
        return _read_form(PatternForm, data, "")


@dataclass(frozen=True, slots=True)
class FieldChoice:
    """A field that supports conditions: its name, the kind of its value, its operators."""

    name: str
    kind: str
    operators: tuple[str, ...]


# ---------------------------------------------------------------------- choices of a form


def layer_types() -> Mapping[str, type]:
    """Return the layer types by name: those in a graph, user-defined ones last, then their base classes."""
    return _types(TorchLayer)


def parameter_types() -> Mapping[str, type]:
    """Return the parameter node types by name, in the same order."""
    return _types(TorchParameterNode)


def _types(base: type) -> Mapping[str, type]:
    is_own = {kind: kind.__module__.startswith("explorer.") for kind in subclasses(base)}
    kinds = sorted(is_own, key=lambda kind: (isabstract(kind), not is_own[kind], kind.__name__))
    return MappingProxyType({kind.__name__: kind for kind in kinds})


def fields_of(type_name: str) -> tuple[FieldChoice, ...]:
    """Return the fields of a layer or parameter node type that support conditions. Raises: FormError."""
    kind = _look_up({**layer_types(), **parameter_types()}, type_name, "type", "type")
    hints = get_type_hints(kind)
    known = [(name, KINDS[hints[name]]) for name in field_names(kind, "config") if hints[name] in KINDS]
    ordered = (EQUAL, OTHER, AT_LEAST, AT_MOST)
    return tuple(FieldChoice(n, what, ordered if what in (WHOLE, NUMBER) else ordered[:2]) for n, what in known)


def parameters_of_type(type_name: str) -> tuple[str, ...]:
    """Return the parameter names of a layer type. Raises: FormError."""
    return field_names(_look_up(layer_types(), type_name, "type of layers", "type"), "parameter")


# ---------------------------------------------------------------------- the pattern


def build_pattern(form: PatternForm) -> LayerOptPattern:
    """Build the pattern of a form. Raises: FormError with the path of the invalid field."""
    if not NAME.fullmatch(form.name):
        raise _error("name", f"the name of a pattern consists of letters and digits; found {form.name!r}")
    _check_count(form.entries, "entries", "layer")
    types, configs, subs = list[type](), list[Mapping[str, Any]](), list[Mapping[str, ParameterOptPattern]]()
    for i, entry in enumerate(form.entries):
        where = f"entries[{i}]"
        types.append(_look_up(layer_types(), entry.type, "type of layers", f"{where}.type"))
        configs.append(_config(entry, where))
        names = [name for name, _ in entry.parameters]
        if len(set(names)) < len(names):
            raise _error(f"{where}.parameters", "a parameter has one sub-pattern; one of them has two")
        subs.append({name: _sub_pattern(entry.type, name, sub, where) for name, sub in entry.parameters})
    return LayerOptPattern(
        form.name,
        tuple(types),
        is_output=form.is_output,
        config_patterns=tuple(configs),
        sub_patterns=tuple(subs),
        source="a pattern that was filled in",
    )


def sub_pattern_name(form: ParameterForm) -> str:
    """The name of the pattern of a parameter: `LogSoftmaxOut`."""
    titles = [type_title(entry.type) for entry in form.entries]
    return "".join(titles) + ("Out" if form.is_output else "")


def _sub_pattern(layer: str, name: str, form: ParameterForm, where: str) -> ParameterOptPattern:
    where = f"{where}.parameters.{name}"
    if name not in parameters_of_type(layer):
        known = ", ".join(parameters_of_type(layer)) or "none"
        raise _error(where, f"a {layer} has no parameter {name!r}; it has {known}")
    _check_count(form.entries, f"{where}.entries", "node")
    types, configs = list[type](), list[Mapping[str, Any]]()
    for i, entry in enumerate(form.entries):
        at = f"{where}.entries[{i}]"
        types.append(_look_up(parameter_types(), entry.type, "type of parameter nodes", f"{at}.type"))
        configs.append(_config(entry, at))
    return ParameterOptPattern(
        sub_pattern_name(form),
        tuple(types),
        is_output=form.is_output,
        config_patterns=tuple(configs),
        source="a pattern that was filled in",
    )


def _config(entry: "LayerForm | NodeForm", where: str) -> Mapping[str, Any]:
    """Return the conditions on the config of an entry; all conditions on one field must hold."""
    if len(entry.conditions) > MAX_CONDITIONS:
        raise _error(f"{where}.conditions", f"at most {MAX_CONDITIONS} conditions; found {len(entry.conditions)}")
    found: dict[str, list[Any]] = {}
    for i, condition in enumerate(entry.conditions):
        value = condition_value(entry.type, condition, f"{where}.conditions[{i}]")
        found.setdefault(condition.field, []).append(CONDITIONS[condition.operator](value))
    return {name: wanted[0] if len(wanted) == 1 else all_of(*wanted) for name, wanted in found.items()}


CONDITIONS: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {EQUAL: lambda value: value, OTHER: other_than, AT_LEAST: at_least, AT_MOST: at_most}
)
"""The matcher of each operator; equality is expressed by the value itself."""


def condition_value(type_name: str, condition: ConditionForm, where: str = "value") -> Any:
    """Parse the value of a condition by the declared type of its field. Raises: FormError."""
    choices = {choice.name: choice for choice in fields_of(type_name)}
    choice = _look_up(choices, condition.field, f"field of {type_name}", f"{where}.field")
    if condition.operator not in choice.operators:
        known = " ".join(choice.operators)
        raise _error(f"{where}.operator", f"{choice.name} is compared by one of {known}; found {condition.operator!r}")
    read = _read(choice.kind, condition.value)
    if read is None:
        expected = f"{choice.name} of {type_name} must be of type {choice.kind}"
        raise _error(f"{where}.value", f"{expected}; found {condition.value!r}")
    return read


def _read(kind: str, value: object) -> Any:
    """Convert a value or its text to this kind; None if it is invalid."""
    text = value.strip() if isinstance(value, str) else None
    if kind == TRUTH:
        words = {"yes": True, "true": True, "no": False, "false": False}
        return words.get(text.lower()) if text is not None else value if isinstance(value, bool) else None
    if isinstance(value, bool):
        return None
    if kind == WHOLE:
        if text is not None:
            return int(text) if NUMBERS.fullmatch(text) else None
        return value if isinstance(value, int) else None
    if kind == NUMBER:
        return _number(value if text is None else text)
    parts = re.split(r"[\s,×]+", text.strip("()[] ,")) if text is not None else value
    if not isinstance(parts, list | tuple):
        return None
    numbers = [_read(WHOLE, part) for part in cast("Sequence[object]", parts)]
    return None if None in numbers else tuple(numbers)


def _number(value: object) -> float | None:
    try:
        number = float(value) if isinstance(value, str | int | float) else math.nan
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


# ---------------------------------------------------------------------- errors


def _error(where: str, message: str) -> FormError:
    error = FormError(f"{where}: {message}")
    error.field = where
    return error


def _look_up(known: Mapping[str, Any], name: object, what: str, where: str) -> Any:
    if not isinstance(name, str) or name not in known:
        raise _error(where, f"there is no {what} named {name!r}; known are: {', '.join(known) or '(none)'}")
    return known[name]


def _check_count(entries: Sequence[object], where: str, what: str) -> None:
    if not 1 <= len(entries) <= MAX_PATTERN_ENTRIES:
        raise _error(where, f"a pattern has 1 to {MAX_PATTERN_ENTRIES} {what}s; found {len(entries)}")


# ---------------------------------------------------------------------- reading data


def _read_form(kind: Any, data: object, where: str) -> Any:
    """Read data as a value of a declared type: a form by its fields, a tuple, a string, a bool, or a `Value`.

    Absent fields have their defaults, unknown ones are ignored. Raises: FormError with the path of the invalid field.
    """
    if is_dataclass(kind):
        if not isinstance(data, dict):
            raise _error(where or "the form", f"found a {type(data).__name__}, not the fields of a form")
        given, hints = cast("dict[str, object]", data), get_type_hints(kind)
        for f in fields(kind):
            if f.name not in given and f.default is MISSING:
                raise _error(where or "the form", f"it has no {f.name}")
        names = [f.name for f in fields(kind) if f.name in given]
        read = {name: _read_form(hints[name], given[name], f"{where}.{name}".lstrip(".")) for name in names}
        return cast("Any", kind)(**read)
    if get_origin(kind) is tuple:
        if not isinstance(data, list | tuple):
            raise _error(where, f"found a {type(data).__name__}, not a list")
        items, kinds = cast("Sequence[object]", data), get_args(kind)
        if kinds[-1] is Ellipsis:
            kinds = kinds[:1] * len(items)
        if len(items) != len(kinds):
            raise _error(where, f"expected {len(kinds)} items; found {len(items)}")
        return tuple(
            _read_form(one, item, f"{where}[{i}]") for i, (one, item) in enumerate(zip(kinds, items, strict=True))
        )
    if kind in (str, bool) and not isinstance(data, kind):
        raise _error(where, f"expected a {'string' if kind is str else 'bool'}; found {data!r}")
    return tuple(cast("list[object]", data)) if isinstance(data, list) else data


# ---------------------------------------------------------------------- use of a form


def try_pattern(trace: Trace, step: "int | str", form: PatternForm, after: bool = False) -> PatternTrial:
    """Match the pattern of a form on the layers before a step, or after it.

    Raises: FormError; UnknownNameError for an unknown step; CircuitError for a loaded trace.
    """
    graph = _graph(trace, step, after)
    pattern = build_pattern(form)
    found = match_optimization_patterns(graph, (pattern,))
    kind = pattern.entries[0]
    return PatternTrial(
        form.name,
        kind.__name__,
        len(graph),
        sum(isinstance(node, kind) for node in graph.nodes.values()),
        tuple(match.nodes for match in found.found),
        len(found.chosen),
        found.refusals,
        after,
    )


def explain_pattern(
    trace: Trace, step: "int | str", form: PatternForm, node: int, after: bool = False
) -> tuple[tuple[Check, ...], str]:
    """Return the matcher's checks of a form's pattern at a node, up to the first that fails, and the reason.

    Raises: FormError; UnknownNameError for an unknown step or node; CircuitError for a loaded trace.
    """
    graph = _graph(trace, step, after)
    if node not in graph.nodes:
        raise UnknownNameError(f"there is no layer {node} {'after' if after else 'before'} step {step}")
    checks: list[Check] = []
    result = match_pattern(graph, build_pattern(form), node, checks=checks)
    return tuple(checks), result.reason if isinstance(result, Refusal) else f"it matches {list(result.nodes)}"


def replacements(form: PatternForm) -> tuple[str, ...]:
    """Return the names of rules that can replace the matches of a form, and `one layer`. Raises: FormError."""
    return replacements_of(build_pattern(form))


def apply_form(trace: Trace, form: PatternForm, replacement: str, listeners: Sequence[Listener] = ()) -> Trace:
    """Compile the circuit of a trace again with the form's rule before all others of its pass.

    `listeners` receive every event. Raises: FormError, also if a rule has the form's name; UnknownNameError for a
    replacement that does not fit; CircuitError for a loaded trace; RuleError if the rule fails.
    """
    compiler = _compiler(trace).fresh_copy()
    compiler.listeners = tuple(listeners)
    put_form(compiler, form, replacement)
    return record(cast("Circuit", trace.subject), compiler=compiler)


def put_form(compiler: TorchCompiler, form: PatternForm, replacement: str) -> None:
    """Put the form's rule before all others of its pass. Raises: FormError, UnknownNameError, as `apply_form`."""
    pattern = build_pattern(form)
    if form.name in compiler.rules.names:
        error = FormError(f"name: there is already a rule named {form.name!r}; choose a different name")
        error.field = "name"
        raise error
    put_rule_first(compiler.rules, pattern, replacement)


def _compiler(trace: Trace) -> TorchCompiler:
    """Return the compiler that recorded a live trace. Raises: CircuitError."""
    snapshot = trace.steps[trace.start].snapshot if trace.steps else None
    if not isinstance(snapshot, CompiledSnapshot) or trace.subject is None:
        raise CircuitError(
            "this trace was loaded from a file, and patterns are tried on live layers; compile it again first: "
            "explorer.rerun(trace)"
        )
    return snapshot.compiler


def _graph(trace: Trace, step: "int | str", after: bool) -> Graph[Any]:
    """Return the live layers before or after a step; before the first step, its result."""
    _compiler(trace)
    index = trace.step(step).index
    return trace.steps[index if after else max(index - 1, 0)].snapshot.graph
