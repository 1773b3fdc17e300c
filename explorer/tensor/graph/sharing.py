"""Whose memory the outputs of a graph share: a caller may write into a result.

A rewrite may make an output the memory of an argument, of a constant or of another output; a module that is made of the
graph copies such an output, unless the module that the graph was made of shared it too.
"""

from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.graph.interface import Sharing
from explorer.tensor.ir.aliasing import memory_roots
from explorer.tensor.ir.variables import Constant, Variable


def sharing_of(graph: FunctionGraph) -> tuple[Sharing, ...]:
    """What each output of a graph shares."""
    positions = {variable: i for i, variable in enumerate(graph.inputs)}
    roots = [frozenset(memory_roots(output)) for output in graph.outputs]
    return tuple(_sharing(position, roots, positions) for position in range(len(roots)))


def outputs_to_copy(graph: FunctionGraph) -> frozenset[int]:
    """The positions of outputs that share memory which they did not share at import; none if that is unknown."""
    known = graph.interface.shared
    if known is None:
        return frozenset()
    first = len(graph.interface.mutations)  # their values are copied into buffers anyway
    found = list(enumerate(zip(sharing_of(graph), known, strict=True)))[first:]
    return frozenset(position for position, (now, before) in found if not now.is_within(before))


def _sharing(position: int, roots: list[frozenset[Variable]], positions: dict[Variable, int]) -> Sharing:
    mine = roots[position]
    return Sharing(
        frozenset(positions[root] for root in mine if root in positions),
        any(isinstance(root, Constant) for root in mine),
        frozenset(other for other in range(position) if mine & roots[other]),
    )
