"""Which backend a circuit gets: the one that was asked for, or the fastest that this machine has for it."""

from explorer.backend import EvaluatedCircuit
from explorer.errors import LoweringError, check_name
from explorer.runtime.backends import BACKENDS, Backend, Choice
from explorer.runtime.circuit import FastCircuit

AUTO = "auto"


def fast(circuit: EvaluatedCircuit, *, backend: str = AUTO) -> FastCircuit:
    """A circuit that is called as this one and shares its parameters, on a faster backend.

    `backend` is "auto" for the fastest one that can run it here, or the name of one of `BACKENDS`.

    Raises: UnknownNameError; LoweringError if the backend that was asked for cannot run the circuit, with the reason.
    """
    check_name("backend", backend, (AUTO, *BACKENDS))
    if backend != AUTO:
        made = BACKENDS[backend](circuit)
        return FastCircuit(circuit, made, (Choice(backend, f"used, as asked: {made.describe()}"),))
    chosen: Backend | None = None
    choices: list[Choice] = []
    for name, build in BACKENDS.items():
        if chosen is not None:
            choices.append(Choice(name, f"slower than {chosen.name}"))
            continue
        try:
            chosen = build(circuit)
            choices.append(Choice(name, f"used: {chosen.describe()}"))
        except LoweringError as error:
            choices.append(Choice(name, f"not used: {error}"))
    assert chosen is not None, "the last backend runs every circuit"
    return FastCircuit(circuit, chosen, tuple(choices))
