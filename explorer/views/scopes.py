"""The variables below each node."""

from collections.abc import Mapping

import numpy as np

from explorer.views.index import TraceIndex, cached
from explorer.views.states import ABSENT, IntArray, State, scopes_of


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
