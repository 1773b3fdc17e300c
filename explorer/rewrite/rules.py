"""Rules and their registries: a pattern, and what replaces a match.

A rule is pure: it gets the compiler and a match and gives the nodes that replace it, in topological order. It may
decline a match beforehand, with a reason. Source: handbook, Optimization Rules and Optimizer Registries.
"""

from abc import ABC
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from types import FunctionType
from typing import Any, ClassVar

from explorer.errors import DuplicateNameError, RuleError, unknown_name
from explorer.rewrite.matching import GraphOptMatch
from explorer.rewrite.patterns import (
    GraphOptPattern,
    LayerOptPattern,
    ParameterOptPattern,
    source_of_caller,
    source_of_function,
)
from explorer.trace import RuleDescription

ApplyFunction = Callable[[Any, GraphOptMatch], tuple[Any, ...]]
Guard = Callable[[Any, GraphOptMatch], "str | None"]


class Exactness(Enum):
    """What a rule promises: bit-equal values; values equal in real arithmetic; values within a stated bound."""

    EXACT = "exact"
    REAL = "real"
    LOSSY = "lossy"


@dataclass(frozen=True, eq=False)
class Rule:
    """A pattern and the function that replaces its matches.

    `apply(compiler, match)` gives the new nodes in topological order, the last one standing for the root.
    `guard(compiler, match)` gives the reason to leave a match alone, or None.
    """

    pattern: GraphOptPattern
    apply: ApplyFunction
    guard: Guard | None = None
    exactness: Exactness = Exactness.REAL
    source: str = ""

    @property
    def name(self) -> str:
        """A rule is known by the name of its pattern."""
        return self.pattern.name

    @property
    def doc(self) -> str:
        """The first line of the docstring of the function."""
        return (self.apply.__doc__ or "").strip().split("\n")[0]

    def describe(self, kind: str) -> RuleDescription:
        """What a trace says of the rule."""
        entries = tuple(entry.__name__ for entry in self.pattern.entries)
        return RuleDescription(
            self.name, self.name, entries, kind, self.exactness.value, self.doc, self.source, self.guard is not None
        )


@dataclass(eq=False)
class OptRegistry(ABC):
    """Rules by name, in order of registration; a compiler takes a copy."""

    takes: ClassVar[type[GraphOptPattern]]

    rules: dict[str, Rule] = field(default_factory=dict[str, Rule])

    def rule(
        self, pattern: GraphOptPattern, *, guard: Guard | None = None, exactness: Exactness = Exactness.REAL
    ) -> Callable[[ApplyFunction], ApplyFunction]:
        """Decorator: register a function as the rule of a pattern.

        Raises: DuplicateNameError if a rule has this name; RuleError for a pattern of the other kind.
        """
        if not isinstance(pattern, self.takes):
            raise RuleError(f"{type(self).__name__} takes a {self.takes.__name__}; found a {type(pattern).__name__}")
        if pattern.name in self.rules:
            raise DuplicateNameError(
                f"a rule named {pattern.name!r} is registered already; give the pattern another name"
            )

        def register(apply: ApplyFunction) -> ApplyFunction:
            source = source_of_function(apply) if isinstance(apply, FunctionType) else source_of_caller()
            self.rules[pattern.name] = Rule(pattern, apply, guard, exactness, source)
            return apply

        return register

    def put_first(self, rule: Rule) -> None:
        """Take a rule before all others, so that it wins where another matches as well as it does.

        Raises: DuplicateNameError if a rule has its name; RuleError for a pattern of the other kind.
        """
        self.rule(rule.pattern)  # its checks
        self.rules = {rule.name: rule, **self.rules}

    def without(self, names: Iterable[str]) -> "OptRegistry":
        """A copy without some rules; names that are not here are passed over."""
        drop = set(names)
        return type(self)({name: rule for name, rule in self.rules.items() if name not in drop})

    def copy(self) -> "OptRegistry":
        """A copy that may grow without touching this one."""
        return type(self)(dict(self.rules))

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules.values())

    def __len__(self) -> int:
        return len(self.rules)

    def __getitem__(self, name: str) -> Rule:
        if name not in self.rules:
            raise unknown_name("rule", name, list(self.rules))
        return self.rules[name]


@dataclass(eq=False)
class LayerOptRegistry(OptRegistry):
    """Rules on layers: one registry for fusing, one for shattering."""

    takes = LayerOptPattern


@dataclass(eq=False)
class ParameterOptRegistry(OptRegistry):
    """Rules on parameter graphs."""

    takes = ParameterOptPattern
