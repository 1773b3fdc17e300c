"""Benchmarks: compile, forward and training times side by side with the peer compiler where it is installed."""

from explorer.bench.cases import Case, case_named
from explorer.bench.compile_times import (
    GROWTH_CASES,
    PEER_CASES,
    CompileTimes,
    deviations_from_proportional,
    measure_compile,
    measure_growth,
    num_compile_runs,
)
from explorer.bench.forward_times import DEFAULT_CASES, ForwardTimes, measure_forward
from explorer.bench.malloc import keep_freed_memory
from explorer.bench.peer import peer_is_installed
from explorer.bench.report import (
    MISSING_PEER,
    Conditions,
    compile_table,
    compile_to_json,
    forward_table,
    forward_to_json,
    growth_table,
    write_json,
)
from explorer.bench.timing import Job, Samples, clock_for, ratio, time_interleaved

__all__ = [
    "DEFAULT_CASES",
    "GROWTH_CASES",
    "MISSING_PEER",
    "PEER_CASES",
    "Case",
    "CompileTimes",
    "Conditions",
    "ForwardTimes",
    "Job",
    "Samples",
    "case_named",
    "clock_for",
    "compile_table",
    "compile_to_json",
    "deviations_from_proportional",
    "forward_table",
    "forward_to_json",
    "growth_table",
    "keep_freed_memory",
    "measure_compile",
    "measure_forward",
    "measure_growth",
    "num_compile_runs",
    "peer_is_installed",
    "ratio",
    "time_interleaved",
    "write_json",
]
