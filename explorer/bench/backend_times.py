"""The time of a circuit on the backends that this machine has: its layers in PyTorch, and `fast()`."""

from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any

from explorer.bench.candidates import time_candidates
from explorer.bench.measurement_run import MeasurementRun, Settings, Timed, measure
from explorer.bench.step_times import Reference, native_bytes
from explorer.errors import CircuitError
from explorer.runtime import fast
from explorer.timings import BACKENDS, FORWARD, Run
from explorer.trace import Trace


def measure_backends(trace: Trace, step: "int | str" = -1, **settings: Any) -> Run:
    """Time the forward pass of the circuit after a step on each backend; otherwise like `measure_steps`.

    Parameters are evaluated before, but for "native, parameters compared", which looks in each call whether they have
    changed. A backend that cannot run the circuit has no row; `explorer.fast(circuit).explain()` says why.

    Raises: CircuitError if `kind` is training: backends compute no gradients.
    """
    config = Settings(**settings)
    if config.kind != FORWARD:
        raise CircuitError("backends compute no gradients: measure their forward pass, or a training step of the steps")
    return measure(config, BACKENDS, trace.options, lambda begun: _time_backends(begun, trace, trace.step(step).index))


def _time_backends(begun: MeasurementRun, trace: Trace, step: int) -> Timed:
    rows = begun.settings.batch_size
    candidate = Reference(begun, trace, None, rows).candidate(step)
    circuit = trace.circuit_at(step)
    candidates = [replace(candidate, what="torch")]
    if fast(circuit).backend.name == "native":
        native = replace(candidate, own_bytes=partial(native_bytes, rows))
        candidates += [
            replace(native, what="native", build=lambda: fast(circuit.freeze())),
            replace(native, what="native, parameters compared", build=lambda: fast(deepcopy(circuit))),
        ]
    return time_candidates(begun, candidates)
