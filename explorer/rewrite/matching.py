"""Pattern matching: one pattern at one node, giving a match or the reason why not; and the search over a graph.

Source: handbook, Optimization, Pattern Matching Functions. Beyond it: an output of the graph inside a match is refused instead
of lost, and every attempt that fails says at which entry and why.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from explorer.graph import Graph
from explorer.rewrite.patterns import Condition, GraphOptPattern
from explorer.trace import Check, Refusal, RefusalKind


@dataclass(frozen=True, eq=False)
class GraphOptMatch:
    """A pattern found at concrete nodes.

    `nodes` are ids, root first; `entries` the nodes themselves; `sub_entries[i]` maps a parameter name of entry i to the matches
    found in it. `place` names the parameter whose graph was searched (`12.weight`); it is empty for layers.
    """

    pattern: GraphOptPattern
    nodes: tuple[int, ...]
    entries: tuple[Any, ...]
    sub_entries: "tuple[Mapping[str, tuple[GraphOptMatch, ...]], ...]" = ()
    place: str = ""

    @property
    def root(self) -> int:
        """The node nearest to the outputs: where the replacement's result is read."""
        return self.nodes[0]

    @property
    def entry_point(self) -> int:
        """The node nearest to the inputs: what it reads, the replacement reads."""
        return self.nodes[-1]

    def __len__(self) -> int:
        return len(self.nodes)

    def __str__(self) -> str:
        where = f" in {self.place}" if self.place else ""
        return f"{self.pattern.name} at {', '.join(map(str, self.nodes))}{where}"


@dataclass
class Search:
    """What a search found: matches in order of (pattern, topological order of the root), and near misses."""

    matches: list[GraphOptMatch] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)


def match_pattern(
    graph: Graph[Any], pattern: GraphOptPattern, root: int, place: str = "", checks: list[Check] | None = None
) -> GraphOptMatch | Refusal:
    """Try a pattern with its first entry at `root`. The questions asked are appended to `checks` if it is given."""
    current = root
    nodes: list[int] = []
    sub_entries: list[Mapping[str, tuple[GraphOptMatch, ...]]] = []
    last = len(pattern.entries) - 1

    def refuse(kind: RefusalKind, question: str, found: object = None, wanted: object = None, **more: Any) -> Refusal:
        if checks is not None:
            checks.append(Check(entry, current, question, False))
        return Refusal(pattern.name, root, entry, current, kind, found, wanted, **more)

    def passed(question: str) -> None:
        if checks is not None:
            checks.append(Check(entry, current, question, True))

    for entry, wanted_type in enumerate(pattern.entries):
        node = graph.nodes[current]
        question = f"is it a {wanted_type.__name__}?"
        if not isinstance(node, wanted_type):
            return refuse(RefusalKind.WRONG_TYPE, question, type(node).__name__, wanted_type.__name__)
        passed(question)
        if entry == 0 and pattern.is_output:
            if root not in graph.output_set:
                return refuse(RefusalKind.NOT_AN_OUTPUT, "is it an output?")
            passed("is it an output?")
        inputs = graph.inputs[current]
        if entry != last:
            if len(inputs) > 1:
                return refuse(RefusalKind.SEVERAL_INPUTS, "does it read one node?", len(inputs))
            passed("does it read one node?")
        if entry != 0:
            users = len(graph.users[current])
            if users > 1:
                return refuse(RefusalKind.SEVERAL_USERS, "is it read by one node?", users)
            passed("is it read by one node?")
            if current in graph.output_set:
                return refuse(RefusalKind.INTERIOR_OUTPUT, "may it disappear, being no output?")
            passed("may it disappear, being no output?")
        for name, wanted in pattern.config_of_entry(entry).items():
            found = getattr(node, name)
            question = f"is {name} {wanted}?"
            if not (wanted.test(found) if isinstance(wanted, Condition) else found == wanted):
                return refuse(RefusalKind.CONFIG_DIFFERS, question, found, wanted, what=name)
            passed(question)
        sub_matches: dict[str, tuple[GraphOptMatch, ...]] = {}
        for name, sub_pattern in pattern.sub_patterns_of_entry(entry).items():
            question = f"does its {name} match {sub_pattern.name}?"
            parameter = getattr(node, name, None)
            if parameter is None:
                return refuse(RefusalKind.SUB_PATTERN_FAILED, question, "it has none", sub_pattern.name, what=name)
            search = match_pattern_graph(parameter.graph, (sub_pattern,), place=f"{current}.{name}", keep_roots=True)
            if not search.matches:
                inner = tuple(search.refusals[:1])
                return refuse(
                    RefusalKind.SUB_PATTERN_FAILED, question, wanted=sub_pattern.name, what=name, inner=inner
                )
            passed(question)
            sub_matches[name] = tuple(search.matches)
        sub_entries.append(sub_matches)
        nodes.append(current)
        if entry != last:
            if not inputs:
                return refuse(RefusalKind.NO_INPUT, "does it read a node?")
            current = inputs[0]
    return GraphOptMatch(pattern, tuple(nodes), tuple(graph.nodes[n] for n in nodes), tuple(sub_entries), place)


def match_pattern_graph(
    graph: Graph[Any], patterns: Sequence[GraphOptPattern], place: str = "", keep_roots: bool = False
) -> Search:
    """Try every pattern at every node. A node whose type is not that of the first entry is no near miss.

    With `keep_roots`, refusals at the root are kept as well: they are the reason why a sub-pattern failed.
    """
    search = Search()
    by_type: dict[type, tuple[GraphOptPattern, ...]] = {}
    found: dict[GraphOptPattern, list[GraphOptMatch]] = {pattern: [] for pattern in patterns}
    candidates: Iterable[int] = graph.nodes
    for root in candidates:
        kind = type(graph.nodes[root])
        fitting = by_type.get(kind)
        if fitting is None:
            fitting = by_type[kind] = tuple(p for p in patterns if keep_roots or issubclass(kind, p.entries[0]))
        for pattern in fitting:
            if pattern.is_output and not keep_roots and root not in graph.output_set:
                continue
            result = match_pattern(graph, pattern, root, place)
            if isinstance(result, Refusal):
                search.refusals.append(result)
            else:
                found[pattern].append(result)
    search.matches = [match for pattern in patterns for match in found[pattern]]
    return search
