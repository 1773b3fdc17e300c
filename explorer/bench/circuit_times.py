"""The time of a circuit in the four modes of compilation, and on the backends that this machine has."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any

from explorer.backend import TorchCircuit
from explorer.bench.candidates import Candidate, time_candidates
from explorer.bench.measurement_run import MeasurementRun, Settings, Timed, measure
from explorer.bench.programs import program, random_inputs
from explorer.bench.roofs import roof_of_circuit, with_roof
from explorer.bench.step_times import COMPARED_ROWS, Reference, native_bytes, require_circuit
from explorer.compiler import TorchCompiler, record
from explorer.errors import CircuitError
from explorer.runtime import fast
from explorer.runtime.backends import BACKENDS as KNOWN, ONLY_ON
from explorer.symbolic import Circuit
from explorer.timings import BACKENDS, COMPARED, CPU, FORWARD, LAYERS_AS_THEY_ARE, MODES, Run
from explorer.trace import Trace

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
