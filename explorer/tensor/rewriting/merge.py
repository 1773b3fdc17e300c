"""Merging equal constants and equal applications.

Constants are merged if their contents are equal, applications if their operators are equal and their inputs are
identical, starting from the inputs. The order of inputs counts: add(x, y) differs from add(y, x).
"""

from typing import Any

from explorer.rewrite import Exactness
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.ir.types import TensorType
from explorer.tensor.ir.variables import Apply, Variable
from explorer.tensor.rewriting.profile import Profile
from explorer.tensor.rewriting.rewriters import Rewriter


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
