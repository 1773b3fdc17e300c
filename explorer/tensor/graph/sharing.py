"""Memory that the outputs of a graph share with inputs, constants and each other: a caller may write into a result.

A rewrite may make an output an alias of an argument, a constant or another output. The exported module copies such an
output, unless the imported module shared its memory too.
"""

from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.graph.interface import Sharing
from explorer.tensor.ir.aliasing import memory_roots
from explorer.tensor.ir.variables import Constant, Variable


def sharing_of(graph: FunctionGraph) -> tuple[Sharing, ...]:
    """The sharing of each output of a graph."""
    positions = {variable: i for i, variable in enumerate(graph.inputs)}
    roots = [frozenset(memory_roots(output)) for output in graph.outputs]
    return tuple(_sharing(position, roots, positions) for position in range(len(roots)))


def outputs_to_copy(graph: FunctionGraph) -> frozenset[int]:
    """The positions of outputs that share more memory than at import; none if that is unknown."""
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
