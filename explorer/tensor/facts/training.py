"""What is trained, and what rules must leave alone for its gradient."""

from explorer.tensor.graph.gradients import trained_among
from explorer.tensor.graph.rewrites import Declined
from explorer.tensor.ir.variables import Apply


def gradient_on_ties(node: Apply) -> Declined | None:
    """Why a rule that changes the gradient where numbers are equal, or on a bound, must not apply; None if it may."""
    found = trained_among(*node.inputs)
    if found is None:
        return None
    name = found.name or "a constant"
    return Declined(f"{name} is trained, and its gradient would be another one where numbers are equal", node)
