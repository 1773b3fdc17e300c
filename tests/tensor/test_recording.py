"""The cost of recording, and each recorded state as it was at its step, whatever happened later."""

import sys

import pytest
import torch
from torch import nn

from explorer.tensor import Constant, FunctionGraph, Observer, call, doubles
from explorer.tensor.ir.scalars import add, div, mul
from explorer.tensor.recording.record_module import record_module
from explorer.tensor.rewriting import EquilibriumRewriter, PatternSub, TopoRewriter, merge_rewriter, node_rewriter
from explorer.trace import Recorder

aten = torch.ops.aten
x, y = doubles("x y")
SIMPLIFY = PatternSub((div, (mul, "x", "y"), "y"), "x", name="Simplify")


def graph_after(step):
    """The tensor graph after a step."""
    return step.snapshot.state.function_graph()


def many(count):
    """Expressions that share much and are all outputs."""
    return FunctionGraph([x, y], [add(div(mul(x, y), y), mul(x, float(i))) for i in range(count)])


def work(count, recorded):
    """Count the instructions of Python in a rewriting: the same on every machine and at every time."""
    graph = many(count)
    if recorded:
        observer = Observer([Recorder()])
        graph.attach_feature(observer)
        observer.first("import")
    executed = 0

    def trace(frame, event, argument):
        nonlocal executed
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        executed += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        merge_rewriter.rewrite(graph)
        EquilibriumRewriter([SIMPLIFY], name="simplify").rewrite(graph)
    finally:
        sys.settrace(before)
    return executed


def test_the_cost_of_recording_a_rewrite_does_not_grow_with_the_graph():
    few, more = (work(count, True) - work(count, False) for count in (20, 80))
    assert more < 4.4 * few


def test_recording_the_smallest_rewrites_costs_less_than_applying_them():
    assert work(40, True) < 1.75 * work(40, False)


@pytest.mark.parametrize("one_by_one", [False, True])
def test_the_states_of_a_record_are_those_that_the_graph_had(one_by_one):
    """A step ends when a later change matches its results; its state is the one before this change."""
    texts = {}
    twice = PatternSub((add, "a", "a"), (mul, "a", 2.0), name="Twice")
    halves = PatternSub((mul, "a", 2.0), (div, (mul, "a", 4.0), 2.0), name="Halves")
    graph = FunctionGraph([x, y], [add(x, x), add(y, y), Constant(torch.tensor(3.0, dtype=torch.float64))])
    pipeline = EquilibriumRewriter([twice, halves], ignore_newtrees=False, name="both")
    data = (torch.tensor(2.0, dtype=torch.float64), torch.tensor(5.0, dtype=torch.float64))
    trace = record_module(graph, data, pipeline, one_by_one=one_by_one)
    for step in trace.steps:
        state = graph_after(step)
        state.verify()
        texts[state.text()] = None
        assert [float(value) for value in step.snapshot.results(data)] == [4.0, 10.0, 3.0]
    changing = [step for step in trace.steps if step.changed]
    assert len(texts) == len(changing)


def test_a_constant_is_drawn_once_it_is_an_output():
    three = Constant(torch.tensor(3.0, dtype=torch.float64))

    @node_rewriter([add], name="Known")
    def known(node):
        """x + 0 is 3, wrong on purpose."""
        return [three]

    trace = record_module(FunctionGraph([x, y], [add(x, y), mul(x, y)]), (), TopoRewriter(known))
    titles = [[node.title for node in trace.graph_at(step).nodes.values()] for step in range(len(trace.steps))]
    assert titles == [["Input", "Input", "add", "mul"], ["Input", "Input", "mul", "Constant"]]
    (rewrite,) = trace.steps[-1].rewrites
    assert len(rewrite.added) == len(rewrite.removed) == 1


def test_an_earlier_state_keeps_the_types_that_it_had():
    trace = record_module(nn.Conv2d(3, 4, 3), (torch.randn(1, 3, 8, 8),), (), layout="nhwc")
    inputs = [trace.graph_at(step).nodes[0].config["results"] for step in range(len(trace.steps))]
    assert inputs == [["f32[1,3,8,8]"], ["f32[1,3,8,8] NCHW"]]
    texts = [graph_after(step).text() for step in trace.steps]
    assert ["NCHW" in text for text in texts] == [False, True]


def test_undo_closes_the_previous_step_of_a_record():
    graph = many(2)
    recorder = Recorder()
    observer = Observer([recorder])
    graph.attach_feature(observer)
    observer.first("import")
    before, mark = graph.text(), graph.checkpoint()
    with graph.observer.scope("by hand"):
        graph.replace_validate(graph.outputs[0], call(aten.neg.default, graph.inputs[0]), "negate")
        graph.undo(mark)
    texts = [graph_after(step).text() for step in recorder.steps]
    assert [step.path for step in recorder.steps] == ["import", "by hand", "by hand, part 2"]
    assert (texts[0], texts[2]) == (before, before)
    assert texts[1] != before
