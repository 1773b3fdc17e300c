"""What is timed: a circuit with its input on a device, forward or a training step; and whether outputs agree."""

from dataclasses import dataclass

import torch
from torch import Tensor

from explorer.backend import TorchCircuit
from explorer.errors import CircuitError
from explorer.timings import TRAINING
from explorer.trace.trace import HALF_ROUNDING, ROUNDING


@dataclass(frozen=True, eq=False)
class Program:
    """A circuit and its input x (B, D) on one device.

    `forward` is in `eval()` without gradients, so what depends on parameters only is there already; `training` is
    forward and backward of the mean negative log-likelihood, without a step of an optimizer.
    """

    circuit: TorchCircuit
    x: Tensor
    kind: str

    def prepare(self) -> None:
        """Bring the circuit into the state that a run begins with; not timed."""
        if self.kind != TRAINING:
            self.circuit.eval()
            return
        self.circuit.train()
        self.circuit.zero_grad(set_to_none=True)

    def run(self) -> None:
        """One run."""
        if self.kind == TRAINING:
            value = self.circuit(self.x)
            (-(value.real if value.is_complex() else value).mean()).backward()
            return
        with torch.no_grad():
            self.circuit(self.x)

    def output(self) -> Tensor:
        """The value of the circuit, on the CPU."""
        self.circuit.eval()
        with torch.no_grad():
            return self.circuit(self.x).cpu()


def program(circuit: TorchCircuit, x: Tensor, kind: str, device: str) -> Program:
    """The program on a device; the circuit is moved there, x is copied. Raises: CircuitError if nothing can learn."""
    if kind == TRAINING and not any(tensor.requires_grad for tensor in circuit.parameters()):
        raise CircuitError(
            "the circuit has no parameter that learns, so it has no training step; choose kind='forward'"
        )
    return Program(circuit.to(device), x.to(device), kind)


def disagreement(value: Tensor, wanted: Tensor) -> str:
    """Why an output (B, outputs, classes) must not be timed, in words; empty if it agrees with the wanted one.

    It may differ by what rounding makes of another order of sums, as in `Trace.check`. Of two numbers of rows the
    smaller one is compared.
    """
    rows = min(len(value), len(wanted))
    value, wanted = value[:rows], wanted[:rows]
    if value.shape != wanted.shape:
        return f"the output has shape {tuple(value.shape)}, not {tuple(wanted.shape)}"
    difference = (value - wanted).abs()
    difference[value == wanted] = 0  # infinities that agree
    size = wanted.abs()
    size[size == float("inf")] = 0
    allowed = ROUNDING.get(str(size.dtype), HALF_ROUNDING) * max(1.0, float(size.max()))
    found = float(difference.max())
    if found <= allowed:
        return ""
    return f"the output differs from the unoptimized circuit's on the CPU by {found:.3g}, more than {allowed:.3g}"
