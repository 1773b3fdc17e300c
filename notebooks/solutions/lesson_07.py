"""Solutions of lesson 7, rewriting."""

from explorer.tensor import FunctionGraph, NodeFinder
from explorer.tensor.ir.scalars import div, mul
from explorer.tensor.rewriting import (
    AddDestroyHandler,
    MergeRewriter,
    PatternSub,
    Profile,
    Rewriter,
    SequenceDB,
    in2out,
)
from explorer.tensor.rules.fused import WriteOverInput


class SimplifyFound(Rewriter):
    """Rewrite (a * b) / a to b, looking up the divisions."""

    def add_requirements(self, graph: FunctionGraph) -> None:
        graph.attach_feature(NodeFinder())

    def apply(self, graph: FunctionGraph) -> Profile | None:
        for node in graph.feature(NodeFinder).get_nodes(div):
            top, bottom = node.inputs
            if top.owner and top.owner.op == mul and any(bottom is factor for factor in top.owner.inputs):
                a, b = top.owner.inputs
                self.replace_all(graph, [(node.outputs[0], b if bottom is a else a)], [node])
        return None


def solution_1() -> type[Rewriter]:
    """Like `Simplify`, with get_nodes(div) instead of toposort()."""
    return SimplifyFound


def solution_2() -> list[PatternSub]:
    """Move divisions towards the output; the third pattern covers both sides of a product."""
    return [
        PatternSub((div, (div, "a", "b"), "c"), (div, "a", (mul, "b", "c"))),
        PatternSub((div, "a", (div, "b", "c")), (div, (mul, "a", "c"), "b")),
        PatternSub((mul, (div, "a", "b"), "c"), (div, (mul, "a", "c"), "b"), commutative=True),
    ]


def solution_3() -> SequenceDB:
    """Both queries merge; the handler is only needed for overwriting."""
    either = PatternSub((div, (mul, "x", "y"), "y"), "x", name="either", commutative=True)
    yours = SequenceDB("yours", not_before={"inplace": 49.5})
    yours.register("merge1", MergeRewriter(), 0, "fast_run", "fast_compile")
    yours.register("either", in2out(either), 1, "fast_run")
    yours.register("add_destroy_handler", AddDestroyHandler(), 49.5, "fast_run", "inplace")
    yours.register("overwrite", in2out(WriteOverInput()), 50, "fast_run", "inplace")
    return yours
