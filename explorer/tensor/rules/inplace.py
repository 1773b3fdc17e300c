"""Operators that write their result over an input: less memory, and nothing else changes.

Whether the input may be overwritten, the destroy handler decides; what it refuses is taken back with its reason.
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
from explorer.tensor.rules.families import register_overwrite


class WriteOverInput(LocalRewriter):
    """An operator on single elements writes its result where its first input stood.

    With `second` that is the second input of a sum or product, whose inputs may change places.
    """

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
            return Declined(f"{goal.name or 'what it reads'} is {what} of the graph, and not its own")
        if goal.type != node.outputs[0].type:
            return Declined(f"a {node.outputs[0].type} cannot be written over a {goal.type}", goal.owner)
        return apply_op(Op(target, node.op.arguments), inputs, node.location).outputs


@cache
def inplace_overload(target: OpOverload) -> OpOverload | None:
    """The overload that does the same on single elements, and writes the result over the first argument; or None."""
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


register_overwrite(WriteOverInput())
register_overwrite(WriteOverInput(second=True))
