"""The time of the kernel calls of a step, group by group, and the share of the roof that each group reaches."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum

import numpy as np
from torch import Tensor

from explorer.bench.interleave import Repeated, Section
from explorer.bench.measurement_run import MeasurementRun, Timed, with_estimate
from explorer.bench.roofs import machine_limits
from explorer.bench.stopwatch import one_lap, stopwatch
from explorer.errors import LoweringError
from explorer.runtime.native.evaluating import Kernels
from explorer.runtime.native.native_program import NativeProgram
from explorer.runtime.native.structures import NativeCircuit
from explorer.runtime.plan import KernelCall
from explorer.runtime.recording.kernels_snapshot import KernelsSnapshot, StepBackend
from explorer.timings import CPU, LAYER, SUM, WHOLE, Estimate, Timing
from explorer.trace import Trace

ALL, PARTS = "whole", "parts"
"""The interleaved sections: a forward pass; the same, two runs without kernel calls, and each group, one by one."""
TIMES = ("median", "low", "high", "lower_quartile", "upper_quartile")
"""The times of an estimate."""
BEFORE = 3
"""The laps of the parts before the groups; the last of them is a run without kernel calls, on a warm cache."""
MIN_CALLS = 256
"""Smaller groups are evaluated several times in a call, so that their time exceeds the time of a call."""
Key = str


def time_calls(begun: MeasurementRun, trace: Trace, step: int, x: Tensor) -> Timed:
    """Time groups of equal kernel calls of a layer, each alone, on the values that a whole forward pass has left.

    The time of a run without kernel calls, which also reads the input and writes outputs, is subtracted. A call has an
    equal share of the time of its group. The run has the whole forward pass, the sum of the groups, and each call.
    Raises: LoweringError if the native kernels cannot run here.
    """
    snapshot = trace.steps[step].snapshot
    assert isinstance(snapshot, KernelsSnapshot)
    backend = snapshot.circuit().backend
    assert isinstance(backend, StepBackend)
    if CPU not in begun.devices:
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
        limits = machine_limits(self.begun.settings.num_threads)
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
