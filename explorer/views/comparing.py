"""Compare two traces: corresponding layers, statistics, and the first difference."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from explorer.errors import CircuitError
from explorer.trace import Step
from explorer.views.costs import STATS
from explorer.views.index import TraceIndex, cached, owner
from explorer.views.scopes import node_scopes
from explorer.views.states import State, scopes_of
from explorer.views.words import list_text, plural
from explorer_widgets.schema import TableView


@dataclass(frozen=True, slots=True)
class Counterparts:
    """The corresponding layers of the other trace, and by what they were found (or why there are none)."""

    ids: tuple[int, ...]
    matched_by: str


@dataclass(frozen=True, slots=True)
class TraceDifference:
    """The first steps in which two traces differ (None if that trace has ended), and how."""

    step: int | None
    other_step: int | None
    text: str


def counterparts(index: TraceIndex, step: int, ids: Sequence[int], other: TraceIndex, other_step: int) -> Counterparts:
    """Find the layers after `other_step` of the other trace that correspond to these layers at `step`.

    In traces of one circuit: those that come from the same symbolic layers. In traces of two circuits: those with the
    same variables, type and level, or as many of these as possible. Ids must exist before or after the step.
    """
    if not ids:
        return Counterparts((), "nothing is selected")
    begun = step >= index.trace.start and other_step >= other.trace.start
    if same_circuit(index, other) and (begun or _same_operators(index, other)):
        return _by_lineage(index, step, ids, other, other_step)
    return _by_kind(index, step, ids, other, other_step)


def same_circuit(index: TraceIndex, other: TraceIndex) -> bool:
    """Return whether both traces compile the same layers, with any options: then the ids of these correspond."""
    if index is other or (index.trace.subject is not None and index.trace.subject is other.trace.subject):
        return True
    return _same_layers(index, other)


@cached
def _same_layers(index: TraceIndex, other: TraceIndex) -> bool:
    here, there = index.state(index.trace.start), other.state(other.trace.start)
    ids, other_ids = np.flatnonzero(here.present), np.flatnonzero(there.present)
    if not np.array_equal(ids, other_ids) or not np.array_equal(here.edges, there.edges):
        return False
    forms: set[tuple[int, int]] = set()
    for node in ids.tolist():
        one, two = int(here.node[node]), int(there.node[node])
        if scopes_of(index.table.nodes[one]) != scopes_of(other.table.nodes[two]):
            return False
        form = (int(here.key[node]), int(there.key[node]))
        if form not in forms:
            mine, theirs = index.record(one), other.record(two)
            if mine.type != theirs.type or repr(mine.config) != repr(theirs.config):  # as text, NaN equals itself
                return False
            forms.add(form)
    return True


def _same_operators(index: TraceIndex, other: TraceIndex) -> bool:
    """Return whether the same operators made both circuits of the same operands: then ids correspond from step 0 on."""
    here, there = ([step.operator for step in one.trace.steps[: one.trace.start]] for one in (index, other))
    return here == there


# ---------------------------------------------------------------------- by lineage


@dataclass(frozen=True, slots=True)
class _Origin:
    """The symbolic layers of a node, its position among the nodes created from them together, and their number."""

    symbolic: tuple[int, ...]
    place: int = 0
    count: int = 1


@cached
def _origins(index: TraceIndex) -> Sequence[Mapping[int, _Origin]]:
    """Return, for each step, the origins of all nodes up to it; a layer of an operand is its own origin."""
    start = index.trace.start
    graphs = [step.snapshot.graph for step in index.trace.steps[: start + 1]]
    up_to = [{node: _Origin((node,)) for node in graph.nodes} for graph in graphs]
    found = up_to[-1]
    for step in index.trace.steps[start + 1 :]:
        if step.applied or step.folds:
            found = dict(found)
        for rewrite in step.applied:
            if not rewrite.parameter_path:
                symbolic = _union(found, rewrite.removed)
                found |= {n: _Origin(symbolic, i, len(rewrite.added)) for i, n in enumerate(rewrite.added)}
        for group in step.folds:
            if group.members != (group.node,):
                found[group.node] = _Origin(_union(found, group.members))
        up_to.append(found)
    return up_to


def _union(origins: Mapping[int, _Origin], nodes: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted({symbolic for node in nodes for symbolic in origins[node].symbolic}))


def _by_lineage(index: TraceIndex, step: int, ids: Sequence[int], other: TraceIndex, other_step: int) -> Counterparts:
    here, there = _origins(index)[step], _holders(other, other_step)
    origins = _origins(other)[other_step]
    found: dict[int, None] = {}
    wanted: dict[int, None] = {}
    for node in ids:
        origin = here.get(node)
        if origin is None:
            continue
        wanted.update(dict.fromkeys(origin.symbolic))
        holders = dict.fromkeys(holder for symbolic in origin.symbolic for holder in there.get(symbolic, ()))
        exact = [holder for holder in holders if origins[holder] == origin]
        found.update(dict.fromkeys(exact or holders))
    noun = "symbolic layer" if index.trace.level.has_circuit else index.trace.level.noun
    origin_text = f"{noun}{'' if len(wanted) == 1 else 's'} {list_text(sorted(wanted), 6)}"
    if not wanted:
        return Counterparts((), "no counterpart: these layers do not exist at this step")
    if not found:
        return Counterparts((), f"no counterpart: nothing there comes from {origin_text}")
    return Counterparts(tuple(sorted(found)), f"by lineage: both come from {origin_text}")


@cached
def _holders(index: TraceIndex, step: int) -> Mapping[int, tuple[int, ...]]:
    """Return the nodes after a step that come from each symbolic layer."""
    origins = _origins(index)[step]
    found: dict[int, list[int]] = {}
    for node in np.flatnonzero(index.state(step).present).tolist():
        for symbolic in origins[node].symbolic:
            found.setdefault(symbolic, []).append(node)
    return {symbolic: tuple(nodes) for symbolic, nodes in found.items()}


# ---------------------------------------------------------------------- by kind


_Kind = tuple[int, str, int]
"""Variables (as bits), title, level."""

_WAYS: tuple[tuple[str, bool, Callable[[_Kind], object]], ...] = (
    ("variables, type and level", True, lambda kind: kind),
    ("variables and type", True, lambda kind: kind[:2]),
    ("type and level", False, lambda kind: kind[1:]),
    ("type", False, lambda kind: kind[1]),
)
"""Comparisons from strict to loose, and whether each requires equal variables in both circuits."""


def _by_kind(index: TraceIndex, step: int, ids: Sequence[int], other: TraceIndex, other_step: int) -> Counterparts:
    states = (index.state(step), index.before(step))
    mine: list[_Kind] = []
    for node in ids:
        state = next((s for s in states if 0 <= node < len(s.present) and s.present[node]), None)
        if state is not None:
            mine.append(_kinds(index, state)[node])
    if not mine:
        return Counterparts((), "no counterpart: these layers do not exist at this step")
    there = _kinds(other, other.state(other_step))
    same_variables = _variables(index) == _variables(other)
    for words, needs_variables, what in _WAYS:
        if needs_variables and not same_variables:
            continue
        wanted = {what(kind) for kind in mine}
        found = [node for node, kind in there.items() if what(kind) in wanted]
        if found:
            return Counterparts(tuple(sorted(found)), f"the circuits differ; by {words}")
    return Counterparts((), f"no counterpart: the circuits differ, and there is no {mine[0][1]} there")


@cached
def _kinds(index: TraceIndex, state: State) -> Mapping[int, _Kind]:
    scopes = node_scopes(index, state)
    return {
        node: (scopes[node], index.record(int(state.node[node])).title, int(state.level[node]))
        for node in np.flatnonzero(state.present).tolist()
    }


def _variables(index: TraceIndex) -> int:
    """Return the variables of the circuit, as bits."""
    state = index.state(index.trace.start)
    scopes = node_scopes(index, state)
    return max((scopes[output] for output in state.outputs), default=0)


# ---------------------------------------------------------------------- the table


def compare_table(
    index: TraceIndex, other: TraceIndex, names: tuple[str, str] = ("this trace", "the other")
) -> TableView:
    """Return statistics of the final state and of the compilation, side by side, with the change."""
    here, there = index.trace.stats(-1), other.trace.stats(-1)
    rows: list[list[str]] = []
    for name, (title, _, text) in STATS.items():
        if name in here and name in there:
            rows.append([title, text(here[name]), text(there[name]), _change(here[name], there[name], text)])
    mine, theirs = _counts(index), _counts(other)
    has_circuit = index.trace.level.has_circuit or other.trace.level.has_circuit
    for title in mine if has_circuit else [one for one in mine if one not in _ONLY_OF_CIRCUITS]:
        rows.append([title, *(f"{n:,}" for n in (mine[title], theirs[title])), _change(mine[title], theirs[title])])
    return {"columns": ["at the end", *names, "change"], "rows": rows}


_ONLY_OF_CIRCUITS = ("rounds of optimization", "matches that lost a conflict", "folded groups")
"""Counts that are zero at the levels below the compiled circuit."""


def _change(before: int, after: int, text: Callable[[float], str] = lambda value: f"{value:,.0f}") -> str:
    if before == after:
        return "equal"
    sign = "+" if after > before else "−"
    share = f" ({sign}{abs(after - before) / before:.0%})" if before else ""
    return f"{sign}{text(abs(after - before))}{share}"


def _counts(index: TraceIndex) -> dict[str, int]:
    """Return counts of matches and of what was applied, over the whole trace."""
    steps = index.trace.steps
    rounds = {step.round for step in steps if step.round and step.at.names[0] == "optimize"}
    misses = sum(len(step.refusals) + sum(step.refusals_over.values()) for step in steps)
    return {
        "rounds of optimization": len(rounds),
        "matches": sum(len(step.matches) for step in steps),
        "matches applied": sum(len(step.applied) for step in steps),
        "matches that lost a conflict": sum(len(step.lost) for step in steps),
        "near misses": misses,
        "folded groups": sum(len(group.members) > 1 for step in steps for group in step.folds),
        "steps": len(steps),
    }


# ---------------------------------------------------------------------- the first difference


def first_difference_of_traces(index: TraceIndex, other: TraceIndex) -> TraceDifference | None:
    """Return the first step in which two traces differ, and how; None if they do not differ."""
    here, there = index.trace.steps, other.trace.steps
    if not same_circuit(index, other):
        mine, theirs = (plural(len(one.start_graph), one.level.noun) for one in (index.trace, other.trace))
        told = f"The circuits differ: {mine} here, {theirs} there."
        return TraceDifference(index.trace.start, other.trace.start, told)
    for one, two in zip(here, there, strict=False):
        if one.at != two.at:
            text = f"Next is {one.at.words} in this trace, {two.at.words} in the other."
            return TraceDifference(one.index, two.index, text)
        difference = _difference_of_steps(index, one, other, two)
        if difference:
            return TraceDifference(one.index, two.index, f"In {one.at.words} (step {one.index}), {difference}")
    if len(here) == len(there):
        return None
    longer, owner = (here, "this trace") if len(here) > len(there) else (there, "the other trace")
    at = min(len(here), len(there))
    mine, theirs = (at if len(steps) > at else None for steps in (here, there))
    return TraceDifference(mine, theirs, f"Only {owner} continues, with {longer[at].at.words}.")


_Rewrite = tuple[str, tuple[int, ...], str]
"""Rule, nodes (root first), parameter."""
_Fold = tuple[str, tuple[int, ...]]
"""Type, members."""


def _difference_of_steps(index: TraceIndex, one: Step, other: TraceIndex, two: Step) -> str:
    """Describe how two steps of the same path differ; empty if they do not."""
    if (one.error is None) != (two.error is None):
        where, error = ("here", one.error) if one.error is not None else ("there", two.error)
        return f"the compilation failed {where}: {error}"
    if one.operator != two.operator:
        made, made_there = str(one.operator), str(two.operator)
        return f"{made} here, {made_there} there." if made != made_there else f"{made}, made of other layers there."
    applied, applied_there = _rewrites_of(one), _rewrites_of(two)
    only = [fact for fact in applied if fact not in applied_there]
    only_there = [fact for fact in applied_there if fact not in applied]
    if only or only_there:
        parts = [_only(only, "here", other, two), _only(only_there, "there", index, one)]
        return "; ".join(part for part in parts if part) + "."
    folds, folds_there = _folds_of(one), _folds_of(two)
    only_folds = [fact for fact in folds if fact not in folds_there]
    only_folds_there = [fact for fact in folds_there if fact not in folds]
    if only_folds or only_folds_there:
        return f"{_folds_text(only_folds, 'here')}, {_folds_text(only_folds_there, 'there')}."
    if len(one.lost) != len(two.lost) or len(one.matches) != len(two.matches):
        found = [f"{plural(len(step.matches), 'match', 'matches')} ({len(step.lost)} lost)" for step in (one, two)]
        return f"there are {found[0]} here and {found[1]} there."
    return ""


def _rewrites_of(step: Step) -> dict[_Rewrite, None]:
    return dict.fromkeys((rewrite.rule, rewrite.removed, rewrite.parameter_path) for rewrite in step.applied)


def _folds_of(step: Step) -> dict[_Fold, None]:
    return dict.fromkeys((group.type, group.members) for group in step.folds)


def _only(facts: Sequence[_Rewrite], where: str, other: TraceIndex, step: Step) -> str:
    """Describe the first rewrite that only one trace has, why the other lacks it, and how many more there are."""
    if not facts:
        return ""
    rule, removed, place = facts[0]
    at = place or list_text(removed)
    node = owner(place) if place else removed[0]
    more = f" (and {len(facts) - 1:,} more)" if len(facts) > 1 else ""
    return f"{rule} at {at} was applied only {where}{more}: {_why_not(other, rule, node, step)}"


def _why_not(index: TraceIndex, rule: str, node: int, step: Step) -> str:
    """Describe why the other trace did not apply a rule in a step."""
    if rule not in index.rules:
        return "the other trace has no such rule"
    try:
        return f"in the other, {index.trace.why_not(index.rules[rule].pattern, node, step.index).reason}"
    except CircuitError as error:
        return f"in the other, {error}"


def _folds_text(facts: Sequence[_Fold], where: str) -> str:
    """Describe how many layers were folded on one side only."""
    return f"{plural(sum(len(members) for _, members in facts))} became {len(facts):,} {where}"
