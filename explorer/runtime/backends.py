"""The backends of a circuit, fastest first: each either runs it or says why it cannot."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from torch import Tensor

from explorer.backend import EvaluatedCircuit
from explorer.errors import LoweringError
from explorer.program.running.plain import why_not_plain


@dataclass(frozen=True, slots=True)
class Choice:
    """A backend, and why it was chosen or not."""

    name: str
    reason: str


class Backend(Protocol):
    """Evaluates a circuit."""

    name: str

    def describe(self) -> str:
        """What it made of the circuit, in one line."""
        ...

    def why_not(self, x: Tensor) -> str:
        """Why it cannot answer a call with x; empty if it can."""
        ...

    def evaluate(self, x: Tensor) -> tuple[Tensor, int] | None:
        """The outputs (B, outputs, classes), and how many rows took its slower path; None if it cannot after all."""
        ...


class NativeBackend:
    """Kernels in C++ on scaled values; see `explorer/runtime/README.md`. Raises: LoweringError."""

    name = "native"

    def __init__(self, circuit: EvaluatedCircuit) -> None:
        from explorer.runtime.native.program import NativeProgram

        if circuit.semiring.name != "lse-sum":
            raise LoweringError(
                f"the kernels compute logarithms of values >= 0; the semiring is {circuit.semiring.name}"
            )
        self.circuit = circuit
        self.program = NativeProgram(circuit)
        if reason := self._why_not_here() or self.program.why_not():
            raise LoweringError(reason)

    def describe(self) -> str:
        counts = ", ".join(f"{count} {kind}" for kind, count in self.program.units.counts().items())
        return f"{counts}; {self.program.units.num_slots} values are kept at a time"

    def why_not(self, x: Tensor) -> str:
        return self._why_not_tried(x) or self.program.why_not()

    def evaluate(self, x: Tensor) -> tuple[Tensor, int] | None:
        return None if self._why_not_tried(x) else self.program.evaluate(x)

    def _why_not_tried(self, x: Tensor) -> str:
        return why_not_plain([x, *self.circuit.parameters(), *self.circuit.buffers()]) or self._why_not_here(x)

    def _why_not_here(self, *tensors: Tensor) -> str:
        found = {one.device.type for one in (*tensors, *self.circuit.parameters(), *self.circuit.buffers())} - {"cpu"}
        return f"a tensor is on {found.pop()}, and the kernels run on the CPU" if found else ""


class TorchBackend:
    """The layers of the circuit as they are, in PyTorch."""

    name = "torch"

    def __init__(self, circuit: EvaluatedCircuit) -> None:
        self.circuit = circuit

    def describe(self) -> str:
        return f"{len(self.circuit.layers)} layers, one after the other"

    def why_not(self, x: Tensor) -> str:
        return ""

    def evaluate(self, x: Tensor) -> tuple[Tensor, int] | None:
        return self.circuit(x), 0


BACKENDS: Mapping[str, Callable[[EvaluatedCircuit], Backend]] = MappingProxyType(
    {"native": NativeBackend, "torch": TorchBackend}
)
"""Fastest first."""
