"""The time of a circuit in the four modes of compilation: optimized or not, folded or not."""

from collections.abc import Mapping
from typing import Any

from explorer.bench.candidates import Candidate, time_candidates
from explorer.bench.inputs import random_inputs
from explorer.bench.measurement_run import MeasurementRun, Settings, Timed, measure
from explorer.bench.programs import program
from explorer.bench.step_times import COMPARED_ROWS
from explorer.compiler import TorchCompiler, record
from explorer.symbolic import Circuit
from explorer.timings import CPU, FORWARD, MODES, Run
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
