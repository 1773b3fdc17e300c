"""Refusals that all roots which are alike have in common, so that one attempt is enough for all of them.

Most attempts fail for a reason that a few facts of their root determine: how many nodes it reads, the type of the only
one, the fields on which patterns have conditions, and the operator that computes a parameter. Of the thousands of sums
of an image circuit, few differ in these facts.
"""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from itertools import takewhile
from types import MemberDescriptorType, NoneType
from typing import Any, cast

from explorer.graph import Graph
from explorer.rewrite.patterns import GraphOptPattern
from explorer.trace import Refusal, RefusalKind

PLAIN = frozenset((int, str, NoneType))
"""Types of values that are the same if they are equal."""

UNKNOWN = object()
"""The fact of a field that is not set or not plain, and of a parameter that has no single output."""

Facts = tuple[object, ...]
"""Facts of a root; roots of one type with equal facts are alike."""

Answer = tuple[int, RefusalKind, str]
"""The entry, kind and field of a refusal."""


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
    return Refusal(pattern, root, entry, inputs[0] if entry else root, kind, found, wanted, what, inner)


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
