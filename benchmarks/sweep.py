"""Configurations to compare: circuits, presets, modes, batch sizes, kinds of run; and the measurement of one."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from typing import Any

from rich.table import Table

from explorer.app.circuits import load_circuit
from explorer.bench.candidates import time_candidates
from explorer.bench.circuit_times import NAMES_OF_MODES, Reference, native_bytes
from explorer.bench.measurement_run import MeasurementRun, Settings, Timed, measure
from explorer.compiler import record
from explorer.errors import ValueRangeError, check_name
from explorer.options import PRESETS
from explorer.runtime import fast
from explorer.runtime.backends import BACKENDS, ONLY_ON
from explorer.runtime.choosing import AUTO
from explorer.symbolic import circuit_from_json
from explorer.templates import gallery
from explorer.timings import CPU, DEVICES, FORWARD, KINDS, LAYERS_AS_THEY_ARE, STEPS, TRAINING, Estimate, Run, Timing
from explorer.trace import Trace


@dataclass(frozen=True, slots=True)
class Configuration:
    """What to compile and time. Raises: UnknownNameError, ValueRangeError."""

    circuit: str
    preset: str = "default"
    mode: str = "optimized and folded"
    batch_size: int = 256
    kind: str = FORWARD
    backend: str = LAYERS_AS_THEY_ARE
    device: str = CPU

    def __post_init__(self) -> None:
        check_name("preset", self.preset, PRESETS)
        check_name("mode", self.mode, NAMES_OF_MODES)
        check_name("kind of run", self.kind, KINDS)
        check_name("backend", self.backend, (LAYERS_AS_THEY_ARE, AUTO, *BACKENDS))
        check_name("device", self.device, DEVICES)
        if self.batch_size < 1:
            raise ValueRangeError(f"batch_size must be at least 1; found {self.batch_size}")


@dataclass(frozen=True)
class SweepRow:
    """The result of a configuration: its measurement, or the error that ended it.

    `worker` measured it; `starts` is how often it was started: more than once if a worker was lost.
    """

    configuration: Configuration
    run: Run | None = None
    error: str = ""
    worker: str = ""
    starts: int = 0

    @property
    def timing(self) -> Timing | None:
        """The timing of the last step; None if there is none."""
        return self.run.timings[-1] if self.run is not None and self.run.timings else None

    @property
    def reason(self) -> str:
        """Why there is no time; empty if there is one."""
        if self.error or self.run is None:
            return self.error
        if self.timing is None:
            return self.run.missing.get(self.configuration.device, "it was not measured")
        return self.timing.missing

    @property
    def declined(self) -> str:
        """Why the backend ran the layers of the circuit instead; empty if it did not."""
        return self.timing.declined if self.timing is not None else ""


def configurations(
    circuits: Sequence[str],
    presets: Sequence[str],
    modes: Sequence[str],
    batch_sizes: Sequence[int],
    kinds: Sequence[str],
    backends: Sequence[str],
    device: str,
) -> tuple[Configuration, ...]:
    """Every combination, each once, in the order given; the last of these parameters varies fastest."""
    chosen = product(circuits, presets, modes, batch_sizes, kinds, backends)
    return tuple(dict.fromkeys(Configuration(*choice, device) for choice in chosen))


def circuit_data(name: str) -> Mapping[str, Any] | None:
    """What a worker needs to build a circuit: nothing for one of the gallery, the data of a file, which it may lack.

    Raises: UnknownNameError, FileFormatError.
    """
    return None if name in gallery.names() else load_circuit(name).to_json()


def measure_configuration(
    configuration: Configuration, data: Mapping[str, Any] | None, max_seconds: float, num_threads: int
) -> Run:
    """Compile a circuit and time it, after comparing its outputs with those of the circuit as written.

    Raises: CircuitError if it cannot be compiled or run, or not on this backend.
    """
    name = configuration.circuit
    circuit = load_circuit(name) if data is None else circuit_from_json(data, name)
    optimize, fold = NAMES_OF_MODES[configuration.mode]
    trace = record(circuit, preset=configuration.preset, optimize=optimize, fold=fold)
    settings = Settings(
        devices=(configuration.device,),
        kind=configuration.kind,
        batch_size=configuration.batch_size,
        num_threads=num_threads,
        max_seconds=max_seconds,
        name=name,
    )
    return measure(settings, STEPS, trace.options, lambda begun: _time(begun, trace, configuration))


def _time(begun: MeasurementRun, trace: Trace, configuration: Configuration) -> Timed:
    candidate = Reference(begun, trace, None, configuration.batch_size).candidate(len(trace.steps) - 1)
    backend = configuration.backend
    if backend != LAYERS_AS_THEY_ARE:
        circuit = trace.circuit_at(-1).to(configuration.device)
        fast(circuit, backend=backend)  # raises, if it cannot run the circuit
        candidate = replace(
            candidate,
            what=backend,
            build=lambda: circuit if configuration.kind == TRAINING else circuit.freeze(),
            there=partial(fast, backend=backend),
            own_bytes=lambda module: native_bytes(configuration.batch_size, module),
            only_on=ONLY_ON.get(backend, ""),
        )
    return time_candidates(begun, [candidate])


def sweep_table(rows: Sequence[SweepRow]) -> Table:
    """One row per configuration: median with 95 % interval, layers, peak memory; below, whether workers were lost."""
    table = Table(title="Milliseconds of each configuration: medians with 95 % intervals", caption=_lost_text(rows))
    for name in ("circuit", "preset", "mode", "kind", "backend", "worker"):
        table.add_column(name, overflow="fold")
    for name in ("batch", "layers", "ms", "interval", "peak bytes"):
        table.add_column(name, justify="right", overflow="fold")
    for row in rows:
        one, timing = row.configuration, row.timing
        found = timing.estimate if timing is not None else None
        worker = row.worker + (" (measured again)" if row.starts > 1 else "")
        peak = timing.peak_bytes if timing is not None else None
        table.add_row(
            one.circuit,
            one.preset,
            one.mode,
            one.kind,
            f"{one.backend}: ran the layers" if row.declined else one.backend,
            worker,
            f"{one.batch_size:,}",
            "" if timing is None or timing.layers is None else f"{timing.layers:,}",
            "failed" if found is None else f"{found.median:.3f}",
            "" if found is None else _interval(found),
            "" if peak is None else f"{peak:,}",
        )
    return table


def _lost_text(rows: Sequence[SweepRow]) -> str | None:
    """Say for how many configurations a worker was lost; None if for none."""
    count = sum(row.starts > 1 for row in rows)
    if not count:
        return None
    which = "1 configuration was" if count == 1 else f"{count} configurations were"
    return f"{which} started again on another worker, because the one that measured was lost."


def _interval(found: Estimate) -> str:
    if found.is_known:
        return f"{found.low:.3f} to {found.high:.3f}"
    return f"unknown: {found.count} run{'s' * (found.count != 1)}"


def failures(rows: Sequence[SweepRow]) -> tuple[str, ...]:
    """A line for each configuration without a time, or of which the backend ran the layers, with the reason."""
    return tuple(
        f"{one.circuit}, {one.preset}, {one.mode}, {one.kind}, {one.backend}, batch {one.batch_size:,}: "
        f"{row.reason or row.declined}"
        for row in rows
        if row.reason or row.declined
        for one in (row.configuration,)
    )


def conditions_of(rows: Sequence[SweepRow]) -> tuple[str, ...]:
    """A sentence for each worker: its machine, versions and settings, and the reason to doubt its times, if any."""
    found: dict[str, str] = {}
    for row in rows:
        if row.run is not None:
            setup = row.run.setup
            device = setup.devices.get(row.configuration.device, "no such device")
            threads = "1 thread" if setup.num_threads == 1 else f"{setup.num_threads} threads"
            machine = f"{device}, torch {setup.versions['torch']}, {threads}, {setup.clock}"
            parts = (machine, setup.malloc, setup.warning)
            found.setdefault(row.worker, f"Worker {row.worker}: {'; '.join(part for part in parts if part)}")
    return tuple(found[worker] for worker in sorted(found))


def sweep_to_json(rows: Sequence[SweepRow]) -> list[dict[str, Any]]:
    """The rows as data of JSON types, each with its conditions and its machine."""
    return [
        {
            "configuration": asdict(row.configuration),
            "worker": row.worker,
            "starts": row.starts,
            "error": row.reason,
            "run": None if row.run is None else asdict(row.run),
        }
        for row in rows
    ]
