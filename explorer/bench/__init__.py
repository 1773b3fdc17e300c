"""Times of a circuit after the steps of its compilation, on CPU and CUDA. Peers are compared in `benchmarks/`."""

from explorer.bench.devices import available_devices, device_name, why_no_cuda
from explorer.bench.inputs import random_inputs
from explorer.bench.interleave import Job, ratio, time_interleaved
from explorer.bench.layer_times import measure_layers
from explorer.bench.machine import Conditions, write_json
from explorer.bench.malloc import keep_freed_memory
from explorer.bench.measurement_run import Progress
from explorer.bench.mode_times import measure_modes
from explorer.bench.recorded import (
    RECORDED_FOLDER,
    RecordedFile,
    load_runs,
    recorded_runs,
    runs_from_json,
    save_runs,
)
from explorer.bench.step_times import BATCH_SIZES, measure_steps, measure_sweep
from explorer.bench.stopwatch import clock_for
from explorer.bench.worker import Worker, WorkerState
from explorer.timings import Estimate, Limits, Run, Setup, Timing, crossover, default_steps, estimate, state_step

__all__ = [
    "BATCH_SIZES",
    "RECORDED_FOLDER",
    "Conditions",
    "Estimate",
    "Job",
    "Limits",
    "Progress",
    "RecordedFile",
    "Run",
    "Setup",
    "Timing",
    "Worker",
    "WorkerState",
    "available_devices",
    "clock_for",
    "crossover",
    "default_steps",
    "device_name",
    "estimate",
    "keep_freed_memory",
    "load_runs",
    "measure_layers",
    "measure_modes",
    "measure_steps",
    "measure_sweep",
    "random_inputs",
    "ratio",
    "recorded_runs",
    "runs_from_json",
    "save_runs",
    "state_step",
    "time_interleaved",
    "why_no_cuda",
    "write_json",
]
