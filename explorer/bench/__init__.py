"""Benchmarks: times beside the peer compiler's, and of the steps of a compilation on CPU and CUDA."""

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
from explorer.bench.devices import available_devices, device_name, why_no_cuda
from explorer.bench.forward_times import DEFAULT_CASES, ForwardTimes, measure_forward
from explorer.bench.growing_graphs import SHAPES
from explorer.bench.inputs import random_inputs
from explorer.bench.layer_times import measure_layers
from explorer.bench.malloc import keep_freed_memory
from explorer.bench.mode_times import measure_modes
from explorer.bench.peer import peer_is_installed
from explorer.bench.recorded import (
    RECORDED_FOLDER,
    RecordedFile,
    load_runs,
    recorded_runs,
    runs_from_json,
    save_runs,
)
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
from explorer.bench.rewrite_times import MISSING_PYTENSOR, SIZES, RewriteTime, measure_rewriting, rewrite_table
from explorer.bench.sitting import Progress
from explorer.bench.step_times import BATCH_SIZES, measure_steps, measure_sweep
from explorer.bench.tensor_counts import TensorCounts, measure_tensor, tensor_table, tensor_to_json
from explorer.bench.timing import Job, Samples, clock_for, ratio, time_interleaved
from explorer.bench.worker import Worker, WorkerState
from explorer.timings import Estimate, Limits, Run, Setup, Timing, crossover, default_steps, estimate, state_step

__all__ = [
    "BATCH_SIZES",
    "DEFAULT_CASES",
    "GROWTH_CASES",
    "MISSING_PEER",
    "MISSING_PYTENSOR",
    "PEER_CASES",
    "RECORDED_FOLDER",
    "SHAPES",
    "SIZES",
    "Case",
    "CompileTimes",
    "Conditions",
    "Estimate",
    "ForwardTimes",
    "Job",
    "Limits",
    "Progress",
    "RecordedFile",
    "RewriteTime",
    "Run",
    "Samples",
    "Setup",
    "TensorCounts",
    "Timing",
    "Worker",
    "WorkerState",
    "available_devices",
    "case_named",
    "clock_for",
    "compile_table",
    "compile_to_json",
    "crossover",
    "default_steps",
    "deviations_from_proportional",
    "device_name",
    "estimate",
    "forward_table",
    "forward_to_json",
    "growth_table",
    "keep_freed_memory",
    "load_runs",
    "measure_compile",
    "measure_forward",
    "measure_growth",
    "measure_layers",
    "measure_modes",
    "measure_rewriting",
    "measure_steps",
    "measure_sweep",
    "measure_tensor",
    "num_compile_runs",
    "peer_is_installed",
    "random_inputs",
    "ratio",
    "recorded_runs",
    "rewrite_table",
    "runs_from_json",
    "save_runs",
    "state_step",
    "tensor_table",
    "tensor_to_json",
    "time_interleaved",
    "why_no_cuda",
    "write_json",
]
