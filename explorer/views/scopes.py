"""The variables below each node."""

from collections.abc import Mapping

import numpy as np

from explorer.views.index import TraceIndex, cached
from explorer.views.states import ABSENT, IntArray, State, scopes_of


@cached
def node_scopes(index: TraceIndex, state: State) -> Mapping[int, int]:
    """Return the variables below each node, as bits."""
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
