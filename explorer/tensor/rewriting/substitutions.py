"""The two simplest local rewriters: replace one operator by another, and remove an operator."""

from collections.abc import Sequence

from explorer.errors import RuleError
from explorer.rewrite import Exactness, source_of_caller
from explorer.tensor.graph.rewrites import Rewrite
from explorer.tensor.ir.ops import Op, apply_op
from explorer.tensor.ir.variables import Apply
from explorer.tensor.rewriting.rewriters import LocalRewriter, Tracked


class OpSub(LocalRewriter):
    """Replaces all applications of one operator by those of another to the same inputs."""

    def __init__(self, op1: Op, op2: Op, *, name: str = "", exactness: Exactness = Exactness.REAL) -> None:
        if op1.num_inputs != op2.num_inputs:
            raise RuleError(f"{op1.name} accepts {op1.num_inputs} tensors, {op2.name} accepts {op2.num_inputs}")
        self.op1, self.op2 = op1, op2
        self.name = name or f"{op1.name} -> {op2.name}"
        self.exactness = exactness
        self.reentrant = False
        self._doc = f"Replace {op1.name} by {op2.name}."
        self._source = source_of_caller()

    def tracks(self) -> Sequence[Tracked]:
        return (self.op1,)

    def transform(self, node: Apply) -> Rewrite:
        if node.op != self.op1:
            return False
        return apply_op(self.op2, node.inputs).outputs


class OpRemove(LocalRewriter):
    """Removes an operator: replaces each result by the input at the same position."""

    def __init__(self, op: Op, *, name: str = "", exactness: Exactness = Exactness.EXACT) -> None:
        self.op = op
        self.name = name or f"remove {op.name}"
        self.exactness = exactness
        self.reentrant = False
        self._doc = f"Remove {op.name}."
        self._source = source_of_caller()

    def tracks(self) -> Sequence[Tracked]:
        return (self.op,)

    def transform(self, node: Apply) -> Rewrite:
        if node.op != self.op:
            return False
        if len(node.inputs) != len(node.outputs):
            counts = f"{len(node.inputs)} inputs and {len(node.outputs)} results"
            raise RuleError(f"{self.op.name} has {counts}; it can be removed only if the numbers are equal")
        return list(node.inputs)
