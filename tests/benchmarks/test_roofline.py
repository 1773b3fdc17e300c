"""The limits of the machine, and the share of them that a case reaches."""

import pytest

import benchmarks
from benchmarks.roofline import Roofline
from explorer.bench.roofs import HardwareLimits, measure_hardware_limits
from explorer.runtime.work import Work
from tests.benchmarks.test_measurements import text_of
from tests.runtime.circuits import has_compiler


@has_compiler
def test_the_machine_computes_faster_than_it_reads():
    """Every processor multiplies several floats in the time that it reads one from memory."""
    limits = measure_hardware_limits(1)
    assert limits.flops_per_second > limits.bytes_per_second / 4 > 0


@has_compiler
def test_a_case_has_its_work_and_a_share():
    found = benchmarks.measure_roofline(benchmarks.get_case("S1"), HardwareLimits(1, 1e15, 1e15), 3)
    assert found.work.flops > 2e6  # 63 sums of 16 x 16 for 64 rows
    assert 0 < found.share < 0.01
    assert "S1" in text_of(benchmarks.roofline_table([found]))
    assert benchmarks.roofline_to_json([found])[0]["wanted"] == 0.3


def test_the_share_is_that_of_the_tighter_limit():
    limits = HardwareLimits(1, 100.0, 10.0)
    assert Roofline("L3", Work(100.0, 1.0), limits, (2.0,)).share == pytest.approx(0.5)
    assert Roofline("L3", Work(100.0, 20.0), limits, (2.0,)).share == pytest.approx(1.0)
    assert Roofline("L3", Work(), limits, (2.0,)).wanted == 0.6
    assert "1 thread" in benchmarks.limits_text(limits)
