"""The time of a circuit after each step of its trace, in the four modes of compilation, and on all backends here."""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any

from torch import Tensor, nn

from explorer.adapters.snapshot import WatchedSnapshot
from explorer.backend import TorchCircuit
from explorer.bench.candidates import Candidate, time_candidates
from explorer.bench.measurement_run import MeasurementRun, Settings, Timed, measure
from explorer.bench.programs import first_rows, program, random_inputs, rows_of
from explorer.bench.roofs import roof_of_circuit, with_roof, with_roofs_of_steps
from explorer.compiler import TorchCompiler, record
from explorer.errors import CircuitError
from explorer.runtime import FastCircuit, fast
from explorer.runtime.backends import BACKENDS as KNOWN, ONLY_ON, NativeBackend
from explorer.runtime.recording.kernels_snapshot import StepBackend
from explorer.symbolic import Circuit
from explorer.timings import (
    BACKENDS,
    COMPARED,
    CPU,
    FORWARD,
    LAYERS_AS_THEY_ARE,
    MODES,
    STEPS,
    SWEEP,
    Run,
    default_steps,
)
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
            only_on=self._only_on(step),
        )

    def _only_on(self, step: int) -> str:
        """The one device that a step runs on: what another compiler made runs where its inputs were."""
        if isinstance(self.trace.steps[step].snapshot, WatchedSnapshot):
            return next((one.device.type for one in self.arguments if isinstance(one, Tensor)), CPU)
        return CPU if self.trace.level.has_own_memory else ""

    def _expected_outputs(self, step: int) -> tuple[Tensor, ...]:
        """The outputs of the first step; after a lossy rule, which changes them by design, of this step on the CPU."""
        lossy = {rule.name for rule in self.trace.rules if rule.exactness == "lossy"}
        if not any(rewrite.rule in lossy for known in self.trace.steps[: step + 1] for rewrite in known.applied):
            return self.outputs
        return program(self.trace.circuit_at(step), self.compared, FORWARD, CPU).outputs()


NAMES_OF_MODES: Mapping[str, tuple[bool, bool]] = {
    "as written": (False, False),
    "optimized": (True, False),
    "folded": (False, True),
    "optimized and folded": (True, True),
}
"""Name of a mode -> (optimized, folded)."""


def measure_modes(circuit: Circuit, options: Mapping[str, Any] | None = None, **settings: Any) -> Run:
    """Time a circuit in all four modes, compiled with `options` of `TorchCompiler`; otherwise like `measure_steps`.

    Equal seeds result in equal parameter values in every mode. Also raises the errors of compiling.
    """
    options = {**(options or {}), "optimize": False, "fold": False}
    plain = TorchCompiler(**options).options.to_json()
    return measure(Settings(**settings), MODES, plain, lambda begun: _time_modes(begun, circuit, options))


def _time_modes(begun: MeasurementRun, circuit: Circuit, options: Mapping[str, Any]) -> Timed:
    traces: dict[str, Trace] = {}
    for mode, (optimize, fold) in NAMES_OF_MODES.items():
        if begun.settings.cancelled():
            return (), True
        begun.report_progress(0.0, f"compiling: {mode}")
        traces[mode] = record(circuit, **{**options, "optimize": optimize, "fold": fold})
    first = traces["as written"].circuit_at(traces["as written"].start)
    x = random_inputs(first, begun.settings.batch_size, begun.settings.seed)
    wanted = program(first, (x[:COMPARED_ROWS],), FORWARD, CPU).outputs()
    candidates: list[Candidate] = []
    for mode, trace in traces.items():
        stats = trace.stats(-1)
        layers, num_bytes = stats["layers"], stats["activation_bytes"] * len(x)
        candidates.append(Candidate(mode, lambda t=trace: t.circuit_at(-1), (x,), wanted, layers, num_bytes))
    return time_candidates(begun, candidates)


def measure_backends(trace: Trace, step: "int | str" = -1, **settings: Any) -> Run:
    """Time the forward pass of the circuit after a step on each backend; otherwise like `measure_steps`.

    Parameters are evaluated before, but for "native, parameters compared" and "triton, parameters compared", which look
    in each call whether they have changed. A backend that cannot run the circuit has the reason instead of a time. Each
    has the number of rows that were not certified, and on the CPU the time that no program undercuts for this work.

    Raises: CircuitError for a trace of operators or instructions, and if `kind` is training, as only forward passes
    are compared.
    """
    require_circuit(trace, "backends are compared")
    config = Settings(**settings)
    if config.kind != FORWARD:
        raise CircuitError(
            f"backends are compared by their forward passes, got kind={config.kind!r}; "
            "use measure_steps for training steps"
        )
    return measure(config, BACKENDS, trace.options, lambda begun: _time_backends(begun, trace, trace.step(step).index))


def _time_backends(begun: MeasurementRun, trace: Trace, step: int) -> Timed:
    rows = begun.settings.batch_size
    candidate = replace(Reference(begun, trace, None, rows).candidate(step), what=LAYERS_AS_THEY_ARE)
    circuit = trace.circuit_at(step)
    others = _of_backends(candidate, circuit, rows, begun)
    timings, cancelled = time_candidates(begun, [candidate, *others])
    return with_roof(timings, roof_of_circuit(circuit, rows, begun.settings.num_threads)), cancelled


def _of_backends(candidate: Candidate, circuit: TorchCircuit, rows: int, begun: MeasurementRun) -> Iterator[Candidate]:
    """A candidate for each backend, or the reason why there is none."""
    for name in KNOWN:
        own = replace(
            candidate,
            what=name,
            build=lambda name=name: circuit.freeze(),
            there=partial(fast, backend=name),
            own_bytes=lambda module: native_bytes(rows, module),
            only_on=ONLY_ON.get(name, ""),
        )
        yield own
        if ONLY_ON.get(name) in begun.devices:
            yield replace(own, what=f"{name}, {COMPARED}", build=lambda name=name: deepcopy(circuit))
