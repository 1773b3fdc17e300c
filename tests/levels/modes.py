"""For tests of all levels: compile in every mode, evaluate to numpy, and watch the events of a compilation."""

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.backend import TorchCircuit
from explorer.compiler import TorchCompiler
from explorer.errors import LimitWarning
from explorer.symbolic import Circuit
from explorer.trace import (
    AttemptsRefused,
    Event,
    Folded,
    LimitReached,
    MatchFound,
    MatchLost,
    MatchRefused,
    Rewritten,
    StepEnded,
    StepStarted,
)
from tests.strategies import random_inputs

Mode = dict[str, Any]
"""Options of the compiler: whether to optimize, whether to fold."""
SWITCHES = ((False, True), (False, True))
"""The values of `optimize` and of `fold`, each an axis of `covering`: every other value then meets both of both."""
MODES: tuple[Mode, ...] = tuple({"optimize": o, "fold": f} for o, f in product(*SWITCHES))
MODE_IDS = tuple(f"optimize={mode['optimize']},fold={mode['fold']}" for mode in MODES)
PRESETS = ("default", "handbook")


@pytest.fixture(autouse=True)
def float64() -> Iterator[None]:
    """Circuits of a test are compiled in double precision; the default is restored afterwards."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def compile_circuit(circuit: Circuit, semiring: str = "lse-sum", **options: Any) -> TorchCircuit:
    """The compiled circuit; the warning that the handbook's five rounds are too few is ignored."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        return TorchCompiler(semiring=semiring, **options).compile(circuit)


def output(circuit: TorchCircuit, x: NDArray[Any] | None) -> NDArray[Any]:
    """The outputs: (B, outputs, O), or (outputs, O) if there is no input, as the oracle returns them."""
    with torch.no_grad():
        return circuit(None if x is None else torch.from_numpy(np.ascontiguousarray(x))).numpy()


def some_input(circuit: Circuit, batch: int = 3, seed: int = 0) -> Tensor | None:
    """A legal input (batch, D) of a circuit."""
    x = random_inputs(circuit, batch, seed)
    return None if x is None else torch.from_numpy(x)


def layer_types(circuit: TorchCircuit) -> list[str]:
    """The types of all layers in topological order, without the affixes: `Sum`, `CPT`."""
    return [type(layer).__name__.removeprefix("Torch").removesuffix("Layer") for layer in circuit.layers]


@dataclass
class Watcher:
    """A listener that keeps all events."""

    events: list[Event] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    def of(self, *kinds: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kinds)]

    @property
    def found(self) -> list[MatchFound]:
        return self.of(MatchFound)

    @property
    def refused(self) -> list[MatchRefused]:
        return [
            MatchRefused(refusal, event.parameter_path)
            for event in self.of(AttemptsRefused)
            for refusal in event.refusals
        ]

    @property
    def lost(self) -> list[MatchLost]:
        return self.of(MatchLost)

    @property
    def folded(self) -> list[Folded]:
        return self.of(Folded)

    @property
    def limits(self) -> list[LimitReached]:
        return self.of(LimitReached)

    @property
    def paths(self) -> list[str]:
        return [event.path for event in self.of(StepStarted)]

    def applied(self) -> Counter[str]:
        """The number of applied matches of each rule."""
        return Counter(event.rule for event in self.of(Rewritten))

    def rounds(self) -> list[dict[str, int]]:
        """For each round the number of rewrites of each step: parameters, shatter, fuse."""
        rounds: dict[str, dict[str, int]] = {}
        step = ("", "")
        for event in self.events:
            if isinstance(event, StepStarted):
                name, _, part = event.path.removeprefix("optimize/").rpartition("/")
                step = (name, part)
                if event.path.startswith("optimize/"):
                    rounds.setdefault(name, {})[part] = 0
            elif isinstance(event, Rewritten):
                rounds[step[0]][step[1]] += 1
        return list(rounds.values())

    def refusals_of(self, pattern: str) -> list[str]:
        """The reasons for which a pattern was refused, in order."""
        return [event.refusal.reason for event in self.refused if event.refusal.pattern == pattern]

    def stats(self) -> list[dict[str, int]]:
        """The counts after each step."""
        return [dict(event.snapshot.stats) for event in self.of(StepEnded)]


def compile_and_watch(circuit: Circuit, semiring: str = "lse-sum", **options: Any) -> tuple[TorchCircuit, Watcher]:
    """The compiled circuit and all events of its compilation."""
    watcher = Watcher()
    return compile_circuit(circuit, semiring, listeners=(watcher,), **options), watcher


def only(items: Sequence[Any]) -> Any:
    """The only item of a sequence."""
    assert len(items) == 1, items
    return items[0]
