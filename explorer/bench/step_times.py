"""The time of a circuit or tensor graph after the steps of its trace, on CPU and CUDA."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any

from torch import Tensor, nn

from explorer.bench.candidates import Candidate, time_candidates
from explorer.bench.measurement_run import MeasurementRun, Settings, Timed, measure
from explorer.bench.programs import first_rows, program, random_inputs, rows_of
from explorer.bench.roofs import with_roofs_of_steps
from explorer.errors import CircuitError
from explorer.runtime import FastCircuit
from explorer.runtime.backends import NativeBackend
from explorer.runtime.recording.kernels_snapshot import StepBackend
from explorer.timings import CPU, FORWARD, STEPS, SWEEP, Run, default_steps
from explorer.trace import Trace

COMPARED_ROWS = 256
"""Maximum number of rows on which outputs are compared."""
BATCH_SIZES: Sequence[int] = (1, 4, 16, 64, 256, 1024)


def measure_steps(
    trace: Trace,
    steps: "Sequence[int | str] | None" = None,
    *,
    x: "Tensor | tuple[Any, ...] | None" = None,
    **settings: Any,
) -> Run:
    """Time the circuit after each of some steps, by default the `default_steps` of the trace.

    `settings` are the fields of `Settings`: devices, kind, batch_size, num_threads, precision, max_seconds,
    total_seconds, seed, name, on_progress, cancelled. Every step has the same parameter values and, on every
    device, the same input: `x` (B, D), or `batch_size` rows generated from `seed`. The trace of a tensor graph has
    fixed shapes: it accepts a tuple of arguments, by default the recording's, and ignores `batch_size`. The
    output of each step is first compared with the unoptimized circuit's on the CPU; a step that differs gets
    the reason instead of a time. Then the steps are run interleaved.

    Raises: CircuitError for a trace from a file (`explorer.rerun` makes it executable), or a circuit without learnable
    parameters if `kind` is training; UnknownNameError, ValueRangeError for invalid settings.
    """
    config = Settings(**settings)
    config = replace(config, batch_size=_rows(trace, x, config.batch_size))
    chosen = default_steps(trace) if steps is None else tuple(sorted({trace.step(step).index for step in steps}))

    def time(begun: MeasurementRun) -> Timed:
        reference = Reference(begun, trace, x, config.batch_size)
        timings, cancelled = time_candidates(begun, [reference.candidate(step) for step in chosen], last_first=True)
        return with_roofs_of_steps(timings, trace, config.num_threads), cancelled

    return measure(config, STEPS, trace.options, time)


def measure_sweep(
    trace: Trace, step: "int | str" = -1, batch_sizes: Sequence[int] = BATCH_SIZES, **settings: Any
) -> Run:
    """Time one step with batches of several sizes, each the first rows of the largest; otherwise like `measure_steps`.

    A batch that does not fit into memory gets the reason instead of a time. Outputs are compared on the first 256
    rows. Also raises: CircuitError for the trace of a tensor graph, as its shapes are fixed.
    """
    require_circuit(trace, "batch sizes are varied")
    sizes = sorted(set(batch_sizes))

    def time(begun: MeasurementRun) -> Timed:
        whole = Reference(begun, trace, None, max(sizes)).candidate(trace.step(step).index)
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
        return time_candidates(begun, candidates)

    return measure(Settings(batch_size=min(sizes, default=0), **settings), SWEEP, trace.options, time)


def native_bytes(rows: int, module: nn.Module) -> int | None:
    """The bytes for the values of a call with some rows on the native kernels; None for another module."""
    if not isinstance(module, FastCircuit):
        return None
    backend = module.backend
    return backend.program.memory(rows) if isinstance(backend, NativeBackend | StepBackend) else None


def require_circuit(trace: Trace, what: str) -> None:
    """Raises: CircuitError for a trace of operators or instructions."""
    if not trace.level.has_batches:
        kind = f"{trace.level.noun}s of fixed shapes"
        raise CircuitError(f"{what} for circuits; this trace is of {kind}: time its steps")


def _rows(trace: Trace, x: Any, batch_size: int) -> int:
    """The number of rows to time."""
    if trace.level.has_batches:
        return batch_size if x is None else len(x)
    return rows_of(trace.examples if x is None else x)


class Reference:
    """The first step on the CPU, its arguments, and the outputs that every step must have for them."""

    def __init__(self, begun: MeasurementRun, trace: Trace, x: Any, rows: int) -> None:
        begun.report_progress(0.0, "preparing the unoptimized circuit")
        self.trace = trace
        module = trace.circuit_at(trace.start)
        if trace.level.has_batches:
            data = random_inputs(module, rows, begun.settings.seed) if x is None else x.cpu()
            self.arguments: tuple[Any, ...] = (data,)
            self.compared: tuple[Any, ...] = (data[:COMPARED_ROWS],)
        else:
            self.arguments = self.compared = trace.examples if x is None else x
        self.outputs = program(module, self.compared, FORWARD, CPU).outputs()

    def candidate(self, step: int) -> Candidate:
        """Make the candidate of a step. Raises: CircuitError for one before the compilation, which has other values."""
        if step < self.trace.start - 1:  # the last operator has made the circuit that is compiled
            raise CircuitError(
                f"step {step} ({self.trace.step(step).path}) has other circuits than the one that is compiled; time "
                f"steps from {self.trace.start} on"
            )
        stats = self.trace.stats(step)
        # A tensor graph's module contains the constants of the trace, which must not move to a device.
        level = self.trace.level
        is_own = level.has_batches or level.has_own_memory
        return Candidate(
            self.trace.step(step).path,
            lambda: self.trace.circuit_at(step) if is_own else deepcopy(self.trace.circuit_at(step)),
            self.arguments,
            self._expected_outputs(step),
            stats[level.count_stat],
            stats["activation_bytes"] * (rows_of(self.arguments) if level.has_batches else 1),
            step,
            any_rows=level.has_batches,
            own_bytes=partial(native_bytes, rows_of(self.arguments)) if level.has_own_memory else None,
            only_on=CPU if level.has_own_memory else "",
        )

    def _expected_outputs(self, step: int) -> tuple[Tensor, ...]:
        """The outputs of the first step; after a lossy rule, which changes them by design, of this step on the CPU."""
        lossy = {rule.name for rule in self.trace.rules if rule.exactness == "lossy"}
        if not any(rewrite.rule in lossy for known in self.trace.steps[: step + 1] for rewrite in known.applied):
            return self.outputs
        return program(self.trace.circuit_at(step), self.compared, FORWARD, CPU).outputs()
