"""Properties of outputs that rewrites preserve: their gradients, and the memory that they share.

A rewrite may make an output an alias of an argument, a constant or another output. A caller may write into a result, so
the exported module copies such an output, unless the imported module shared its memory too.
"""

from explorer.errors import InconsistencyError
from explorer.tensor.graph.features import Feature
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.graph.interface import Sharing
from explorer.tensor.ir.aliasing import memory_roots
from explorer.tensor.ir.variables import Apply, Constant, Variable


def first_trained(*variables: Variable) -> Variable | None:
    """Return the first constant or input with a gradient on which one of some variables depends; None if there is none.

    Only variables with `requires_grad` are visited.
    """
    waiting = [variable for variable in reversed(variables) if variable.requires_grad]
    seen = set(waiting)
    while waiting:
        current = waiting.pop()
        if current.owner is None:
            return current
        above = [v for v in current.owner.inputs if v.requires_grad and v not in seen]
        seen.update(above)
        waiting.extend(reversed(above))
    return None


class KeepGradients(Feature):
    """Preserves the dependence of outputs on trained parameters and inputs.

    Without it `backward` might raise where it was possible: `x * 0` has a gradient, and the constant 0 has none.
    """

    is_single = True

    def __init__(self) -> None:
        self._positions: tuple[int, ...] = ()
        self._lost = False
        """Whether a variable with `requires_grad` was replaced by one without since the last validation."""

    def on_attach(self, graph: FunctionGraph) -> None:
        self._positions = tuple(i for i, v in enumerate(graph.outputs) if first_trained(v) is not None)

    def on_change_input(
        self, graph: FunctionGraph, node: Apply | None, index: int, old: Variable, new: Variable, reason: object
    ) -> None:
        self._lost = self._lost or (old.requires_grad and not new.requires_grad)

    def on_validate(self, graph: FunctionGraph) -> None:
        if self._lost:
            for i in self._positions:
                if first_trained(graph.outputs[i]) is None:
                    raise InconsistencyError(f"output {i} would not depend on any trained parameter or input")
        self._lost = False


def sharing_of(graph: FunctionGraph) -> tuple[Sharing, ...]:
    """Return the sharing of each output of a graph."""
    positions = {variable: i for i, variable in enumerate(graph.inputs)}
    roots = [frozenset(memory_roots(output)) for output in graph.outputs]
    return tuple(_sharing(position, roots, positions) for position in range(len(roots)))


def outputs_to_copy(graph: FunctionGraph) -> frozenset[int]:
    """Return the positions of outputs that share more memory than at import; none if that is unknown."""
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
