"""The time of a circuit as it was after the steps of its compilation, on CPU and CUDA."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor

from explorer.bench.candidates import Candidate, time_candidates
from explorer.bench.inputs import random_inputs
from explorer.bench.programs import program
from explorer.bench.sitting import Cancelled, OnProgress, Settings, Sitting, ignore, never, sitting
from explorer.timings import CPU, FORWARD, STEPS, SWEEP, Run, default_steps
from explorer.trace import Trace

COMPARED_ROWS = 256
"""Outputs are compared on so many rows at most."""
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
    x: Tensor | None = None,
    name: str = "",
    on_progress: OnProgress = ignore,
    cancelled: Cancelled = never,
) -> Run:
    """Time the circuit as it was after each of some steps (`default_steps` of the trace unless given).

    Every step has the same parameter values and, on every device, the same input: `x` (B, D), or `batch_size` rows
    made from `seed`. Its output is first compared with the unoptimized circuit's on the CPU; a step that differs gets
    no time but the reason. Then the steps take turns until the 95 % interval of each median reaches no farther than
    `precision` from it, relative to it, or `max_seconds` are over (`reached` is then False). `kind` is `forward` or
    `training`; `num_threads` are torch's, set back afterwards. A device that is not there is in `run.missing`, with
    the reason.

    `on_progress` is called between timed sections, at most five times a second, and waited for. When `cancelled()`
    is true, measuring ends after the section that runs, and the run holds what was found until then.

    Raises: CircuitError for a trace from a file (`explorer.rerun` makes it executable), or a circuit that cannot learn
    if `kind` is training; UnknownNameError, ValueRangeError for settings that make no sense.
    """
    rows = batch_size if x is None else len(x)
    settings = Settings(tuple(devices), kind, rows, num_threads, precision, max_seconds, seed)
    chosen = default_steps(trace) if steps is None else tuple(sorted({trace.step(step).index for step in steps}))
    with sitting(settings, on_progress, cancelled) as begun:
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
    """Time one step with batches of several sizes, each the first rows of the largest; otherwise as `measure_steps`.

    A batch that would not fit into memory gets no time but the reason. Outputs are compared on the first 256 rows.
    """
    sizes = sorted(set(batch_sizes))
    settings = Settings(tuple(devices), kind, min(sizes, default=0), num_threads, precision, max_seconds, seed)
    with sitting(settings, on_progress, cancelled) as begun:
        if cancelled():
            return begun.run(SWEEP, name, plain_options(trace), (), True)
        reference = Reference(begun, trace, None, max(sizes))
        whole = reference.candidate(trace.step(step).index)
        candidates = [
            replace(whole, what=f"batch {size:,}", x=whole.x[:size], wanted=whole.wanted[:size]) for size in sizes
        ]
        timings, stopped = time_candidates(begun, candidates)
        return begun.run(SWEEP, name, plain_options(trace), timings, stopped)


def plain_options(trace: Trace) -> Mapping[str, Any]:
    """The options of a trace as data of JSON types."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in trace.options.items()}


class Reference:
    """The unoptimized circuit on the CPU, the input, and what every step must give for its first rows."""

    def __init__(self, begun: Sitting, trace: Trace, x: Tensor | None, rows: int) -> None:
        begun.tell(0.0, "preparing the unoptimized circuit")
        self.trace = trace
        circuit = trace.circuit_at(0)
        self.x = random_inputs(circuit, rows, begun.settings.seed) if x is None else x.cpu()
        self.output = program(circuit, self.x[:COMPARED_ROWS], FORWARD, CPU).output()

    def candidate(self, step: int) -> Candidate:
        """A step, to be timed."""
        figures = self.trace.figures(step)
        return Candidate(
            self.trace.step(step).path,
            lambda: self.trace.circuit_at(step),
            self.x,
            self._wanted(step),
            figures["layers"],
            figures["activation_bytes"],
            step,
        )

    def _wanted(self, step: int) -> Tensor:
        """The unoptimized circuit's output; after a lossy rule the step's own on the CPU, as they differ by design."""
        lossy = {rule.name for rule in self.trace.rules if rule.exactness == "lossy"}
        if not any(rewrite.rule in lossy for known in self.trace.steps[: step + 1] for rewrite in known.rewrites):
            return self.output
        return program(self.trace.circuit_at(step), self.x[:COMPARED_ROWS], FORWARD, CPU).output()
