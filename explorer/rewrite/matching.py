"""Pattern matching: one pattern at one node, with the reason if it fails, and all patterns at all nodes.

An output of the graph inside a match is refused, because the rewrite would lose it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from explorer.errors import RuleError
from explorer.graph import Graph, config_of
from explorer.rewrite.patterns import NO_CONDITIONS, Condition, GraphOptPattern
from explorer.trace import Check, Question, Refusal, RefusalKind


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


class Attempt(NamedTuple):
    """The position of an attempt: name of the pattern, root, number of the entry, node."""

    pattern: str
    root: int
    entry: int
    node: int


@dataclass
class SearchResult:
    """The result of a search: matches ordered by (pattern, topological order of the root), and near misses."""

    matches: list[GraphOptMatch] = field(default_factory=list[GraphOptMatch])
    refusals: list[Refusal] = field(default_factory=list[Refusal])


def match_pattern(
    graph: Graph[Any],
    pattern: GraphOptPattern,
    root: int,
    parameter_path: str = "",
    checks: list[Check] | None = None,
    waived: Refusal | None = None,
) -> GraphOptMatch | Refusal:
    """Try a pattern with its first entry at `root`. Each check is appended to `checks` if given.

    The question that gave the refusal `waived` passes whatever the answer is, unless the chain depends on it (a type,
    several inputs, no input).
    """
    name = pattern.name
    last = len(pattern.entries) - 1
    current = root
    nodes: list[int] = []
    sub_entries: list[Mapping[str, tuple[GraphOptMatch, ...]]] = []
    for entry, wanted in enumerate(pattern.entries):
        node = graph.nodes[current]
        at = Attempt(name, root, entry, current)
        if not _check(checks, at, isinstance(node, wanted), RefusalKind.WRONG_TYPE, wanted.__name__):
            return Refusal(*at, RefusalKind.WRONG_TYPE, type(node).__name__, wanted.__name__)
        if (
            pattern.is_output
            and entry == 0
            and not _check(checks, at, root in graph.output_set, RefusalKind.NOT_AN_OUTPUT)
            and not _is_waived(waived, at, RefusalKind.NOT_AN_OUTPUT)
        ):
            return Refusal(*at, RefusalKind.NOT_AN_OUTPUT)
        inputs = graph.inputs[current]
        if entry != last and not _check(checks, at, len(inputs) <= 1, RefusalKind.SEVERAL_INPUTS):
            return Refusal(*at, RefusalKind.SEVERAL_INPUTS, len(inputs), 1)
        if entry != 0:
            users = len(graph.users[current])
            fits = _check(checks, at, users <= 1, RefusalKind.SEVERAL_USERS)
            if not fits and not _is_waived(waived, at, RefusalKind.SEVERAL_USERS):
                return Refusal(*at, RefusalKind.SEVERAL_USERS, users, 1)
            fits = _check(checks, at, current not in graph.output_set, RefusalKind.INTERIOR_OUTPUT)
            if not fits and not _is_waived(waived, at, RefusalKind.INTERIOR_OUTPUT):
                return Refusal(*at, RefusalKind.INTERIOR_OUTPUT)
        for field_name, condition in pattern.config_of_entry(entry).items():
            found = _field(node, field_name, pattern)
            fits = condition.test(found) if isinstance(condition, Condition) else found == condition
            fits = _check(checks, at, fits, RefusalKind.CONFIG_DIFFERS, condition, field_name)
            if not fits and not _is_waived(waived, at, RefusalKind.CONFIG_DIFFERS, field_name):
                return Refusal(*at, RefusalKind.CONFIG_DIFFERS, found, condition, field_name)
        sub_matches = _match_sub_patterns(node, pattern, at, checks, waived)
        if isinstance(sub_matches, Refusal):
            return sub_matches
        sub_entries.append(sub_matches)
        nodes.append(current)
        if entry != last:
            if not _check(checks, at, bool(inputs), RefusalKind.NO_INPUT):
                return Refusal(*at, RefusalKind.NO_INPUT)
            current = inputs[0]
    return GraphOptMatch(
        pattern, tuple(nodes), tuple([graph.nodes[n] for n in nodes]), tuple(sub_entries), parameter_path
    )


def _field(node: Any, name: str, pattern: GraphOptPattern) -> Any:
    """The value of a field or property. Raises: RuleError if the node does not have the field."""
    try:
        return getattr(node, name)
    except AttributeError:
        known = ", ".join(config_of(node))
        raise RuleError(
            f"the pattern {pattern.name} ({pattern.source}) reads {name!r} of a {type(node).__name__}, which has no "
            f"such field; known are: {known}"
        ) from None


def _check(
    checks: list[Check] | None, at: Attempt, answer: bool, kind: RefusalKind, wanted: object = "", what: str = ""
) -> bool:
    """Record a check if checks are collected; returns its answer."""
    if checks is not None:
        checks.append(Check(at.entry, at.node, kind.ask(wanted, what).text, answer))
    return answer


def _is_waived(waived: Refusal | None, at: Attempt, kind: RefusalKind, what: str = "") -> bool:
    return waived is not None and (waived.entry, waived.kind, waived.what) == (at.entry, kind, what)


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
    node: Any, pattern: GraphOptPattern, at: Attempt, checks: list[Check] | None, waived: Refusal | None
) -> Mapping[str, tuple[GraphOptMatch, ...]] | Refusal:
    """The matches of the sub-patterns of an entry in the parameters of a node, or why one of them failed."""
    wanted = pattern.sub_patterns_of_entry(at.entry)
    if not wanted:
        return NO_CONDITIONS
    found: dict[str, tuple[GraphOptMatch, ...]] = {}
    for name, sub_pattern in wanted.items():
        if _is_waived(waived, at, RefusalKind.SUB_PATTERN_FAILED, name):
            continue
        parameter = getattr(node, name, None)
        if parameter is None:
            _check(checks, at, False, RefusalKind.SUB_PATTERN_FAILED, sub_pattern.name, name)
            return Refusal(*at, RefusalKind.SUB_PATTERN_FAILED, "it has none", sub_pattern.name, name)
        attempts = _attempts(parameter.graph, sub_pattern, f"{at.node}.{name}")
        matches = tuple([attempt for attempt in attempts if isinstance(attempt, GraphOptMatch)])
        if not _check(checks, at, bool(matches), RefusalKind.SUB_PATTERN_FAILED, sub_pattern.name, name):
            inner = tuple([attempt for attempt in attempts if isinstance(attempt, Refusal)][-1:])
            return Refusal(*at, RefusalKind.SUB_PATTERN_FAILED, None, sub_pattern.name, name, inner)
        found[name] = matches
    return found


def _attempts(graph: Graph[Any], pattern: GraphOptPattern, parameter_path: str) -> list[GraphOptMatch | Refusal]:
    """Try a sub-pattern at every node, or only at the outputs if it matches outputs."""
    roots = graph.outputs if pattern.is_output else graph.nodes
    return [match_pattern(graph, pattern, root, parameter_path) for root in roots]


def match_pattern_graph(
    graph: Graph[Any], patterns: Sequence[GraphOptPattern], parameter_path: str = "", waived: Refusal | None = None
) -> SearchResult:
    """Try every pattern at every node whose type fits its first entry, a pattern of outputs only at outputs.

    No refusal is recorded of the other nodes, which are not near misses; `match_pattern` has one for any node, and
    explains `waived`.
    """
    search = SearchResult()
    by_type: dict[type, tuple[GraphOptPattern, ...]] = {}
    found: dict[GraphOptPattern, list[GraphOptMatch]] = {pattern: [] for pattern in patterns}
    for root, node in graph.nodes.items():
        kind: type = node.__class__
        fitting = by_type.get(kind)
        if fitting is None:
            fitting = by_type[kind] = tuple(p for p in patterns if issubclass(kind, p.entries[0]))
        for pattern in fitting:
            if pattern.is_output and root not in graph.output_set:
                continue
            result = match_pattern(graph, pattern, root, parameter_path, waived=waived)
            if isinstance(result, Refusal):
                search.refusals.append(result)
            else:
                found[pattern].append(result)
    search.matches = [match for pattern in patterns for match in found[pattern]]
    return search
