"""Dependence of variables on trained parameters and inputs, and a feature that preserves it for outputs."""

from explorer.errors import InconsistencyError
from explorer.tensor.graph.features import Feature
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.ir.variables import Apply, Variable


def first_trained(*variables: Variable) -> Variable | None:
    """The first constant or input with a gradient on which one of some variables depends; None if there is none.

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
