"""Bytes of a call: its memory plan, its outputs, and results that are computed elsewhere and copied."""

import pytest
import torch

from explorer.bench.usage import measure_usage
from explorer.program.ir.instructions import Call, Way
from explorer.program.lowering import lower
from explorer.program.memory.planning import call_bytes, peak_bytes
from explorer.program.passes import MEMORY_PIPELINE
from explorer.program.running.executor import Executor
from explorer.tensor import FunctionGraph, TensorType, Variable, call, to_module
from tests.program.programs import after, arguments_of, assert_computes

aten = torch.ops.aten
X = torch.rand(32, 32)


def products(x: Variable) -> Variable:
    """Three products and elementwise operators, which all have `out=` overloads."""
    y = call(aten.mm.default, x, x)
    y = call(aten.exp.default, call(aten.mm.default, y, x))
    return call(aten.mm.default, call(aten.add.Tensor, y, x), y)


def reversed_rows(x: Variable) -> Variable:
    """`flip` has no kernel that writes into given memory."""
    return call(aten.neg.default, call(aten.flip.default, call(aten.exp.default, x), [0]))


SCATTERED = {
    "slice": lambda y, x: call(aten.slice_scatter.default, y, call(aten.slice.Tensor, x, 0, 0, 8), 0, 4, 20, 2),
    "select": lambda y, x: call(aten.select_scatter.default, y, call(aten.select.int, x, 0, 0), 1, 3),
    "diagonal": lambda y, x: call(aten.diagonal_scatter.default, y, call(aten.select.int, x, 0, 0)),
    "all of it": lambda y, x: call(aten.slice_scatter.default, y, call(aten.exp.default, x), 0, 0, 32),
}


@pytest.mark.parametrize("name", SCATTERED)
def test_a_part_is_replaced_without_a_copy_of_planned_memory(name):
    x = Variable(TensorType(torch.float32, (32, 32)), name="x")
    result = SCATTERED[name](call(aten.neg.default, x), x)
    for k in range(6):  # made before, and alive until after
        result = call(aten.mm.default, call(aten.mul.Tensor, x, float(k)), result)
    graph = FunctionGraph([x], [result])
    planned = after(lower(graph), *MEMORY_PIPELINE.pass_ids)
    assert_computes(planned, graph, X)
    arguments, executor = arguments_of(planned, graph, X), Executor(planned)
    with torch.no_grad():
        measured = measure_usage(lambda: executor(*arguments), "cpu").peak_bytes
    assert measured <= call_bytes(planned)


@pytest.mark.parametrize("build", [products, reversed_rows])
def test_a_call_allocates_what_the_plan_says(build):
    x = Variable(TensorType(torch.float32, (32, 32)), name="x")
    graph = FunctionGraph([x], [build(x)])
    lowered = lower(graph)
    planned = after(lowered, *MEMORY_PIPELINE.pass_ids)
    copies = [one for one in planned.instructions if isinstance(one, Call) and one.way is Way.COPIED]
    assert len(copies) == (build is reversed_rows)
    arguments = arguments_of(planned, graph, X)
    executor, unplanned = Executor(planned), Executor(lowered)
    with torch.no_grad():
        measured = measure_usage(lambda: executor(*arguments), "cpu").peak_bytes
        apart = measure_usage(lambda: unplanned(*arguments), "cpu").peak_bytes
        operators = measure_usage(lambda: to_module(graph)(X), "cpu").peak_bytes
    assert measured == call_bytes(planned)
    assert call_bytes(planned) == peak_bytes(planned) + X.nbytes * (1 + len(copies))
    assert measured < apart
    assert peak_bytes(planned) <= operators
