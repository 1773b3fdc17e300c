"""The variables below each node."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from explorer.views.index import TraceIndex, cached
from explorer.views.states import ABSENT, IntArray, State, folds_of, scopes_of


@cached
def node_scopes(index: TraceIndex, state: State) -> Mapping[int, int]:
    """Return the variables below each node, as bits.

    Folding changes no scope: a layer that reads some slices of a folded layer depends on the variables of these slices
    only, and a folded layer on those of all its members.
    """
    members = {group.node: group.members for group in index.groups}
    present = np.flatnonzero(state.present).tolist()
    if not any(node in members and members[node] != (node,) for node in present):
        return _scopes_below(index, state)
    first_fold = next(step.index for step in index.trace.steps if step.folds)
    unfolded = node_scopes(index, index.state(first_fold - 1))
    found: dict[int, int] = {}
    for node in present:
        found[node] = 0
        for member in members.get(node, (node,)):
            found[node] |= unfolded[member]
    return found


@cached
def slice_scopes(index: TraceIndex, step: int) -> Mapping[int, Sequence[int]]:
    """Return the variables below each slice of each layer after a step, as bits, by the index tables of folded layers.

    A layer without a table reads all slices of its inputs, as layers do that are not folded.
    """
    state, tables = index.state(step), index.trace.steps[step].snapshot.reads
    sources: dict[int, list[int]] = {}
    for source, target in state.edges.tolist():
        sources.setdefault(target, []).append(source)
    found: dict[int, Sequence[int]] = {}
    present = np.flatnonzero(state.present)
    for node in present[np.argsort(state.level[present], kind="stable")].tolist():
        layer = index.table.nodes[int(state.node[node])]
        scopes = scopes_of(layer)
        if scopes is not None:
            found[node] = [_union(1 << variable for variable in scope) for scope in scopes]
        elif node in tables:
            table: Sequence[Sequence[tuple[int, int]]] = tables[node]["index"]
            found[node] = [_union(found[source][number] for source, number in row) for row in table]
        else:
            found[node] = [_union(bits for source in sources.get(node, ()) for bits in found[source])] * folds_of(layer)
    return found


def columns_text(index: TraceIndex, state: State, nodes: Iterable[int]) -> str:
    """Return the names of the columns below some nodes, in the order of the table; empty if there is no table."""
    if not index.columns:
        return ""
    scopes = node_scopes(index, state)
    variables = _union(scopes[node] for node in nodes)
    return ", ".join(name for variable, name in enumerate(index.columns) if variables >> variable & 1)


def _union(scopes: Iterable[int]) -> int:
    found = 0
    for scope in scopes:
        found |= scope
    return found


def _scopes_below(index: TraceIndex, state: State) -> Mapping[int, int]:
    """Return the variables below each node of a graph in which every edge reads all slices."""
    scopes: dict[int, int] = {}
    sources: dict[int, list[int]] = {}
    for source, target in state.edges.tolist():
        sources.setdefault(target, []).append(source)
    present = np.flatnonzero(state.present)
    for node in present[np.argsort(state.level[present], kind="stable")].tolist():
        own = scopes_of(index.table.nodes[int(state.node[node])]) or ()
        bits = 0
        for variable in {variable for scope in own for variable in scope}:
            bits |= 1 << variable
        for source in sources.get(node, ()):
            bits |= scopes[source]
        scopes[node] = bits
    return scopes


def scope_numbers(index: TraceIndex, state: State) -> IntArray:
    """Return a number for the scope of each node, equal for equal scopes; -1 for absent nodes."""
    numbers: dict[int, int] = {}
    found = np.full(index.size, ABSENT, np.int32)
    for node, bits in node_scopes(index, state).items():
        found[node] = numbers.setdefault(bits, len(numbers))
    return found
