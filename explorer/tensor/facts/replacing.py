"""Replacements of the same type, and replacements that may change gradients."""

from collections.abc import Sequence
from typing import Any

from explorer.tensor.graph.gradients import first_trained
from explorer.tensor.graph.rewrites import Declined
from explorer.tensor.ir.ops import apply_op
from explorer.tensor.ir.variables import Apply, Variable


def replace_with(node: Apply, new: Variable) -> "list[Variable] | Declined":
    """Replace the only result of a node by a variable of the same type; declined for another type."""
    old = node.outputs[0]
    if new.type == old.type:
        return [new]
    return Declined(f"the replacement would be a {new.type} in place of a {old.type}")


def reapply(node: Apply, inputs: Sequence[Variable], **attributes: Any) -> Variable:
    """Apply the operator of a node, which has one result, to other inputs, with some attributes changed."""
    op = node.op.with_attributes(**attributes) if attributes else node.op
    return apply_op(op, inputs, node.location).outputs[0]


def gradient_on_ties(node: Apply) -> Declined | None:
    """The reason why a rule must not change the gradient at ties and on bounds; None if it may."""
    found = first_trained(*node.inputs)
    if found is None:
        return None
    return Declined(
        f"{found.name or 'a constant'} is trained, and its gradient would change where numbers are equal", node
    )
