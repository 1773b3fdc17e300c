"""The operations and compulsory bytes of kernel calls, counted by hand."""

import pytest

from benchmarks.cases import Case
from explorer.compiler import TorchCompiler
from explorer.runtime.plan import Kind, lower_to_plan, run_passes
from explorer.runtime.work import Work, measure_work, total_work
from explorer.templates import load_named

K, ROWS, STATES = 4, 8, 3


def planned(layer, inputs):
    """A tree over two pixels: one kernel call that reads both."""
    case = Case("tiny", (1, 1, 2), "quad-tree-2", layer, K, inputs, ROWS, STATES)
    circuit = TorchCompiler().compile(case.circuit())
    plan = run_passes(lower_to_plan(circuit))
    return plan, measure_work(plan, circuit, ROWS)


def by_kind(plan, works):
    return {plan.calls[number].kind: work for number, work in works.items()}


def test_sum_multiplies_factors_and_reads_weights_and_rows_of_both_tables():
    plan, works = planned("cp-t", "categorical")
    read = STATES * (1 - (1 - 1 / STATES) ** ROWS)
    found = by_kind(plan, works)[Kind.SUM]
    assert found.flops == ROWS * (K + 2 * K * 1)
    assert found.num_bytes == pytest.approx(4 * (K * 1 + 2 * read * K))


def test_a_tucker_unit_and_normal_densities():
    plan, works = planned("tucker", "gaussian")
    found = by_kind(plan, works)
    assert found[Kind.TUCKER] == Work(ROWS * (K * K + 2 * K * K * 1), 4 * K * K)
    assert found[Kind.GAUSSIAN] == Work(ROWS * 5 * K, 4 * 2 * K)


@pytest.mark.parametrize("name", ["digits", "hmm", "kronecker"])
def test_weights_are_compulsory_once_and_operations_grow_with_the_rows(name):
    circuit = TorchCompiler().compile(load_named(name))
    plan = run_passes(lower_to_plan(circuit))
    one, two = (total_work(list(measure_work(plan, circuit, rows).values())) for rows in (1, 2))
    assert two.flops == 2 * one.flops > 0
    assert one.num_bytes < two.num_bytes < 2 * one.num_bytes


def test_the_roof_is_the_slower_of_computing_and_reading():
    assert Work(100.0, 10.0).seconds(50.0, 10.0) == 2.0
    assert Work(100.0, 10.0).seconds(1000.0, 10.0) == 1.0
