"""Which refusals are the same at all roots that are alike, so that one attempt is enough for all of them.

Most attempts fail for a reason that a few facts of their root determine: how many nodes it reads, the type of the only
one, the fields on which patterns have conditions, and the operator that computes a parameter. Of the thousands of sums
of an image circuit, a few differ in these facts.
"""

import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from itertools import takewhile
from types import NoneType
from typing import Any, cast

from explorer.graph import Graph
from explorer.rewrite.patterns import GraphOptPattern
from explorer.trace import Refusal, RefusalKind

PLAIN = frozenset((int, str, NoneType))
"""Types of values that are the same if they are equal."""

Facts = tuple[object, ...]
"""Facts of a root; roots of one type with equal facts are alike."""


@dataclass(frozen=True)
class RootFacts:
    """The facts of roots of one type on which the first entries of patterns have conditions and sub-patterns."""

    stored: frozenset[str]
    conditions: tuple[str, ...]
    parameters: tuple[str, ...]

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
        return cls(stored, tuple(conditions), tuple(parameters))

    def read(self, graph: Graph[Any], root: int) -> Facts | None:
        """The facts of a root; None if one of them is not a plain value."""
        node, inputs = graph.nodes[root], graph.inputs[root]
        facts: list[object] = [graph.nodes[inputs[0]].__class__ if len(inputs) == 1 else len(inputs)]
        for name in self.conditions:
            value = getattr(node, name)
            if value.__class__ not in PLAIN:
                return None
            facts.append(value)
        for name in self.parameters:
            parameter = getattr(node, name)
            if parameter is None:
                facts.append(None)
                continue
            found = getattr(parameter, "graph", None)
            if not isinstance(found, Graph) or len(found.outputs) != 1:
                return None
            inner = cast("Graph[Any]", found)
            output = inner.outputs[0]
            facts.append((output, inner.nodes[output].__class__))
        return tuple(facts)

    def determine(self, refusal: Refusal, pattern: GraphOptPattern) -> bool:
        """Whether all roots that are alike are refused for this reason: no question until then asks for anything else.

        These are the questions of `matching.questions_of`, in that order.
        """
        asked = (refusal.entry, refusal.kind, refusal.what)
        return asked in self._determined(pattern) and all(
            (inner.entry, inner.kind) == (0, RefusalKind.WRONG_TYPE) for inner in refusal.inner
        )

    def _determined(self, pattern: GraphOptPattern) -> Iterator[tuple[int, RefusalKind, str]]:
        """The refusals of a pattern that the facts determine, as far as sub-patterns fail at their first entry."""
        first, *others = pattern.chain
        yield 0, RefusalKind.SEVERAL_INPUTS, ""
        for name, _ in first.conditions:
            if name not in self.stored:
                return
            yield 0, RefusalKind.CONFIG_DIFFERS, name
        for name, sub_pattern in first.sub_patterns:
            if name in self.stored and sub_pattern.is_output:
                yield 0, RefusalKind.SUB_PATTERN_FAILED, name
            return  # if it matches, the next questions are about parameters of which little is known
        if others:
            yield 0, RefusalKind.NO_INPUT, ""
            yield 1, RefusalKind.WRONG_TYPE, ""


def moved(refusal: Refusal, root: int, inputs: tuple[int, ...]) -> Refusal:
    """The refusal at another root that is alike and reads these inputs."""
    pattern, _, entry, _, kind, found, wanted, what, inner = refusal
    return Refusal(pattern, root, entry, inputs[0] if entry else root, kind, found, wanted, what, inner)


@cache
def _stored_fields(kind: type) -> frozenset[str]:
    """The fields of a type whose values are read from the object; a property, or any other descriptor, may compute."""
    if not is_dataclass(kind):
        return frozenset()
    names = frozenset(one.name for one in fields(kind) if one.init)
    return names - {name for name in names if hasattr(inspect.getattr_static(kind, name, None).__class__, "__get__")}
