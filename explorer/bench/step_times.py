"""The time of a circuit or tensor graph after the steps of its trace, on CPU and CUDA."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

from torch import Tensor

from explorer.bench.candidates import Candidate, time_candidates
from explorer.bench.inputs import random_inputs
from explorer.bench.measurement_run import (
    Cancelled,
    MeasurementRun,
    OnProgress,
    Settings,
    ignore,
    measurement_run,
    never,
)
from explorer.bench.programs import first_rows, program, rows_of
from explorer.errors import CircuitError
from explorer.timings import CPU, FORWARD, STEPS, SWEEP, Run, default_steps
from explorer.trace import Trace

COMPARED_ROWS = 256
"""Maximum number of rows on which outputs are compared."""
BATCH_SIZES: Sequence[int] = (1, 4, 16, 64, 256, 1024)


def measure_steps(
    trace: Trace,
    steps: "Sequence[int | str] | None" = None,
    *,
    devices: Sequence[str] = (CPU,),
    kind: str = FORWARD,
    batch_size: int = 256,
    num_threads: int = 1,
    precision: float = 0.1,
    max_seconds: float = 20.0,
    seed: int = 0,
    x: "Tensor | tuple[Any, ...] | None" = None,
    name: str = "",
    on_progress: OnProgress = ignore,
    cancelled: Cancelled = never,
) -> Run:
    """Time the circuit after each of some steps, by default the `default_steps` of the trace.

    Every step has the same parameter values and, on every device, the same input: `x` (B, D), or `batch_size` rows
    generated from `seed`. The trace of a tensor graph has fixed shapes: it accepts a tuple of arguments, by default
    those of the recording, and ignores `batch_size`. The output of each step is first compared with that of the
    unoptimized circuit on the CPU; a step that differs gets the reason instead of a time. Then the steps are run
    interleaved until the 95 % interval of each median is within the relative `precision`, or `max_seconds` are over
    (`reached` is then False). `kind` is `forward` or `training`; `num_threads` is torch's, restored afterwards. An
    unavailable device is in `run.missing`, with the reason.

    `on_progress` is called between timed sections, at most five times per second, and waited for. When `cancelled()`
    is true, the measurement ends after the current section, and the run contains the results so far.

    Raises: CircuitError for a trace from a file (`explorer.rerun` makes it executable), or a circuit without learnable
    parameters if `kind` is training; UnknownNameError, ValueRangeError for invalid settings.
    """
    settings = Settings(tuple(devices), kind, _rows(trace, x, batch_size), num_threads, precision, max_seconds, seed)
    chosen = default_steps(trace) if steps is None else tuple(sorted({trace.step(step).index for step in steps}))
    with measurement_run(settings, on_progress, cancelled) as begun:
        if cancelled():
            return begun.run(STEPS, name, plain_options(trace), (), True)
        reference = Reference(begun, trace, x, settings.batch_size)
        candidates = [reference.candidate(step) for step in chosen]
        timings, stopped = time_candidates(begun, candidates)
        return begun.run(STEPS, name, plain_options(trace), timings, stopped)


def measure_sweep(
    trace: Trace,
    step: "int | str" = -1,
    batch_sizes: Sequence[int] = BATCH_SIZES,
    *,
    devices: Sequence[str] = (CPU,),
    kind: str = FORWARD,
    num_threads: int = 1,
    precision: float = 0.1,
    max_seconds: float = 20.0,
    seed: int = 0,
    name: str = "",
    on_progress: OnProgress = ignore,
    cancelled: Cancelled = never,
) -> Run:
    """Time one step with batches of several sizes, each the first rows of the largest; otherwise like `measure_steps`.

    A batch that does not fit into memory gets the reason instead of a time. Outputs are compared on the first 256
    rows. Also raises: CircuitError for the trace of a tensor graph, whose shapes are fixed.
    """
    require_circuit(trace, "batch sizes are varied")
    sizes = sorted(set(batch_sizes))
    settings = Settings(tuple(devices), kind, min(sizes, default=0), num_threads, precision, max_seconds, seed)
    with measurement_run(settings, on_progress, cancelled) as begun:
        if cancelled():
            return begun.run(SWEEP, name, plain_options(trace), (), True)
        reference = Reference(begun, trace, None, max(sizes))
        whole = reference.candidate(trace.step(step).index)
        candidates = [
            replace(
                whole,
                what=f"batch {size:,}",
                arguments=first_rows(whole.arguments, size),
                wanted=first_rows(whole.wanted, size),
                planned_bytes=whole.planned_bytes // max(sizes) * size,
            )
            for size in sizes
        ]
        timings, stopped = time_candidates(begun, candidates)
        return begun.run(SWEEP, name, plain_options(trace), timings, stopped)


def plain_options(trace: Trace) -> Mapping[str, Any]:
    """Return the options of a trace as data of JSON types."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in trace.options.items()}


def require_circuit(trace: Trace, what: str) -> None:
    """Raises: CircuitError for the trace of a tensor graph."""
    if not trace.level.has_batches:
        raise CircuitError(f"{what} for circuits; this trace is of a tensor graph of fixed shapes: time its steps")


def _rows(trace: Trace, x: Any, batch_size: int) -> int:
    """The number of rows to time."""
    if trace.level.has_batches:
        return batch_size if x is None else len(x)
    return rows_of(trace.examples if x is None else x)


class Reference:
    """The first step on the CPU, its arguments, and the outputs that every step must have for them."""

    def __init__(self, begun: MeasurementRun, trace: Trace, x: Any, rows: int) -> None:
        begun.tell(0.0, "preparing the unoptimized circuit")
        self.trace = trace
        module = trace.circuit_at(0)
        if trace.level.has_batches:
            data = random_inputs(module, rows, begun.settings.seed) if x is None else x.cpu()
            self.arguments: tuple[Any, ...] = (data,)
            self.compared: tuple[Any, ...] = (data[:COMPARED_ROWS],)
        else:
            self.arguments = self.compared = trace.examples if x is None else x
        self.outputs = program(module, self.compared, FORWARD, CPU).outputs()

    def candidate(self, step: int) -> Candidate:
        """Make the candidate of a step."""
        stats = self.trace.stats(step)
        # A tensor graph's module contains the constants of the trace, which must not move to a device.
        level = self.trace.level
        return Candidate(
            self.trace.step(step).path,
            lambda: self.trace.circuit_at(step) if level.has_batches else deepcopy(self.trace.circuit_at(step)),
            self.arguments,
            self._expected_outputs(step),
            stats[level.count_stat],
            stats["activation_bytes"] * (rows_of(self.arguments) if level.has_batches else 1),
            step,
            any_rows=level.has_batches,
        )

    def _expected_outputs(self, step: int) -> tuple[Tensor, ...]:
        """The outputs of the first step; after a lossy rule, which changes them by design, of this step on the CPU."""
        lossy = {rule.name for rule in self.trace.rules if rule.exactness == "lossy"}
        if not any(rewrite.rule in lossy for known in self.trace.steps[: step + 1] for rewrite in known.rewrites):
            return self.outputs
        return program(self.trace.circuit_at(step), self.compared, FORWARD, CPU).outputs()
