"""The driver: searches for all patterns, applies the chosen matches to a graph, times and reports each rewrite.

Where matches share a node, a strategy decides which of them is applied: LARGEST_MATCH prefers larger matches; among
equals the one nearest to the outputs, then the rule registered first.

Rules are pure. Only the driver builds a new graph, and whether a pass changed the graph is read from what the
driver did.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import count
from time import perf_counter
from typing import Any, NamedTuple, cast

from explorer.errors import CircuitError, RuleError, unknown_name
from explorer.graph import Graph
from explorer.rewrite.matching import GraphOptMatch, KnownResults, match_pattern_graph
from explorer.rewrite.patterns import GraphOptPattern
from explorer.rewrite.rules import Rule
from explorer.trace import AttemptsRefused, Listener, MatchFound, MatchLost, Refusal, RefusalKind, Rewritten


class Replacement(NamedTuple):
    """The new nodes of a match, and the seconds in which its rule made them."""

    nodes: tuple[Any, ...]
    seconds: float


ReplacementOf = Callable[[GraphOptMatch], Replacement]


class OptMatchStrategy(Enum):
    """The strategy that decides a conflict between matches."""

    LARGEST_MATCH = "largest-match"
    FIRST_MATCH = "first-match"
    LOWEST_COST = "lowest-cost"


def get_strategy(strategy: OptMatchStrategy | str) -> OptMatchStrategy:
    """Return the strategy with this name (`largest-match`, `LARGEST_MATCH`). Raises: UnknownNameError."""
    if isinstance(strategy, OptMatchStrategy):
        return strategy
    for known in OptMatchStrategy:
        if strategy in (known.value, known.name):
            return known
    raise unknown_name("strategy", strategy, [known.value for known in OptMatchStrategy])


@dataclass(frozen=True, slots=True)
class Conflict:
    """`loser` shares `node` with `winner`; `reason` is the comparison by which it lost, `measures` all of them."""

    loser: GraphOptMatch
    winner: GraphOptMatch
    node: int
    reason: str
    measures: tuple[tuple[str, float, float], ...] = ()


@dataclass(frozen=True, eq=False)
class Matches:
    """The matches to apply, the applied match of each node, all matches found, the conflicts, and the near misses."""

    chosen: tuple[GraphOptMatch, ...]
    match_of: Mapping[int, GraphOptMatch]
    found: tuple[GraphOptMatch, ...]
    conflicts: tuple[Conflict, ...]
    refusals: tuple[Refusal, ...]


def match_optimization_patterns(
    graph: Graph[Any],
    patterns: Sequence[GraphOptPattern],
    strategy: OptMatchStrategy = OptMatchStrategy.LARGEST_MATCH,
    *,
    cost: Callable[[GraphOptMatch], float] | None = None,
    accept: Callable[[GraphOptMatch], Refusal | None] | None = None,
    parameter_path: str = "",
    known: KnownResults | None = None,
    all_refusals: bool = True,
) -> Matches:
    """Search for all patterns in a graph and decide which matches to apply.

    `accept` returns a refusal to decline a match; `cost` returns how much applying a match adds to the cost of the
    graph, for LOWEST_COST. Attempts that are `known` from earlier searches are not repeated. Without
    `all_refusals`, refusals of nodes that are alike may be missing, which takes less time.
    """
    search = match_pattern_graph(graph, patterns, parameter_path, known=known, all_refusals=all_refusals)
    found: list[GraphOptMatch] = []
    for match in search.matches:
        declined = accept(match) if accept is not None else None
        if declined is None:
            found.append(match)
        else:
            search.refusals.append(declined)
    chosen, match_of, conflicts = _prioritize_optimization_strategy(graph, found, strategy, cost)
    return Matches(chosen, match_of, tuple(found), conflicts, tuple(search.refusals))


def _prioritize_optimization_strategy(
    graph: Graph[Any],
    found: Sequence[GraphOptMatch],
    strategy: OptMatchStrategy,
    cost: Callable[[GraphOptMatch], float] | None,
) -> tuple[tuple[GraphOptMatch, ...], dict[int, GraphOptMatch], tuple[Conflict, ...]]:
    """Choose matches in the order of the strategy, skipping those that share a node with a chosen one."""
    if not found:
        return (), {}, ()
    position = {node: i for i, node in enumerate(graph.nodes)}
    costs = {id(m): cost(m) for m in found} if strategy is OptMatchStrategy.LOWEST_COST and cost is not None else {}
    order = list(range(len(found)))
    if strategy is OptMatchStrategy.LARGEST_MATCH:
        order.sort(key=lambda i: (-len(found[i]), -position[found[i].root], i))
    elif strategy is OptMatchStrategy.LOWEST_COST:
        order.sort(key=lambda i: (costs.get(id(found[i]), 0.0), -position[found[i].root], i))
    match_of: dict[int, GraphOptMatch] = {}
    number_of = {id(match): i for i, match in enumerate(found)}
    chosen: list[tuple[int, GraphOptMatch]] = []
    conflicts: list[Conflict] = []
    for i in order:
        match = found[i]
        taken = next((node for node in match.nodes if node in match_of), None)
        if taken is None:
            match_of.update(dict.fromkeys(match.nodes, match))
            chosen.append((position[match.root], match))
        else:
            winner = match_of[taken]
            why = _why(match, winner, strategy, costs, position)
            pair = number_of[id(winner)], i
            conflicts.append(Conflict(match, winner, taken, why, _measures(found, pair, strategy, costs, position)))
    chosen.sort(key=lambda pair: pair[0])
    return tuple(match for _, match in chosen), match_of, tuple(conflicts)


def _measures(
    found: Sequence[GraphOptMatch],
    pair: tuple[int, int],
    strategy: OptMatchStrategy,
    costs: Mapping[int, float],
    position: Mapping[int, int],
) -> tuple[tuple[str, float, float], ...]:
    """Return what the strategy compares, in order: name, value of the winner, value of the loser."""
    winner, loser = (found[number] for number in pair)
    order = ("order", float(pair[0]), float(pair[1]))
    if strategy is OptMatchStrategy.FIRST_MATCH:
        return (order,)
    nearness = ("nearness", float(position[winner.root]), float(position[loser.root]))
    if strategy is OptMatchStrategy.LARGEST_MATCH:
        return (("size", float(len(winner)), float(len(loser))), nearness, order)
    return (("cost", costs.get(id(winner), 0.0), costs.get(id(loser), 0.0)), nearness, order)


def _why(
    loser: GraphOptMatch,
    winner: GraphOptMatch,
    strategy: OptMatchStrategy,
    costs: Mapping[int, float],
    position: Mapping[int, int],
) -> str:
    """The comparison by which the winner won, from its side."""
    name = winner.pattern.name
    if name == loser.pattern.name:
        name = f"the match at node {winner.root}"
    if strategy is OptMatchStrategy.FIRST_MATCH:
        return f"{name} was found first, so it wins"
    if strategy is OptMatchStrategy.LARGEST_MATCH:
        measure, mine, other = "size", str(len(winner)), str(len(loser))
        better = f"{name} matches {mine} nodes, the other {other}, so it wins"
    else:
        measure = "cost"
        mine, other = (f"{costs.get(id(match), 0.0):+,.0f}" for match in (winner, loser))
        better = f"{name} changes the cost by {mine}, the other by {other}, so it wins"
    if mine != other or costs.get(id(winner)) != costs.get(id(loser)):
        return better
    nearer = position[loser.root] != position[winner.root]
    last = "is nearer to the outputs" if nearer else "was registered first"
    return f"equal {measure} ({mine} = {other}): {name} {last}, so it wins"


@dataclass(frozen=True, kw_only=True)
class RewriteContext:
    """Everything the driver needs in addition to the graph and the rules.

    `compiler` is passed to the rules. `fresh` yields unused node ids. `check` returns why a replacement is illegal, or
    None. `cost` returns how much a replacement adds to the cost, for LOWEST_COST. `listeners` receive every event.
    `skip` returns why a match is skipped before its rule is asked, or None. `numbers` yields the numbers of matches,
    which are unique within a step; searches of one step share it. `known` are the attempts of searches of earlier
    graphs, which are not repeated.
    """

    compiler: Any
    fresh: Iterator[int]
    strategy: OptMatchStrategy = OptMatchStrategy.LARGEST_MATCH
    check: Callable[[GraphOptMatch, tuple[Any, ...]], str | None] | None = None
    cost: Callable[[GraphOptMatch, tuple[Any, ...]], float] | None = None
    listeners: tuple[Listener, ...] = ()
    skip: Callable[[GraphOptMatch], str | None] | None = None
    numbers: Iterator[int] = field(default_factory=count)
    known: KnownResults | None = None


def optimize_graph(
    graph: Graph[Any], rules: Sequence[Rule], context: RewriteContext, parameter_path: str = ""
) -> Graph[Any] | None:
    """Search for the patterns of the rules, resolve conflicts, and rewrite; None if no match was applied.

    Raises: RuleError if a rule raises or returns illegal nodes; the message names the rule and the match.
    """
    replacement_of = _replacements(rules, context)

    def cost(match: GraphOptMatch) -> float:
        return context.cost(match, replacement_of(match).nodes) if context.cost is not None else 0.0

    matches = match_optimization_patterns(
        graph,
        tuple(rule.pattern for rule in rules),
        context.strategy,
        cost=cost,
        accept=_acceptance(rules, context, replacement_of),
        parameter_path=parameter_path,
        known=context.known,
        all_refusals=bool(context.listeners),
    )
    numbers = _report(matches, context, parameter_path)
    return _rewrite(graph, matches, replacement_of, context, parameter_path, numbers) if matches.chosen else None


def is_possible(graph: Graph[Any], rules: Sequence[Rule], context: RewriteContext, parameter_path: str = "") -> bool:
    """Whether `optimize_graph` would change the graph: the same search, without rewriting or events."""
    patterns = tuple(rule.pattern for rule in rules)
    accept = _acceptance(rules, context, _replacements(rules, context))
    first = OptMatchStrategy.FIRST_MATCH
    found = match_optimization_patterns(
        graph, patterns, first, accept=accept, parameter_path=parameter_path, all_refusals=False
    )
    return bool(found.chosen)


def _replacements(rules: Sequence[Rule], context: RewriteContext) -> ReplacementOf:
    """The function that applies the rule of a match, once: guards, the cost and the rewriting share the result."""
    rule_of = {rule.pattern: rule for rule in rules}
    made: dict[GraphOptMatch, Replacement] = {}

    def replacement_of(match: GraphOptMatch) -> Replacement:
        found = made.get(match)
        if found is None:
            started = perf_counter()
            nodes = _apply(rule_of[match.pattern], match, context)
            found = made[match] = Replacement(nodes, perf_counter() - started)
        return found

    return replacement_of


def _acceptance(
    rules: Sequence[Rule], context: RewriteContext, replacement_of: ReplacementOf
) -> Callable[[GraphOptMatch], Refusal | None]:
    """The function that asks `skip` and the guards of a rule about a match, and returns a refusal if one declines."""
    rule_of = {rule.pattern: rule for rule in rules}

    def accept(match: GraphOptMatch) -> Refusal | None:
        reason = context.skip(match) if context.skip is not None else None
        if reason is None:
            reason = _guard_reason(rule_of[match.pattern], match, context, replacement_of)
        if reason is None:
            return None
        return Refusal(match.pattern.name, match.root, len(match) - 1, match.root, RefusalKind.DECLINED, found=reason)

    return accept


def _guard_reason(
    rule: Rule, match: GraphOptMatch, context: RewriteContext, replacement_of: ReplacementOf
) -> str | None:
    """The reason why a guard of the rule declines a match, or None."""
    reason = None
    if rule.guard is not None:
        reason = _ask(rule, match, "guard", rule.guard, context.compiler, match)
    if reason is None and rule.replacement_guard is not None:
        nodes = replacement_of(match).nodes
        reason = _ask(rule, match, "replacement guard", rule.replacement_guard, context.compiler, match, nodes)
    return reason


def _ask(rule: Rule, match: GraphOptMatch, name: str, guard: Callable[..., object], *given: object) -> str | None:
    """The answer of the guard that is called `name`; an exception becomes a RuleError that names the rule and match."""
    try:
        reason = guard(*given)
        if reason is None or isinstance(reason, str):
            return reason
        raise TypeError(f"expected a string (the reason to decline) or None from the {name}, got {reason!r}")
    except Exception as error:
        raise _failure(rule, match, error) from error


def _failure(rule: Rule, match: GraphOptMatch, error: Exception) -> RuleError:
    """The error for whatever a rule raised, with the rule's name and location and the match."""
    what = str(error) if isinstance(error, CircuitError) else f"{type(error).__name__}: {error}"
    return RuleError(f"the rule {rule.name} ({rule.source}) failed on the match {match}: {what}")


