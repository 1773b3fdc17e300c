"""A circuit that is called as the one it was made of, and runs on the fastest backend that is right for the call."""

from typing import Any

import torch
from torch import Tensor, nn

from explorer.backend import EvaluatedCircuit, FrozenCircuit
from explorer.runtime.native.program import NativeProgram
from explorer.runtime.units import lower_to_units, plan_units


class NativeCircuit(nn.Module):
    """Maps x (B, D) to (B, outputs, classes) as `circuit` does, on native kernels where these are right."""

    def __init__(self, circuit: EvaluatedCircuit) -> None:
        super().__init__()
        self.circuit = circuit
        self.program = NativeProgram(circuit, plan_units(lower_to_units(circuit)))
        self.repack()

    def repack(self):
        with torch.no_grad():
            self.program.pack()

    def forward(self, x: Tensor) -> Tensor:
        found = self.program.evaluate(x)
        if found is None:
            return self.circuit(x)
        result, certified = found
        if not bool(certified.all()):
            rows = (~certified).nonzero().squeeze(1)
            result[rows] = self.circuit(x[rows])
        return result
