"""Patterns: chains of node types from a root towards the inputs.

Each entry may have conditions on its config and sub-patterns for its parameters. A pattern knows its source location.

Attempts at roots that are alike fail alike, so one is enough for all of them. Most attempts fail for a reason that a
few facts of their root determine: how many nodes it reads, the type of the only one, the fields on which patterns have
conditions, and the operator that computes a parameter. Of the thousands of sums of an image circuit, few differ in
these facts.
"""

import inspect
from abc import ABC
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, cached_property
from itertools import takewhile
from types import FunctionType, MappingProxyType, MemberDescriptorType, NoneType
from typing import Any, NamedTuple, cast

from explorer.errors import RuleError
from explorer.graph import Graph
from explorer.trace import Refusal, RefusalKind

NO_CONDITIONS: Mapping[str, Any] = MappingProxyType({})

PLAIN = frozenset((int, str, NoneType))
"""Types of values that are the same if they are equal."""

UNKNOWN = object()
"""The fact of a field that is not set or not plain, and of a parameter that has no single output."""

Facts = tuple[object, ...]
"""Facts of a root; roots of one type with equal facts are alike."""

Answer = tuple[int, RefusalKind, str]
"""The entry, kind and field of a refusal."""


@dataclass(frozen=True)
class Condition:
    """A condition on a config value, as text and as a test; a plain value instead means equality."""

    text: str
    test: Callable[[Any], bool]

    def __repr__(self) -> str:
        return self.text


def at_least(bound: float) -> Condition:
    """The condition that a value is at least this large.

    >>> at_least(2)
    at least 2
    """
    return Condition(f"at least {bound}", lambda value: value is not None and value >= bound)


def at_most(bound: float) -> Condition:
    """The condition that a value is at most this large.

    >>> at_most(2)
    at most 2
    """
    return Condition(f"at most {bound}", lambda value: value is not None and value <= bound)


def other_than(value: object) -> Condition:
    """The condition that a value differs from this one.

    >>> other_than(2)
    other than 2
    """
    return Condition(f"other than {value}", lambda found: found != value)


def all_of(*conditions: object) -> Condition:
    """The condition that all of these hold; each is a `Condition` or a value for equality.

    >>> all_of(at_least(2), other_than(3))
    at least 2 and other than 3
    """

    def test(value: Any) -> bool:
        return all(c.test(value) if isinstance(c, Condition) else value == c for c in conditions)

    return Condition(" and ".join(map(str, conditions)), test)


class ChainEntry(NamedTuple):
    """An entry of a pattern: its number and type, its conditions by field, its sub-patterns by parameter.

    `accepts` tells whether a node of a type fits; asking an abstract class itself would take longer.
    """

    number: int
    kind: type
    accepts: Callable[[type], bool]
    conditions: tuple[tuple[str, object], ...]
    sub_patterns: "tuple[tuple[str, ParameterOptPattern], ...]"
    is_last: bool


