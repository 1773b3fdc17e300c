"""The time of a circuit in the four modes of compilation: optimized or not, folded or not."""

from collections.abc import Mapping, Sequence
from typing import Any

from explorer.bench.candidates import Candidate, time_candidates
from explorer.bench.inputs import random_inputs
from explorer.bench.measurement_run import Cancelled, OnProgress, Settings, ignore, measurement_run, never
from explorer.bench.programs import program
from explorer.bench.step_times import COMPARED_ROWS, plain_options
from explorer.compiler import record
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


def measure_modes(
    circuit: Circuit,
    options: Mapping[str, Any] | None = None,
    *,
    devices: Sequence[str] = (CPU,),
    kind: str = FORWARD,
    batch_size: int = 256,
    num_threads: int = 1,
    precision: float = 0.1,
    max_seconds: float = 20.0,
    seed: int = 0,
    name: str = "",
    on_progress: OnProgress = ignore,
    cancelled: Cancelled = never,
) -> Run:
    """Time a circuit in all four modes, compiled with `options` of `TorchCompiler`; otherwise like `measure_steps`.

    Equal seeds result in equal parameter values in every mode. Also raises the errors of compiling.
    """
    settings = Settings(tuple(devices), kind, batch_size, num_threads, precision, max_seconds, seed)
    others = {key: value for key, value in (options or {}).items() if key not in ("optimize", "fold")}
    with measurement_run(settings, on_progress, cancelled) as begun:
        traces: dict[str, Trace] = {}
        for mode, (optimize, fold) in NAMES_OF_MODES.items():
            if cancelled():
                return begun.run(MODES, name, others, (), True)
            begun.tell(0.0, f"compiling: {mode}")
            traces[mode] = record(circuit, optimize=optimize, fold=fold, **others)
        plain = traces["as written"]
        first = plain.circuit_at(0)
        x = random_inputs(first, batch_size, seed)
        wanted = program(first, (x[:COMPARED_ROWS],), FORWARD, CPU).outputs()
        candidates: list[Candidate] = []
        for mode, trace in traces.items():
            stats = trace.stats(-1)
            layers, num_bytes = stats["layers"], stats["activation_bytes"] * batch_size
            candidates.append(Candidate(mode, lambda t=trace: t.circuit_at(-1), (x,), wanted, layers, num_bytes))
        timings, stopped = time_candidates(begun, candidates)
        return begun.run(MODES, name, plain_options(plain), timings, stopped)
