"""Times of a circuit after the steps of its compilation, on CPU and CUDA. Peers are compared in `benchmarks/`."""

from explorer.bench.circuit_times import (
    BATCH_SIZES as BATCH_SIZES,
    measure_backends as measure_backends,
    measure_modes as measure_modes,
    measure_steps as measure_steps,
    measure_sweep as measure_sweep,
    require_circuit as require_circuit,
)
from explorer.bench.interleave import Job as Job, ratio as ratio, time_interleaved as time_interleaved
from explorer.bench.layer_times import has_part_times as has_part_times, measure_layers as measure_layers
from explorer.bench.machine import (
    device_name as device_name,
    is_this_machine as is_this_machine,
    keep_freed_memory as keep_freed_memory,
    why_no_cuda as why_no_cuda,
)
from explorer.bench.measurement_run import Progress as Progress, Settings as Settings
from explorer.bench.programs import random_inputs as random_inputs
from explorer.bench.recorded import (
    RECORDED_FOLDER as RECORDED_FOLDER,
    RecordedFile as RecordedFile,
    load_runs as load_runs,
    recorded_of as recorded_of,
    recorded_runs as recorded_runs,
    runs_from_json as runs_from_json,
    runs_of as runs_of,
    save_runs as save_runs,
)
from explorer.bench.stopwatch import clock_for as clock_for
from explorer.bench.worker import Worker as Worker, WorkerState as WorkerState
from explorer.timings import (
    Estimate as Estimate,
    Limits as Limits,
    Run as Run,
    Setup as Setup,
    Timing as Timing,
    crossover as crossover,
    default_steps as default_steps,
    estimate as estimate,
    state_step as state_step,
)