def _apply(rule: Rule, match: GraphOptMatch, context: RewriteContext) -> tuple[Any, ...]:
    try:
        result = cast("object", rule.apply(context.compiler, match))
        nodes = tuple(cast("Iterable[Any]", result)) if isinstance(result, Iterable) else ()
    except Exception as error:
        raise _failure(rule, match, error) from error
    if not nodes:
        returned = f"the rule {rule.name} ({rule.source}) returned {result!r} for the match {match}"
        raise RuleError(f"{returned}; return a tuple of at least one node")
    problem = context.check(match, nodes) if context.check is not None else None
    if problem is not None:
        raise RuleError(f"the rule {rule.name} ({rule.source}) returned illegal nodes for the match {match}: {problem}")
    return nodes


def _rewrite(
    graph: Graph[Any],
    matches: Matches,
    replacement_of: ReplacementOf,
    context: RewriteContext,
    parameter_path: str,
    numbers: Mapping[GraphOptMatch, int],
) -> Graph[Any]:
    """Rebuild the graph in topological order; the replacement of a match takes the position of its root."""
    nodes: dict[int, Any] = {}
    inputs: dict[int, tuple[int, ...]] = {}
    exit_of: dict[int, int] = {}
    for node, value in graph.nodes.items():
        match = matches.match_of.get(node)
        if match is None:
            nodes[node] = value
            inputs[node] = tuple([exit_of.get(source, source) for source in graph.inputs[node]])
            continue
        if node != match.root:
            continue
        replacement = replacement_of(match)
        started = perf_counter()
        below = tuple([exit_of.get(source, source) for source in graph.inputs[match.entry_point]])
        added: list[int] = []
        for new_value in replacement.nodes:
            new = next(context.fresh)
            nodes[new] = new_value
            inputs[new] = below
            below = (new,)
            added.append(new)
        exit_of[match.root] = added[-1]
        if context.listeners:
            seconds = replacement.seconds + perf_counter() - started
            event = Rewritten(numbers[match], match.pattern.name, match.nodes, tuple(added), seconds, parameter_path)
            for listener in context.listeners:
                listener(event)
    return Graph(nodes, inputs, tuple([exit_of.get(output, output) for output in graph.outputs]))


def _report(matches: Matches, context: RewriteContext, parameter_path: str) -> Mapping[GraphOptMatch, int]:
    """Send the outcome of a search to the listeners; returns the number of each match."""
    if not context.listeners:
        return {}
    numbers = {match: next(context.numbers) for match in matches.found}
    for listener in context.listeners:
        for match, number in numbers.items():
            listener(MatchFound(number, match.pattern.name, match.nodes[0], match.nodes, parameter_path))
        for lost in matches.conflicts:
            pair = numbers[lost.loser], numbers[lost.winner]
            listener(MatchLost(*pair, lost.node, context.strategy.value, lost.reason, parameter_path, lost.measures))
        if matches.refusals:
            listener(AttemptsRefused(matches.refusals, parameter_path))
    return numbers
