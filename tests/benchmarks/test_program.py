"""The benchmarks of programs: planned memory is what PyTorch allocates, and lowering grows with the circuit."""

import pytest

import benchmarks
from benchmarks.program_times import unfolded_circuit
from explorer.program.editing import WorkingProgram
from explorer.program.ir.verify import ALIGNMENT
from explorer.program.lowering import lower
from explorer.program.passes import MEMORY_PIPELINE, passes
from explorer.rewrite import PassManager
from tests.benchmarks.test_measurements import text_of
from tests.counting import num_calls


@pytest.mark.fuzz
def test_a_call_allocates_its_plan_its_outputs_and_what_it_copies():
    found = benchmarks.measure_peak("digits")
    assert found.call_bytes <= found.measured_bytes < found.call_bytes + ALIGNMENT
    assert found.plan_bytes == found.bound_bytes < found.lowered_bytes / 5
    assert f"{found.plan_bytes:,}" in text_of(benchmarks.peaks_table([found]))
    assert benchmarks.peaks_to_json([found])[0]["name"] == "digits"


def test_the_steps_of_lowering_and_passes_grow_with_the_circuit():
    def calls(layers: int) -> tuple[float, float]:
        graph, found = unfolded_circuit(layers)
        program = lower(graph)
        working = WorkingProgram(program)
        lowering = num_calls(lambda: lower(graph))
        return lowering / found, num_calls(lambda: PassManager(MEMORY_PIPELINE, passes).run(working)) / found

    calls(30)  # loads and caches what is needed once
    small, large = calls(40), calls(160)
    assert large[0] < 1.1 * small[0]
    assert large[1] < 1.1 * small[1]


def test_the_times_of_lowering_are_a_table():
    times = benchmarks.measure_lowering([], [60, 120])
    assert [one.layers for one in times] == [58, 118]
    assert "n^" in text_of(benchmarks.lowering_table(times))
    assert benchmarks.lowering_to_json(times)[1]["case"] == "tree, unfolded"