@dataclass(frozen=True, eq=False)
class GraphOptPattern(ABC):
    """Base of both kinds of patterns.

    `entries`: node types, root first. `is_output`: match only at outputs of the graph.
    `config_patterns[i]`: field name -> value or `Condition` for entry i; trailing entries may be left out.
    `sub_patterns[i]`: parameter name -> pattern that must match in this parameter of entry i.
    Raises: RuleError if there are no entries, more conditions than entries, or values of the wrong type.
    """

    name: str
    entries: tuple[type, ...]
    is_output: bool = field(default=False, kw_only=True)
    config_patterns: tuple[Mapping[str, Any], ...] = field(default=(), kw_only=True)
    sub_patterns: "tuple[Mapping[str, ParameterOptPattern], ...]" = field(default=(), kw_only=True)
    source: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        self._check_kinds()
        if not self.entries:
            raise RuleError(f"the pattern {self.name} has no entries; pass at least one node type")
        for what, given in (("config_patterns", self.config_patterns), ("sub_patterns", self.sub_patterns)):
            if len(given) > len(self.entries):
                raise RuleError(f"the pattern {self.name} has {len(given)} {what} for {len(self.entries)} entries")
        if not self.source:
            object.__setattr__(self, "source", source_of_caller())

    def _check_kinds(self) -> None:
        if not _are(type, self.entries):
            shown = str(self.entries)
            raise RuleError(f"entries of the pattern {self.name}: expected a tuple of types, as in (A,); got {shown}")
        for what, given in (("config_patterns", self.config_patterns), ("sub_patterns", self.sub_patterns)):
            if not _are(Mapping, given):
                wanted = "a tuple with one dictionary per entry, as in ({...},)"
                raise RuleError(f"{what} of the pattern {self.name}: expected {wanted}; got {given}")
        for conditions in cast("tuple[Mapping[str, object], ...]", self.sub_patterns):
            for name, sub_pattern in conditions.items():
                if not isinstance(sub_pattern, ParameterOptPattern):
                    wanted = f"a ParameterOptPattern for the parameter {name!r}"
                    raise RuleError(f"sub_patterns of the pattern {self.name}: expected {wanted}, got {sub_pattern}")

    @cached_property
    def chain(self) -> "tuple[ChainEntry, ...]":
        """The entries with their conditions, in the order in which the matcher visits them."""
        last = len(self.entries) - 1
        return tuple(
            ChainEntry(
                i,
                kind,
                _subclass_test(kind),
                tuple(self.config_of_entry(i).items()),
                tuple(self.sub_patterns_of_entry(i).items()),
                i == last,
            )
            for i, kind in enumerate(self.entries)
        )

    def config_of_entry(self, entry: int) -> Mapping[str, Any]:
        """The conditions on the config of an entry."""
        return self.config_patterns[entry] if entry < len(self.config_patterns) else NO_CONDITIONS

    def sub_patterns_of_entry(self, entry: int) -> "Mapping[str, ParameterOptPattern]":
        """The sub-patterns for the parameters of an entry."""
        return self.sub_patterns[entry] if entry < len(self.sub_patterns) else NO_CONDITIONS


@dataclass(frozen=True, eq=False)
class ParameterOptPattern(GraphOptPattern):
    """A pattern for parameter graphs."""


@dataclass(frozen=True, eq=False)
class LayerOptPattern(GraphOptPattern):
    """A pattern for the layers of a circuit."""


def _subclass_test(kind: type) -> Callable[[type], bool]:
    """A test whether a type is a subclass of another one, which remembers its answers."""

    @cache
    def accepts(found: type) -> bool:
        return issubclass(found, kind)

    return accepts


def _are(kind: type, given: Any) -> bool:
    """Whether a value is a tuple or list of instances of a type."""
    return isinstance(given, tuple | list) and all(isinstance(one, kind) for one in cast("tuple[Any, ...]", given))


INTERNAL_MODULES = (
    "explorer.rewrite.",
    "explorer.tensor.rewriting.",
    "explorer.tensor.rules.families",
    "dataclasses",
)
"""Modules that create patterns and rules on behalf of a caller: the caller's location is reported."""


def source_of_caller() -> str:
    """`file.py:line` of the first caller outside these modules."""
    frame = inspect.currentframe()
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        generated = frame.f_code.co_filename.startswith("<string")
        if not name.startswith(INTERNAL_MODULES) and not generated:
            return f"{_short(frame.f_code.co_filename)}:{frame.f_lineno}"
        frame = frame.f_back
    return "?"


def source_of_function(function: FunctionType) -> str:
    """`file.py:line` of a function."""
    return f"{_short(function.__code__.co_filename)}:{function.__code__.co_firstlineno}"


