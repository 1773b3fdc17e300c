"""Whether a rule may change gradients."""

from explorer.tensor.graph.gradients import trained_among
from explorer.tensor.graph.rewrites import Declined
from explorer.tensor.ir.variables import Apply


def gradient_on_ties(node: Apply) -> Declined | None:
    """The reason why a rule must not change the gradient at ties and on bounds; None if it may."""
    found = trained_among(*node.inputs)
    if found is None:
        return None
    name = found.name or "a constant"
    return Declined(f"{name} is trained, and its gradient would change where numbers are equal", node)
