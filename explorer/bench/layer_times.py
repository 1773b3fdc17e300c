"""The time of each layer of a forward pass, and of copying its inputs; the time of the kernel calls of a step."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Any

import numpy as np
import torch
from torch import Tensor

from explorer.adapters.snapshot import WatchedSnapshot
from explorer.backend import EvaluatedCircuit, Read
from explorer.bench.candidates import Candidate
from explorer.bench.circuit_times import Reference, require_circuit
from explorer.bench.interleave import Repeated, Section
from explorer.bench.measurement_run import MeasurementRun, Settings, Timed, measure, with_estimate
from explorer.bench.programs import Program, program, rows_of
from explorer.bench.roofs import hardware_limits
from explorer.bench.stopwatch import one_lap, stopwatch
from explorer.bench.usage import StoppedError
from explorer.bench.watched_times import time_watched
from explorer.errors import LoweringError
from explorer.runtime.native.evaluating import Kernels
from explorer.runtime.native.native_program import NativeProgram
from explorer.runtime.native.structures import NativeCircuit
from explorer.runtime.plan import KernelCall
from explorer.runtime.recording.kernels_snapshot import KernelsSnapshot, StepBackend
from explorer.timings import CPU, FORWARD, LAYER, LAYERS, READ, SUM, WHOLE, Estimate, Run, Timing
from explorer.trace import Trace

Part = tuple[str, str]
"""Device, and WHOLE, SUM (the layers one by one) or READ."""

ALL, PARTS = "whole", "parts"
"""The interleaved sections: a forward pass; the same, two runs without kernel calls, and each group, one by one."""
TIMES = ("median", "low", "high", "lower_quartile", "upper_quartile")
"""The times of an estimate."""
BEFORE = 3
"""The laps of the parts before the groups; the last of them is a run without kernel calls, on a warm cache."""
MIN_CALLS = 256
"""Smaller groups are evaluated several times in a call, so that their time exceeds the time of a call."""
Key = str


def measure_layers(trace: Trace, step: "int | str" = -1, *, x: Tensor | None = None, **settings: Any) -> Run:
    """Time each layer of a circuit at a step and the whole forward pass; otherwise like `measure_steps`.

    The layers run in order as in the forward pass, each on the fresh outputs of the previous ones, with a lap after
    each (on CUDA an event, without waiting). A layer's time includes reading its inputs; if that copies, the copying
    is also timed on its own (`read`). All activations are kept meanwhile, unlike in the forward pass. The run contains
    the whole forward pass, the sum of the layers, each layer and each read; it is precise when the first two are.

    In a trace of kernel calls, each has an equal share of its group's time (`_time_calls`), on the rows of the trace.
    In one of another compiler, each call of the generated code is timed in its place (`time_watched`).
    """
    config = Settings(kind=FORWARD, **settings)
    index = trace.step(step).index
    if isinstance(trace.steps[index].snapshot, KernelsSnapshot):
        (rows,) = trace.examples
        config = replace(config, batch_size=len(rows))
        return measure(config, LAYERS, trace.options, lambda begun: _time_calls(begun, trace, index, rows))
    if isinstance(trace.steps[index].snapshot, WatchedSnapshot):
        config = replace(config, batch_size=rows_of(trace.examples))
        return measure(config, LAYERS, trace.options, lambda begun: time_watched(begun, trace, index))
    require_circuit(trace, "layers are timed one by one")
    config = config if x is None else replace(config, batch_size=len(x))
    return measure(config, LAYERS, trace.options, lambda begun: _time_layers(begun, trace, x, index))


def has_part_times(trace: Trace, step: "int | str" = -1) -> bool:
    """Whether `measure_layers` can time a step: of another compiler, one behind which the code is known."""
    snapshot = trace.step(step).snapshot
    return trace.level.has_part_times or (isinstance(snapshot, WatchedSnapshot) and snapshot.marks is not None)


def _time_layers(begun: MeasurementRun, trace: Trace, x: Tensor | None, step: int) -> Timed:
    candidate = Reference(begun, trace, x, begun.settings.batch_size).candidate(step)
    found: dict[str, _Layers] = {}
    differs: list[Timing] = []
    for device in begun.devices:
        begun.report_progress(0.0, f"preparing {candidate.what}")
        made = program(candidate.build(), candidate.arguments, FORWARD, device)
        reason = made.disagreement(candidate.wanted)
        if reason:
            differs.append(Timing(WHOLE, device, candidate.rows, None, f"no time: {reason}", step=step))
            continue
        try:
            found[device] = _Layers(made, device, candidate, begun)
        except StoppedError:
            return tuple(differs), True
    sections = {(device, part): run for device, layers in found.items() for part, run in layers.sections().items()}

    def timings(repeated: Repeated[Part], whole_only: bool) -> tuple[Timing, ...]:
        return (*differs, *(t for layers in found.values() for t in layers.timings(repeated, whole_only)))

    repeated = begun.repeat(sections, lambda repeated: timings(repeated, True))
    return timings(repeated, False), repeated.cancelled


@dataclass(frozen=True, eq=False)
class _CopyingRead:
    """A read that copies, with its inputs."""

    node: int
    read: Read
    values: tuple[Tensor, ...]
    index: Tensor | None


class _Layers:
    """The forward pass of a circuit, its layers, and its copying reads, on one device."""

    def __init__(self, made: Program, device: str, candidate: Candidate, begun: MeasurementRun) -> None:
        self.made = made
        self.circuit: EvaluatedCircuit = made.module  # type: ignore[assignment]
        (self.x,) = made.arguments
        self.device = device
        self.settings = begun.settings
        self.watch = stopwatch(device, begun.settings.num_threads)
        self.nodes = tuple(self.circuit.graph.nodes)
        self.step = candidate.step
        made.prepare()
        usage = begun.usage(made.run, device)
        self.whole = replace(
            self._timing(WHOLE),
            layers=candidate.layers,
            operators=None if usage is None else usage.operators,
            planned_bytes=candidate.planned_bytes,
            peak_bytes=None if usage is None else usage.peak_bytes,
        )
        self.reads = _copying_reads(self.circuit, self.x)

    def sections(self) -> Mapping[str, Section]:
        """The interleaved sections."""
        found: dict[str, Section] = {WHOLE: self._run_whole, SUM: self._run_layers}
        return found | ({READ: self._run_reads} if self.reads else {})

    def timings(self, repeated: Repeated[Part], whole_only: bool) -> Iterator[Timing]:
        """The timings of the whole and the sum, then of each layer and each read."""
        yield self._with(self.whole, repeated, WHOLE, None)
        yield self._with(self._timing(SUM), repeated, SUM, None)
        if whole_only:
            return
        for lap, node in enumerate(self.nodes):
            yield self._with(self._timing(LAYER, node), repeated, SUM, lap)
        for lap, read in enumerate(self.reads):
            yield self._with(self._timing(READ, read.node), repeated, READ, lap)

    def _timing(self, what: str, node: int | None = None) -> Timing:
        return Timing(what, self.device, len(self.x), step=self.step, node=node)

    def _with(self, timing: Timing, repeated: Repeated[Part], part: str, lap: int | None) -> Timing:
        key = self.device, part
        found = repeated.estimate(key) if lap is None else repeated.lap_estimate(key, lap)
        timing = replace(timing, missing=repeated.failed.get(key, ""))
        return with_estimate(timing, found, self.settings, repeated.cancelled)

    def _run_whole(self) -> Sequence[float]:
        self.made.prepare()
        return self.watch(one_lap(self.made.run), 1)

    def _run_layers(self) -> Sequence[float]:
        self.made.prepare()
        with torch.no_grad():
            return self.watch(self.circuit.activations(self.x), len(self.nodes))

    def _run_reads(self) -> Sequence[float]:
        with torch.no_grad():
            return self.watch((read.read(read.values, read.index) for read in self.reads), len(self.reads))


def _copying_reads(circuit: EvaluatedCircuit, x: Tensor) -> tuple[_CopyingRead, ...]:
    """The copying reads of a prepared circuit, with the activations they read."""
    with torch.no_grad():
        values = dict(circuit.activations(x))
    found: list[_CopyingRead] = []
    for node in circuit.graph.nodes:
        read = circuit.reads(node)
        if read is not None and read.kind.copies:
            index = None if read.index is None else torch.from_numpy(read.index).to(x.device)
            found.append(_CopyingRead(node, read, tuple(values[source] for source in read.sources), index))
    return tuple(found)


def _time_calls(begun: MeasurementRun, trace: Trace, step: int, x: Tensor) -> Timed:
    """Time groups of equal kernel calls of a layer, each alone, on the values that a whole forward pass has left.

    The time of a run without kernel calls, which also reads the input and writes outputs, is subtracted. A call has an
    equal share of the time of its group. The run has the whole forward pass, the sum of the groups, and each call.
    Raises: LoweringError if the native kernels cannot run here.
    """
    snapshot = trace.steps[step].snapshot
    assert isinstance(snapshot, KernelsSnapshot)
    backend = snapshot.circuit().backend
    assert isinstance(backend, StepBackend)
    if not begun.keep_only(CPU):
        return (), False
    groups = _Groups(begun, snapshot, backend.program, x, step)
    repeated = begun.repeat(groups.sections(), lambda repeated: tuple(groups.timings(repeated))[:1])
    return tuple(groups.timings(repeated)), repeated.cancelled


@dataclass(frozen=True, eq=False)
class _Groups:
    """The forward pass, and groups of its calls that can be evaluated alone."""

    begun: MeasurementRun
    snapshot: KernelsSnapshot
    program: NativeProgram
    x: Tensor
    step: int

    def sections(self) -> Mapping[Key, Section]:
        """The interleaved sections."""
        kernels = self.program.packed().numbers.single
        empty = _only(kernels, ())
        groups = (_only(kernels, self._positions(of) * _times(of)) for of in self._members())
        parts = [kernels, empty, empty, *groups]
        watch = stopwatch(CPU, self.begun.settings.num_threads)
        return {
            ALL: lambda: watch(one_lap(lambda: self._run(kernels)), 1),
            PARTS: lambda: watch(map(self._run, parts), len(parts)),
        }

    def timings(self, repeated: Repeated[Key]) -> Iterator[Timing]:
        """The whole, the sum of the groups, and each call."""
        yield self._timing(WHOLE, repeated.estimate(ALL), repeated)
        nothing = repeated.lap_estimate(PARTS, BEFORE - 1)
        found: dict[int, Estimate] = {}
        for lap, numbers in enumerate(self._members(), start=BEFORE):
            group = repeated.lap_estimate(PARTS, lap)
            if group is not None and nothing is not None:
                found |= dict.fromkeys(numbers, _less(group, nothing.median, len(numbers) * _times(numbers)))
        limits = hardware_limits(self.begun.settings.num_threads)
        yield self._timing(SUM, _added(list(found.values())), repeated)
        for number, estimate in found.items():
            work = self.snapshot.work[number]
            roof = None if limits is None else 1000 * work.seconds(limits.flops_per_second, limits.bytes_per_second)
            yield replace(self._timing(LAYER, estimate, repeated), node=number, roof_ms=roof)

    def _timing(self, what: str, found: Estimate | None, repeated: Repeated[Key]) -> Timing:
        timing = Timing(what, CPU, len(self.x), step=self.step)
        return with_estimate(timing, found, self.begun.settings, repeated.cancelled)

    def _members(self) -> Sequence[Sequence[int]]:
        """The numbers of the calls of each group, in their order."""
        found: dict[object, list[int]] = {}
        for number, call in self.snapshot.plan.computed():
            found.setdefault(_group_of(call), []).append(number)
        return tuple(found.values())

    def _positions(self, numbers: Sequence[int]) -> list[int]:
        places = {number: place for place, (number, _) in enumerate(self.snapshot.plan.computed())}
        return [places[number] for number in numbers]

    def _run(self, kernels: Kernels) -> None:
        if self.program.run(kernels, self.x) is None:
            raise LoweringError("a variable has a value that it cannot have")


def _group_of(call: KernelCall) -> object:
    """Calls that are equal here are of one group: a layer has more than one if its folds differ."""
    layer = [(source.layer, source.part) for source in call.sources[:1]]
    return (call.kind, *layer, call.terms, len(call.inputs), call.width)


def _times(numbers: Sequence[int]) -> int:
    """Return the number of evaluations of a group in a call."""
    return -(-MIN_CALLS // len(numbers))


def _only(kernels: Kernels, positions: Sequence[int]) -> Kernels:
    """The same parameters, for an evaluation of some of the kernel calls only."""
    arrays = kernels.arrays
    rows = np.ascontiguousarray(arrays.calls[list(positions)])
    native = NativeCircuit.from_buffer_copy(arrays.native)
    native.calls, native.num_calls = rows.ctypes.data, len(rows)
    return replace(kernels, arrays=replace(arrays, native=native, calls=rows), sharing=None)


def _less(found: Estimate, by: float, parts: int) -> Estimate:
    """An equal part of a time, less what every call takes."""
    rest = {name: max(0.0, getattr(found, name) - by) / parts for name in TIMES}
    return replace(found, **rest)


def _added(parts: Sequence[Estimate]) -> Estimate | None:
    """The sum of times; its interval is the widest that theirs allow."""
    if not parts:
        return None
    first = min(parts, key=lambda part: part.count)
    return replace(first, **{name: fsum(getattr(part, name) for part in parts) for name in TIMES})
