"""What replaces a result: of the same type, or not at all."""

from collections.abc import Sequence
from typing import Any

from explorer.tensor.graph.rewrites import Declined
from explorer.tensor.ir.ops import apply_op
from explorer.tensor.ir.variables import Apply, Variable


def replace_with(node: Apply, new: Variable) -> "list[Variable] | Declined":
    """A variable as the replacement of the one result of a node, if it has the same type."""
    old = node.outputs[0]
    if new.type == old.type:
        return [new]
    return Declined(f"the replacement would be a {new.type}, and what it replaces is a {old.type}")


def reapplied(node: Apply, inputs: Sequence[Variable], **attributes: Any) -> Variable:
    """The operator of a node, which has one result, with some attributes changed and on other inputs."""
    op = node.op.changed(**attributes) if attributes else node.op
    return apply_op(op, inputs, node.location).outputs[0]
