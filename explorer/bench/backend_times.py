"""The time of a circuit on the backends that this machine has: its layers as they are, and `fast()`."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any

from explorer.backend import TorchCircuit
from explorer.bench.candidates import Candidate, time_candidates
from explorer.bench.measurement_run import MeasurementRun, Settings, Timed, measure
from explorer.bench.roofs import roof_of_circuit, with_roof
from explorer.bench.step_times import Reference, native_bytes, require_circuit
from explorer.errors import CircuitError
from explorer.runtime import fast
from explorer.runtime.backends import BACKENDS as KNOWN, ONLY_ON
from explorer.timings import BACKENDS, COMPARED, FORWARD, LAYERS_AS_THEY_ARE, Run
from explorer.trace import Trace


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
