"""What is trained, and what rules must leave alone for its gradient."""

from explorer.tensor.graph.rewrites import Declined
from explorer.tensor.ir.variables import Apply, Variable


def trained_among(*variables: Variable) -> Variable | None:
    """A constant or input that gets a gradient, on which one of some variables depends; None if there is none.

    It looks only at what is marked: nothing where nothing is trained.
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


def gradient_on_ties(node: Apply) -> Declined | None:
    """Why a rule that changes the gradient where numbers are equal, or on a bound, must not apply; None if it may."""
    found = trained_among(*node.inputs)
    if found is None:
        return None
    name = found.name or "a constant"
    return Declined(f"{name} is trained, and its gradient would be another one where numbers are equal", node)
