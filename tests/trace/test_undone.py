"""Two rules that undo each other: lineage visits each node once, however many paths lead to it."""

import torch
from torch import nn

from explorer.rewrite import FunctionPassPipeline, PassRegistry
from explorer.tensor.passes.base import GraphPass
from explorer.tensor.recording.record_module import ManagedPipeline, record_module
from explorer.tensor.rewriting import PatternSub
from tests.counting import num_calls

aten = torch.ops.aten
MUL, NEG = aten.mul.Tensor, aten.neg.default
ROUNDS = 30


class Program(nn.Module):
    def forward(self, x, y):
        return x * y.neg()


def test_lineage_visits_a_node_that_is_recreated_only_once():
    there = PatternSub((MUL, "a", (NEG, "b")), (NEG, (MUL, "a", "b")), name="there")
    back = PatternSub((NEG, (MUL, "a", "b")), (MUL, "a", (NEG, "b")), name="back")
    registry = PassRegistry({one.name: GraphPass(one.name, "To and fro.", rules=[one]) for one in (there, back)})
    pipeline = ManagedPipeline(FunctionPassPipeline.of(*["there", "back"] * ROUNDS), passes=registry)
    x = torch.ones(2)
    trace = record_module(Program(), (x, x), pipeline)
    assert sum(len(step.rewrites) for step in trace.steps) == 2 * ROUNDS
    first, last = (set(trace.graph_at(at).nodes) for at in (0, -1))
    ends = [trace.lineage(node) for node in sorted(last - first)]
    assert ends
    assert all(set(found.symbolic) <= first and found.symbolic for found in ends)
    begins = [trace.lineage(node) for node in sorted(first - last)]
    assert begins
    assert all({node for node, _ in found.now + found.inside} <= last for found in begins)
    assert all(found.now or found.inside for found in begins)
    # The paths to them are more than 2^60.
    assert num_calls(lambda: [trace.lineage(node) for node in first ^ last]) < 100 * ROUNDS * len(first ^ last)