def _short(filename: str) -> str:
    """A file name starting at the package folder, so that traces are equal on every machine."""
    for marker in ("/explorer/", "/tests/", "/notebooks/"):
        if marker in filename:
            return marker[1:] + filename.rsplit(marker, 1)[1]
    return filename.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class RootFacts:
    """The facts of roots of one type on which the first entries of patterns have conditions and sub-patterns."""

    conditions: Mapping[str, int]
    """Field -> the position of its value among the facts. The first fact is about the inputs."""
    parameters: Mapping[str, int]
    """Parameter -> the position of its output among the facts."""

    @classmethod
    def of(cls, kind: type, patterns: Iterable[GraphOptPattern]) -> "RootFacts":
        """The facts of a type that patterns ask for; what they ask after a value that is computed does not matter."""
        stored = _stored_fields(kind)
        conditions: dict[str, None] = {}
        parameters: dict[str, None] = {}
        for pattern in patterns:
            first = pattern.chain[0]
            names = list(takewhile(stored.__contains__, [name for name, _ in first.conditions]))
            conditions |= dict.fromkeys(names)
            if len(names) == len(first.conditions):
                parameters |= dict.fromkeys([name for name, _ in first.sub_patterns[:1] if name in stored])
        places = {name: place for place, name in enumerate(conditions, 1)}
        return cls(places, {name: place for place, name in enumerate(parameters, 1 + len(places))})

    def read(self, graph: Graph[Any], root: int) -> Facts:
        """The facts of a root."""
        node, inputs = graph.nodes[root], graph.inputs[root]
        facts: list[object] = [graph.nodes[inputs[0]].__class__ if len(inputs) == 1 else len(inputs)]
        for name in self.conditions:
            value = getattr(node, name, UNKNOWN)
            facts.append(value if value.__class__ in PLAIN else UNKNOWN)
        for name in self.parameters:
            facts.append(_output(getattr(node, name, UNKNOWN)))
        return tuple(facts)


class AlikeRoots:
    """The refusals of a pattern at roots of one type, by the facts that determine them."""

    def __init__(self, pattern: GraphOptPattern, facts: RootFacts) -> None:
        self.refusals: dict[Facts, Refusal] = {}
        self._places = dict(_determined(pattern, facts))

    def keep(self, refusal: Refusal, facts: Facts) -> None:
        """Keep the refusal of a root with these facts for the others, if no question until then asks for more."""
        places = self._places.get((refusal.entry, refusal.kind, refusal.what))
        if places is None or any(facts[place] is UNKNOWN for place in places):
            return
        if all((inner.entry, inner.kind) == (0, RefusalKind.WRONG_TYPE) for inner in refusal.inner):
            self.refusals[facts] = refusal


def _determined(pattern: GraphOptPattern, facts: RootFacts) -> Iterator[tuple[Answer, tuple[int, ...]]]:
    """The refusals that facts of the root determine, with their locations, by all questions until then.

    Questions are in the order of `matching.questions_of`. Of parameters, facts determine the first question.
    """
    first, *others = pattern.chain
    places: tuple[int, ...] = ()
    yield (0, RefusalKind.SEVERAL_INPUTS, ""), places
    for name, _ in first.conditions:
        if name not in facts.conditions:
            return
        places += (facts.conditions[name],)
        yield (0, RefusalKind.CONFIG_DIFFERS, name), places
    for name, sub_pattern in first.sub_patterns:
        if name in facts.parameters and sub_pattern.is_output:
            yield (0, RefusalKind.SUB_PATTERN_FAILED, name), (*places, facts.parameters[name])
        return
    if others:
        yield (0, RefusalKind.NO_INPUT, ""), places
        yield (1, RefusalKind.WRONG_TYPE, ""), places


def refusal_at(refusal: Refusal, root: int, inputs: tuple[int, ...]) -> Refusal:
    """The same refusal for another root that is alike, and reads these inputs."""
    pattern, _, entry, _, kind, found, wanted, what, inner = refusal
    fields = (pattern, root, entry, inputs[0] if entry else root, kind, found, wanted, what, inner)
    return Refusal._make(fields)  # there may be hundreds of thousands: this is faster than the constructor


def _output(parameter: object) -> object:
    """The output of a parameter and its type; None if there is no parameter."""
    if parameter is None:
        return None
    found = getattr(parameter, "graph", None)
    if not isinstance(found, Graph) or len(found.outputs) != 1:
        return UNKNOWN
    graph = cast("Graph[Any]", found)
    return graph.outputs[0], graph.nodes[graph.outputs[0]].__class__


@cache
def _stored_fields(kind: type) -> frozenset[str]:
    """The fields of a type that are read from the object; a property, or any other descriptor, may compute."""
    if not is_dataclass(kind):
        return frozenset()
    return frozenset(one.name for one in fields(kind) if one.init and _is_stored(kind, one.name))


def _is_stored(kind: type, name: str) -> bool:
    found = inspect.getattr_static(kind, name, None)
    return isinstance(found, MemberDescriptorType) or not hasattr(found.__class__, "__get__")
