"""The time of each layer of a forward pass, and of copying its inputs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from explorer.backend import EvaluatedCircuit, Read
from explorer.bench.call_times import time_calls
from explorer.bench.candidates import Candidate
from explorer.bench.interleave import Repeated, Section
from explorer.bench.measurement_run import MeasurementRun, Settings, Timed, measure, with_estimate
from explorer.bench.programs import Program, program
from explorer.bench.step_times import Reference, require_circuit
from explorer.bench.stopwatch import one_lap, stopwatch
from explorer.bench.usage import StoppedError
from explorer.runtime.recording.kernels_snapshot import KernelsSnapshot
from explorer.timings import FORWARD, LAYER, LAYERS, READ, SUM, WHOLE, Run, Timing
from explorer.trace import Trace

Part = tuple[str, str]
"""Device, and WHOLE, SUM (the layers one by one) or READ."""


def measure_layers(trace: Trace, step: "int | str" = -1, *, x: Tensor | None = None, **settings: Any) -> Run:
    """Time each layer of a circuit at a step and the whole forward pass; otherwise like `measure_steps`.

    The layers run in order as in the forward pass, each on the fresh outputs of the previous ones, with a lap after
    each (on CUDA an event, without waiting). A layer's time includes reading its inputs; if that copies, the copying
    is also timed on its own (`read`). All activations are kept meanwhile, unlike in the forward pass. The run contains
    the whole forward pass, the sum of the layers, each layer and each read; it is precise when the first two are.

    In a trace of kernel calls, each has an equal share of its group's time (`time_calls`), on the rows of the trace.
    """
    config = Settings(kind=FORWARD, **settings)
    index = trace.step(step).index
    if isinstance(trace.steps[index].snapshot, KernelsSnapshot):
        (rows,) = trace.examples
        config = replace(config, batch_size=len(rows))
        return measure(config, LAYERS, trace.options, lambda begun: time_calls(begun, trace, index, rows))
    require_circuit(trace, "layers are timed one by one")
    config = config if x is None else replace(config, batch_size=len(x))
    return measure(config, LAYERS, trace.options, lambda begun: _time_layers(begun, trace, x, index))


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
