"""Rules and their registries: a pattern and the function that replaces its matches.

A rule is pure: it receives the compiler and a match and returns the new nodes in topological order. Its guards may
decline a match, with a reason.
"""

from abc import ABC
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from types import FunctionType
from typing import Any, ClassVar, Self

from explorer.errors import DuplicateNameError, RuleError, look_up
from explorer.rewrite.matching import GraphOptMatch, questions_of
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
ReplacementGuard = Callable[[Any, GraphOptMatch, tuple[Any, ...]], "str | None"]


class Exactness(Enum):
    """The guarantee of a rule: bit-equal values, values equal in real arithmetic, or values within a stated bound."""

    EXACT = "exact"
    REAL = "real"
    LOSSY = "lossy"


@dataclass(frozen=True, eq=False)
class Rule:
    """A pattern and the function that replaces its matches.

    `apply(compiler, match)` returns the new nodes in topological order; the last one replaces the root.
    `guard(compiler, match)` returns the reason to decline a match, or None; `replacement_guard(compiler, match, nodes)`
    decides the same of a match that the guard accepts, from the nodes that would replace it.
    """

    pattern: GraphOptPattern
    apply: ApplyFunction
    guard: Guard | None = None
    exactness: Exactness = Exactness.REAL
    source: str = ""
    replacement_guard: ReplacementGuard | None = None

    @property
    def name(self) -> str:
        """The name of the pattern."""
        return self.pattern.name

    @property
    def doc(self) -> str:
        """The first line of the function's docstring."""
        return (self.apply.__doc__ or "").strip().split("\n")[0]

    def with_guard(self, guard: Guard) -> "Rule":
        """The rule with another guard, which is asked about matches that its own guard accepts."""
        guards = [one for one in (self.guard, guard) if one is not None]

        def first_reason(compiler: Any, match: GraphOptMatch) -> str | None:
            return next((reason for one in guards if (reason := one(compiler, match)) is not None), None)

        return replace(self, guard=first_reason)

    def with_replacement_guard(self, guard: ReplacementGuard) -> "Rule":
        """The rule with another replacement guard, which is asked about matches that its own one accepts."""
        own = self.replacement_guard
        if own is None:
            return replace(self, replacement_guard=guard)

        def first_reason(compiler: Any, match: GraphOptMatch, nodes: tuple[Any, ...]) -> str | None:
            reason = own(compiler, match, nodes)
            return guard(compiler, match, nodes) if reason is None else reason

        return replace(self, replacement_guard=first_reason)

    def describe(self, kind: str) -> RuleDescription:
        """The description of the rule for a trace."""
        entries = tuple(entry.__name__ for entry in self.pattern.entries)
        guarded = self.guard is not None or self.replacement_guard is not None
        questions = questions_of(self.pattern)
        return RuleDescription(
            self.name, self.name, entries, kind, self.exactness.value, self.doc, self.source, guarded, questions
        )


@dataclass(eq=False)
class OptRegistry(ABC):
    """Rules by name, in order of registration; a compiler copies it."""

    pattern_type: ClassVar[type[GraphOptPattern]]

    rules: dict[str, Rule] = field(default_factory=dict[str, Rule])

    def rule(
        self,
        pattern: GraphOptPattern,
        *,
        guard: Guard | None = None,
        exactness: Exactness = Exactness.REAL,
        replacement_guard: ReplacementGuard | None = None,
    ) -> Callable[[ApplyFunction], ApplyFunction]:
        """Decorator: register a function as the rule of a pattern.

        Raises: DuplicateNameError if the name is taken; RuleError if the registry does not accept the pattern's type.
        """
        if not isinstance(pattern, self.pattern_type):
            raise RuleError(
                f"{type(self).__name__}: expected a {self.pattern_type.__name__}, got a {type(pattern).__name__}"
            )
        if pattern.name in self.rules:
            raise DuplicateNameError(
                f"a rule named {pattern.name!r} is registered already; give the pattern another name"
            )

        def register(apply: ApplyFunction) -> ApplyFunction:
            source = source_of_function(apply) if isinstance(apply, FunctionType) else source_of_caller()
            self.rules[pattern.name] = Rule(pattern, apply, guard, exactness, source, replacement_guard)
            return apply

        return register

    def put_first(self, rule: Rule) -> None:
        """Add a rule in front of all others, so that it wins ties.

        Raises: as `rule`.
        """
        self.rule(rule.pattern)  # its checks
        self.rules = {rule.name: rule, **self.rules}

    def without(self, names: Iterable[str]) -> Self:
        """A copy without the named rules; unknown names are ignored."""
        drop = set(names)
        return type(self)({name: rule for name, rule in self.rules.items() if name not in drop})

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules.values())

    def __len__(self) -> int:
        return len(self.rules)

    def __getitem__(self, name: str) -> Rule:
        return look_up("rule", name, self.rules)


@dataclass(eq=False)
class LayerOptRegistry(OptRegistry):
    """Layer rules; a compiler has one registry for fusing and one for shattering."""

    pattern_type = LayerOptPattern


@dataclass(eq=False)
class ParameterOptRegistry(OptRegistry):
    """Parameter rules."""

    pattern_type = ParameterOptPattern
