"""Simple rewriters: merge equal nodes, replace or remove an operator, mark the start of in-place operators."""

from collections.abc import Sequence
from typing import Any

from explorer.errors import RuleError
from explorer.rewrite import Exactness, source_of_caller
from explorer.tensor.graph.destroy import DestroyHandler
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.graph.rewrites import Rewrite
from explorer.tensor.ir.ops import Op, apply_op
from explorer.tensor.ir.types import TensorType
from explorer.tensor.ir.variables import Apply, Variable
from explorer.tensor.rewriting.profile import Profile
from explorer.tensor.rewriting.rewriters import LocalRewriter, Rewriter, Tracked


class MergeRewriter(Rewriter):
    """Merges equal constants, and applications of one operator to the same inputs."""

    name = "merge"
    exactness = Exactness.EXACT

    def apply(self, graph: FunctionGraph) -> Profile:
        profile = Profile()
        counts = profile.rule(self.label)
        leaves: dict[Any, Variable] = {}
        for constant in graph.constants:
            counts.tried += 1
            first = leaves.setdefault(constant.signature, constant)
            if first is not constant:
                counts.matched += 1
                counts.applied += self._merge(graph, [(constant, first)])
        seen: dict[Any, Apply] = {}
        for node in graph.toposort():
            if node.op.is_random:
                continue  # each call draws other numbers
            counts.tried += 1
            first = seen.setdefault((node.op, tuple(map(id, node.inputs))), node)
            if first is not node:
                counts.matched += 1
                pairs = [(old, new) for old, new in zip(node.outputs, first.outputs, strict=True) if old.clients]
                counts.applied += self._merge(graph, pairs)
        return profile

    def _merge(self, graph: FunctionGraph, pairs: list[tuple[Variable, Variable]]) -> int:
        if any(isinstance(old.type, TensorType) and old.type != new.type for old, new in pairs):
            return 0
        owners = [v.owner for pair in pairs for v in pair if v.owner is not None]
        return int(self.replace_all(graph, pairs, owners))


merge_rewriter = MergeRewriter()


class OpSub(LocalRewriter):
    """Replaces one operator by another on the same inputs, everywhere."""

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


class AddDestroyHandler(Rewriter):
    """Attaches the feature that checks operators which overwrite their inputs; changes nothing else."""

    name = "add_destroy_handler"
    exactness = Exactness.EXACT

    def add_requirements(self, graph: FunctionGraph) -> None:
        graph.attach_feature(DestroyHandler())

    def apply(self, graph: FunctionGraph) -> Profile | None:
        return None
