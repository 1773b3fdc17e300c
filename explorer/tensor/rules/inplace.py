"""Operators that overwrite an input with their result, to save memory.

The destroy handler decides whether an input may be overwritten; refused rewrites are reverted with the reason.
"""

from functools import cache

import torch
from torch._ops import OpOverload

from explorer.rewrite import Exactness
from explorer.tensor.graph.destroy import DestroyHandler
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.ops import Op, apply_op
from explorer.tensor.ir.variables import Apply, Constant
from explorer.tensor.rewriting import LocalRewriter
from explorer.tensor.rewriting.matching import is_commutative
from explorer.tensor.rules.families import overwriting


class WriteOverInput(LocalRewriter):
    """An elementwise operator overwrites its first input, or with `second` the second input of a sum or product."""

    exactness = Exactness.EXACT
    reentrant = False

    def __init__(self, second: bool = False) -> None:
        self.second = second
        self.name = "write_over_second_input" if second else "write_over_input"

    def requirements(self) -> list[DestroyHandler]:
        return [DestroyHandler()]

    def transform(self, node: Apply) -> Rewrite:
        target = inplace_overload(node.op.target)
        if target is None or not node.inputs or len(node.outputs) != 1:
            return False
        if self.second and not (len(node.inputs) == 2 and is_commutative(node.op)):
            return False
        inputs = node.inputs[::-1] if self.second else node.inputs
        goal = inputs[0]
        if goal.owner is None:
            what = "a constant" if isinstance(goal, Constant) else "an input"
            return Declined(f"{goal.name or 'its input'} is {what} of the graph")
        if goal.type != node.outputs[0].type:
            return Declined(f"a {node.outputs[0].type} cannot overwrite a {goal.type}", goal.owner)
        return apply_op(Op(target, node.op.arguments), inputs).outputs


@cache
def inplace_overload(target: OpOverload) -> OpOverload | None:
    """The in-place overload of an elementwise operator, which overwrites its first argument; or None."""
    schema = target._schema
    if torch.Tag.pointwise not in target.tags or schema.is_mutable or schema.name.endswith("_"):
        return None
    namespace, _, name = schema.name.partition("::")
    packet = getattr(getattr(torch.ops, namespace), f"{name}_", None)
    if packet is None or target._overloadname not in packet.overloads():
        return None
    found: OpOverload = getattr(packet, target._overloadname)
    arguments = found._schema.arguments
    same = [(a.name, str(a.type)) for a in arguments] == [(a.name, str(a.type)) for a in schema.arguments]
    writes = [a.name for a in arguments if a.alias_info is not None and a.alias_info.is_write]
    first = arguments[0].name if arguments else ""
    return found if same and writes == [first] and str(arguments[0].type) == "Tensor" else None


overwriting.add(WriteOverInput())
overwriting.add(WriteOverInput(second=True))
