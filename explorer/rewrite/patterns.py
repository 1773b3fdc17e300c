"""Patterns: chains of node types from a root towards the inputs.

Each entry may have conditions on its config and sub-patterns for its parameters. A pattern knows its source location.
"""

import inspect
from abc import ABC
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import FunctionType, MappingProxyType
from typing import Any, NamedTuple, cast

from explorer.errors import RuleError

NO_CONDITIONS: Mapping[str, Any] = MappingProxyType({})


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
