"""The memory that programs are planned for, next to the memory that PyTorch allocates when they run."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from rich.table import Table

from explorer.bench import random_inputs
from explorer.bench.usage import measure_usage
from explorer.compiler import TorchCompiler
from explorer.templates import gallery
from explorer.timings import CPU

ROWS = 64


@dataclass(frozen=True, slots=True)
class ProgramPeak:
    """The bytes of a call with `ROWS` rows; parameters and inputs are not counted.

    `lowered_bytes` are alive at once before the memory passes, `plan_bytes` is the size of the memory plan, and
    `bound_bytes` the largest live set, which no plan can undercut. `call_bytes` is what a call should allocate: the
    plan, outputs, and results that are computed elsewhere and copied. `measured_bytes` is what it does allocate,
    `operators_bytes` what the same operators allocate one by one, each result freed after its last use.
    """

    name: str
    lowered_bytes: int
    plan_bytes: int
    bound_bytes: int
    call_bytes: int
    measured_bytes: int
    operators_bytes: int


def measure_peak(name: str) -> ProgramPeak:
    """Plan and run a folded circuit of the gallery. Raises: UnknownNameError for an unknown circuit."""
    from explorer.program.memory.planning import call_bytes, peak_bytes, plan_memory
    from explorer.program.recording.program_snapshot import ProgramSnapshot
    from explorer.program.recording.record_program import record_program
    from explorer.program.running.executor import Executor
    from explorer.tensor import FunctionGraph, to_module

    compiled = TorchCompiler().compile(gallery.load_named(name))
    x = random_inputs(compiled, ROWS)
    trace = record_program(compiled, (x,))
    first, last = trace.steps[0].snapshot, trace.steps[-1].snapshot
    assert isinstance(first, ProgramSnapshot)
    assert isinstance(last, ProgramSnapshot)
    program, graph = last.program, last.source
    assert isinstance(graph, FunctionGraph)
    data = {graph.ids[constant]: constant.data for constant in graph.constants}
    executor, operators = Executor(program), to_module(graph)
    tensors = [data.get(weight.id, x) for weight in executor.given]
    with torch.no_grad():
        measured = measure_usage(lambda: executor(*tensors), CPU).peak_bytes
        one_by_one = measure_usage(lambda: operators(x), CPU).peak_bytes
    plan = plan_memory(program)
    return ProgramPeak(
        name,
        peak_bytes(first.program),
        plan.size_bytes,
        plan.lower_bound_bytes,
        call_bytes(program),
        measured,
        one_by_one,
    )


def peaks_table(peaks: Sequence[ProgramPeak]) -> Table:
    """The bytes of all circuits as a table."""
    table = Table(title=f"Memory of a call with {ROWS} rows, bytes")
    table.add_column("circuit")
    for heading in ("before passes", "plan", "lower bound", "plan + outputs + copies", "measured", "operators"):
        table.add_column(heading, justify="right")
    for one in peaks:
        numbers = list(asdict(one).values())[1:]
        table.add_row(one.name, *(f"{number:,}" for number in numbers))
    return table


def peaks_to_json(peaks: Sequence[ProgramPeak]) -> list[dict[str, Any]]:
    """Return the bytes as data of JSON types."""
    return [asdict(one) for one in peaks]
