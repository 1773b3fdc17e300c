"""Replacements of the same type."""

from collections.abc import Sequence
from typing import Any

from explorer.tensor.graph.rewrites import Declined
from explorer.tensor.ir.ops import apply_op
from explorer.tensor.ir.variables import Apply, Variable


def replace_with(node: Apply, new: Variable) -> "list[Variable] | Declined":
    """Replace the only result of a node by a variable of the same type; declined for another type."""
    old = node.outputs[0]
    if new.type == old.type:
        return [new]
    return Declined(f"the replacement would be a {new.type} in place of a {old.type}")


def reapplied(node: Apply, inputs: Sequence[Variable], **attributes: Any) -> Variable:
    """Apply the operator of a node, which has one result, to other inputs, with some attributes changed."""
    op = node.op.changed(**attributes) if attributes else node.op
    return apply_op(op, inputs, node.location).outputs[0]
