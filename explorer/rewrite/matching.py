"""Pattern matching: one pattern at one node, with the reason if it fails, and all patterns at all nodes.

An output of the graph inside a match is refused, because the rewrite would lose it. A search repeats only those earlier
attempts that may end differently. An attempt reads the nodes of a chain, how many users they have, whether they are
outputs, and the inputs of all but the last. Nodes are frozen, so an attempt has the same result in the next graph if
nothing of this differs there.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from explorer.errors import RuleError
from explorer.graph import Graph, field_names
from explorer.rewrite.patterns import (
    NO_CONDITIONS,
    AlikeRoots,
    Condition,
    Facts,
    GraphOptPattern,
    ParameterOptPattern,
    RootFacts,
    refusal_at,
)
from explorer.trace import Check, Question, Refusal, RefusalKind

Result = TypeVar("Result")


class KnownAttempts(Generic[Result]):
    """The results of the attempts in the latest graph, by pattern and root."""

    def __init__(self) -> None:
        self._graph: Graph[Any] = Graph({}, {}, ())
        self._of: dict[GraphOptPattern, dict[int, Result]] = {}

    def of(self, pattern: GraphOptPattern, graph: Graph[Any]) -> dict[int, Result]:
        """The known results of a pattern in a graph, by root; the caller adds what it finds."""
        if graph is not self._graph:
            chains = _unchanged_chains(self._graph, graph, max((len(known.entries) for known in self._of), default=0))
            for known, results in self._of.items():
                same = chains[len(known.entries) - 1]
                self._of[known] = {root: result for root, result in results.items() if root in same}
            self._graph = graph
        return self._of.setdefault(pattern, {})


def _unchanged_chains(before: Graph[Any], after: Graph[Any], length: int) -> list[set[int]]:
    """For each length up to `length`: roots of the chains that both graphs share and read alike."""
    same = {
        node
        for node, value in after.nodes.items()
        if before.nodes.get(node) is value
        and len(before.users[node]) == len(after.users[node])
        and (node in before.output_set) == (node in after.output_set)
    }
    chains = [same]
    linked = {node for node in same if before.inputs[node] == after.inputs[node]}
    for _ in range(length - 1):
        shorter = chains[-1]
        chains.append({node for node in linked if not after.inputs[node] or after.inputs[node][0] in shorter})
    return chains


@dataclass(frozen=True, eq=False)
class GraphOptMatch:
    """A pattern found at concrete nodes.

    `nodes` are ids, root first; `entries` the nodes themselves; `sub_entries[i]` maps a parameter name of entry i to
    the matches found in it. `parameter_path` is the path of the searched parameter (`12.weight`); it is empty
    for layers.
    """

    pattern: GraphOptPattern
    nodes: tuple[int, ...]
    entries: tuple[Any, ...]
    sub_entries: "tuple[Mapping[str, tuple[GraphOptMatch, ...]], ...]" = ()
    parameter_path: str = ""

    @property
    def root(self) -> int:
        """The node nearest to the outputs; its users read the replacement instead."""
        return self.nodes[0]

    @property
    def entry_point(self) -> int:
        """The node nearest to the inputs; the replacement reads its inputs."""
        return self.nodes[-1]

    def __len__(self) -> int:
        return len(self.nodes)

    def __str__(self) -> str:
        where = f" in {self.parameter_path}" if self.parameter_path else ""
        return f"{self.pattern.name} at {', '.join(map(str, self.nodes))}{where}"


KnownResults = KnownAttempts[GraphOptMatch | Refusal]
"""The results of attempts of earlier searches."""


@dataclass
class SearchResult:
    """The result of a search: matches ordered by (pattern, topological order of the root), and near misses."""

    matches: list[GraphOptMatch] = field(default_factory=list[GraphOptMatch])
    refusals: list[Refusal] = field(default_factory=list[Refusal])


class _Attempts(NamedTuple):
    """The attempts of one pattern in a search: the result at each root, and the matches."""

    pattern: GraphOptPattern
    results: dict[int, GraphOptMatch | Refusal]
    matches: list[GraphOptMatch]


def match_pattern(
    graph: Graph[Any],
    pattern: GraphOptPattern,
    root: int,
    parameter_path: str = "",
    checks: list[Check] | None = None,
    waived: Refusal | None = None,
) -> GraphOptMatch | Refusal:
    """Try a pattern with its first entry at `root`. The questions asked until the result are appended to `checks`.

    The question that gave the refusal `waived` passes whatever the answer is, unless the chain depends on it (a type,
    several inputs, no input).
    """
    result = _match_chain(graph, pattern, root, parameter_path, waived)
    if checks is not None:
        checks.extend(_checks_until(result, graph, pattern, root))
    return result


def _match_chain(
    graph: Graph[Any], pattern: GraphOptPattern, root: int, parameter_path: str, waived: Refusal | None
) -> GraphOptMatch | Refusal:
    """Ask the questions of each entry, in the order of `questions_of`, until an answer is no."""
    name, inputs_of = pattern.name, graph.inputs
    current = root
    nodes: list[int] = []
    entries: list[Any] = []
    sub_entries: list[Mapping[str, tuple[GraphOptMatch, ...]]] = []
    for entry, wanted, accepts, conditions, sub_patterns, is_last in pattern.chain:
        node = graph.nodes[current]
        kind: type = node.__class__
        if not accepts(kind):
            return Refusal(name, root, entry, current, RefusalKind.WRONG_TYPE, kind.__name__, wanted.__name__)
        not_an_output = entry == 0 and pattern.is_output and root not in graph.output_set
        if not_an_output and not _is_waived(waived, entry, RefusalKind.NOT_AN_OUTPUT):
            return Refusal(name, root, entry, current, RefusalKind.NOT_AN_OUTPUT)
        inputs = inputs_of[current]
        if not is_last and len(inputs) > 1:
            return Refusal(name, root, entry, current, RefusalKind.SEVERAL_INPUTS, len(inputs), 1)
        if entry != 0:
            users = len(graph.users[current])
            if users > 1 and not _is_waived(waived, entry, RefusalKind.SEVERAL_USERS):
                return Refusal(name, root, entry, current, RefusalKind.SEVERAL_USERS, users, 1)
            if current in graph.output_set and not _is_waived(waived, entry, RefusalKind.INTERIOR_OUTPUT):
                return Refusal(name, root, entry, current, RefusalKind.INTERIOR_OUTPUT)
        for what, condition in conditions:
            try:
                value = getattr(node, what)
            except AttributeError:
                raise _no_field(node, what, pattern) from None
            fits = condition.test(value) if isinstance(condition, Condition) else value == condition
            if not fits and not _is_waived(waived, entry, RefusalKind.CONFIG_DIFFERS, what):
                return Refusal(name, root, entry, current, RefusalKind.CONFIG_DIFFERS, value, condition, what)
        sub_matches = NO_CONDITIONS
        if sub_patterns:
            sub_matches = _match_sub_patterns(node, name, root, entry, current, sub_patterns, waived)
            if isinstance(sub_matches, Refusal):
                return sub_matches
        sub_entries.append(sub_matches)
        nodes.append(current)
        entries.append(node)
        if not is_last:
            if not inputs:
                return Refusal(name, root, entry, current, RefusalKind.NO_INPUT)
            current = inputs[0]
    return GraphOptMatch(pattern, tuple(nodes), tuple(entries), tuple(sub_entries), parameter_path)


def _no_field(node: Any, name: str, pattern: GraphOptPattern) -> RuleError:
    """The error for a condition on a field or property that the node does not have."""
    known = ", ".join(field_names(node.__class__, "config"))
    return RuleError(
        f"the pattern {pattern.name} ({pattern.source}) reads {name!r} of a {type(node).__name__}, which has no "
        f"such field; known are: {known}"
    )


def _is_waived(waived: Refusal | None, entry: int, kind: RefusalKind, what: str = "") -> bool:
    return waived is not None and (waived.entry, waived.kind, waived.what) == (entry, kind, what)


def _checks_until(
    result: GraphOptMatch | Refusal, graph: Graph[Any], pattern: GraphOptPattern, root: int
) -> Iterator[Check]:
    """The questions that were asked until a result: all are answered with yes, but the one of the refusal."""
    current = root
    for entry, questions in enumerate(questions_of(pattern)):
        for question in questions:
            passed = not (
                isinstance(result, Refusal)
                and (result.entry, result.kind.value, result.what) == (entry, question.kind, question.what)
            )
            yield Check(entry, current, question.text, passed)
            if not passed:
                return
        current = next(iter(graph.inputs[current]), current)


def questions_of(pattern: GraphOptPattern) -> tuple[tuple[Question, ...], ...]:
    """The questions that `match_pattern` asks at each entry, in order, until the answer is no."""
    return tuple(tuple(_questions_at(pattern, entry)) for entry in range(len(pattern.entries)))


def _questions_at(pattern: GraphOptPattern, entry: int) -> Iterator[Question]:
    is_last = entry == len(pattern.entries) - 1
    yield RefusalKind.WRONG_TYPE.ask(pattern.entries[entry].__name__)
    if pattern.is_output and entry == 0:
        yield RefusalKind.NOT_AN_OUTPUT.ask()
    if not is_last:
        yield RefusalKind.SEVERAL_INPUTS.ask()
    if entry != 0:
        yield RefusalKind.SEVERAL_USERS.ask()
        yield RefusalKind.INTERIOR_OUTPUT.ask()
    for name, condition in pattern.config_of_entry(entry).items():
        yield RefusalKind.CONFIG_DIFFERS.ask(condition, name)
    for name, sub_pattern in pattern.sub_patterns_of_entry(entry).items():
        yield RefusalKind.SUB_PATTERN_FAILED.ask(sub_pattern.name, name)
    if not is_last:
        yield RefusalKind.NO_INPUT.ask()


def _match_sub_patterns(
    node: Any,
    pattern: str,
    root: int,
    entry: int,
    current: int,
    wanted: Sequence[tuple[str, ParameterOptPattern]],
    waived: Refusal | None,
) -> Mapping[str, tuple[GraphOptMatch, ...]] | Refusal:
    """The matches of the sub-patterns of an entry in the parameters of a node, or why one of them failed."""
    kind = RefusalKind.SUB_PATTERN_FAILED
    found: dict[str, tuple[GraphOptMatch, ...]] = {}
    for name, sub_pattern in wanted:
        if _is_waived(waived, entry, kind, name):
            continue
        parameter = getattr(node, name, None)
        if parameter is None:
            return Refusal(pattern, root, entry, current, kind, "it has none", sub_pattern.name, name)
        path = f"{current}.{name}"
        roots = parameter.graph.outputs if sub_pattern.is_output else parameter.graph.nodes
        matches: list[GraphOptMatch] = []
        last: tuple[Refusal, ...] = ()
        for one in roots:
            attempt = _match_chain(parameter.graph, sub_pattern, one, path, None)
            if isinstance(attempt, Refusal):
                last = (attempt,)
            else:
                matches.append(attempt)
        if not matches:
            return Refusal(pattern, root, entry, current, kind, None, sub_pattern.name, name, last)
        found[name] = tuple(matches)
    return found


def match_pattern_graph(
    graph: Graph[Any],
    patterns: Sequence[GraphOptPattern],
    parameter_path: str = "",
    waived: Refusal | None = None,
    known: KnownResults | None = None,
    all_refusals: bool = True,
) -> SearchResult:
    """Try every pattern at every node of the type of its first entry, a pattern of outputs only at outputs.

    No refusal is recorded of the other nodes, which are not near misses; `match_pattern` has one for any node, and
    explains `waived`. Attempts that are `known` from earlier searches are not repeated, and one attempt is enough for
    nodes that are alike. Without `all_refusals`, refusals of nodes that are alike may be missing.
    """
    search = SearchResult()
    attempts = [_Attempts(pattern, {} if known is None else known.of(pattern, graph), []) for pattern in patterns]
    by_type: dict[type, tuple[RootFacts, list[tuple[_Attempts, AlikeRoots]]]] = {}
    outputs = graph.nodes if _is_waived(waived, 0, RefusalKind.NOT_AN_OUTPUT) else graph.output_set
    for root, node in graph.nodes.items():
        kind = node.__class__
        found = by_type.get(kind)
        if found is None:
            fitting = [one for one in attempts if one.pattern.chain[0].accepts(kind)]
            of_type = RootFacts.of(kind, [one.pattern for one in fitting])
            found = by_type[kind] = (of_type, [(one, AlikeRoots(one.pattern, of_type)) for one in fitting])
        of_type, tried = found
        facts: Facts = ()
        for (pattern, results, matches), alike in tried:
            if pattern.is_output and root not in outputs:
                continue
            result = results.get(root)
            if result is None:
                facts = facts or of_type.read(graph, root)
                result = alike.refusals.get(facts)
                if result is None:
                    result = _match_chain(graph, pattern, root, parameter_path, waived)
                    if isinstance(result, Refusal):
                        alike.keep(result, facts)
                results[root] = result
            if isinstance(result, Refusal):
                if result.root != root:
                    if not all_refusals:
                        continue
                    result = results[root] = refusal_at(result, root, graph.inputs[root])
                search.refusals.append(result)
            else:
                matches.append(result)
    search.matches = [match for one in attempts for match in one.matches]
    return search
