"""The choice of a backend: the one that was asked for, or the fastest that this machine has for it."""

from functools import cache

from explorer.backend import EvaluatedCircuit
from explorer.errors import BackendWarning, DataTypeError, LoweringError, check_name, warn
from explorer.runtime.backends import BACKENDS, Backend, Choice, why_not_on
from explorer.runtime.circuit import CIRCUIT_CLASSES, FastCircuit
from explorer.runtime.native.build import BuildError
from explorer.symbolic import is_cirkit

AUTO = "auto"


def fast(circuit: EvaluatedCircuit | FastCircuit, *, backend: str = AUTO, batch_size: int | None = None) -> FastCircuit:
    """A circuit that is called as this one and shares its parameters, on a faster backend.

    `backend` is "auto" for the fastest one that can run it here, or the name of one of `BACKENDS`. The first time that
    the kernels cannot be compiled or loaded, a `BackendWarning` says why. Batches of any size work; `batch_size` does
    now what else the first forward pass of that many rows would do, such as compiling or capturing a CUDA graph. For a
    fast circuit, the backend of the circuit that it was made of is chosen again.

    Raises: DataTypeError for anything but a compiled circuit, or a batch size that is not an integer; ValueRangeError
    for one below 1; UnknownNameError; LoweringError if the backend that was asked for cannot run the circuit, with the
    reason.
    """
    made = _choose(circuit.circuit if isinstance(circuit, FastCircuit) else circuit, backend)
    if batch_size is not None:
        made.prepare(batch_size)
    return made


def _choose(circuit: EvaluatedCircuit, backend: str) -> FastCircuit:
    if not isinstance(circuit, CIRCUIT_CLASSES):
        advice = "; compile from_cirkit(circuit) first, which copies its values" if is_cirkit(circuit) else ""
        raise DataTypeError(f"fast() takes a compiled or a frozen circuit; found {type(circuit).__name__}{advice}")
    check_name("backend", backend, (AUTO, *BACKENDS))
    if backend != AUTO:
        made = BACKENDS[backend](circuit)
        return FastCircuit(circuit, made, (Choice(backend, f"used, as asked: {made.describe()}"),))
    chosen: Backend | None = None
    choices: list[Choice] = []
    device = next((one.device.type for one in circuit.held_tensors), "cpu")
    for name, build in BACKENDS.items():
        if reason := why_not_on(name, device):
            choices.append(Choice(name, f"not used: {reason}"))
            continue
        if chosen is not None:
            choices.append(Choice(name, f"slower than {chosen.name}"))
            continue
        try:
            chosen = build(circuit)
            choices.append(Choice(name, f"used: {chosen.describe()}"))
        except LoweringError as error:
            choices.append(Choice(name, f"not used: {error}"))
            if isinstance(error, BuildError):
                _warn_once(str(error))
    assert chosen is not None, "the last backend runs every circuit"
    return FastCircuit(circuit, chosen, tuple(choices))


@cache
def _warn_once(reason: str) -> None:
    """Warn once in a process for a reason."""
    warn(f"fast circuits run in PyTorch, several times slower than they could: {reason}", BackendWarning)
