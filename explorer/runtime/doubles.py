"""A copy of a circuit in double precision, which gets the parameters of a snapshot.

Packed parameters are computed by it, and not from the parameters themselves, which another thread may change meanwhile:
what is packed is what the snapshot has.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from threading import Lock

import torch
from torch import Tensor

from explorer.backend import EvaluatedCircuit, TorchCircuit, TorchContinuousLayer, all_parameters, double_copy
from explorer.backend.evaluation import LayerValues
from explorer.runtime.snapshots import Snapshot


@dataclass(frozen=True)
class DoubleRows:
    """Converts rows x (B, D) to double precision; integers stay.

    Continuous variables are rounded to float32 first, as the layers of the circuit and kernels round them. Others are
    not: a number that is no state stays one, and so does a large count.
    """

    continuous: list[int]

    @classmethod
    def of(cls, circuit: EvaluatedCircuit) -> "DoubleRows":
        layers = [layer for layer in circuit.layers if isinstance(layer, TorchContinuousLayer)]
        return cls(sorted({variable for layer in layers for scope in layer.scope_idx for variable in scope}))

    def __call__(self, x: Tensor) -> Tensor:
        if not x.is_floating_point():
            return x
        if x.dtype != torch.float64 or len(self.continuous) == x.shape[1]:
            return x.float().double()
        if not self.continuous:
            return x
        rows = x.clone()
        rows[:, self.continuous] = x[:, self.continuous].float().double()
        return rows


def in_doubles(values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Values of parameters in double precision; integers stay."""
    return {name: one.double() if one.is_floating_point() else one for name, one in values.items()}


def parameters_in_doubles(circuit: TorchCircuit, read: Collection[tuple[int, str]]) -> set[tuple[int, str]]:
    """The parameters, by layer and name, that training computes in double precision.

    These are all but those that keep their digits and that kernels `read` as they are: their bounds count what is below
    the smallest normal number.
    """
    every = {
        (node, name): parameter
        for node, layer in circuit.graph.nodes.items()
        for name, parameter in all_parameters(layer).items()
    }
    return {pair for pair, parameter in every.items() if pair not in read or not parameter.keeps_digits}


class DoubleCopy:
    """Makes the copy once for a circuit with trained parameters, and each time for a frozen one."""

    def __init__(self, circuit: EvaluatedCircuit) -> None:
        self.circuit = circuit
        self._copy: TorchCircuit | None = None
        self._lock = Lock()

    def layer_values(self, snapshot: Snapshot) -> LayerValues:
        """Return what the layers prepare from the parameters of a snapshot."""
        with self._lock:
            return self._restored(snapshot).detached_layer_values()

    def frozen(self, snapshot: Snapshot) -> EvaluatedCircuit:
        """A frozen circuit with the parameters of a snapshot."""
        with self._lock:
            found = self._restored(snapshot)
            return found.freeze() if isinstance(found, TorchCircuit) else found

    @torch.inference_mode(False)
    @torch.no_grad()
    def _restored(self, snapshot: Snapshot) -> EvaluatedCircuit:
        found = self._copy
        if found is None or _device(found) != _device(self.circuit):
            found = double_copy(self.circuit)
        if isinstance(found, TorchCircuit):
            self._copy = found
        snapshot.restore(found)
        return found


def _device(circuit: EvaluatedCircuit) -> torch.device | None:
    return next((one.device for one in circuit.held_tensors), None)


class DoubleTraining:
    """A circuit in double precision that passes its gradients on to the parameters of another."""

    def __init__(self, circuit: TorchCircuit) -> None:
        self.circuit = circuit
        self._rows = DoubleRows.of(circuit)
        self._copy: TorchCircuit | None = None
        self._lock = Lock()

    def __call__(self, x: Tensor) -> Tensor:
        """The outputs for rows x (B, D), with gradients of the present parameters. No hook is called."""
        with self._lock:
            if self._copy is None or _device(self._copy) != _device(self.circuit):
                self._copy = double_copy(self.circuit)
            held = self._copy.tensors._parameters
            held.update(in_doubles({str(number): one for number, one in enumerate(self.circuit.tensors)}))  # type: ignore[arg-type]
            try:
                return self._copy.forward(self._rows(x))
            finally:
                held.update(dict.fromkeys(held))
