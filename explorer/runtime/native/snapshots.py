"""Whether the parameters of a circuit are still what they were.

An optimizer, `functional_call`, `load_state_dict`, `.data` or another thread may change them, and not all of these
leave a trace. So the bytes are compared with a copy. A frozen circuit was asked to keep its values: the changes that
PyTorch counts are noticed there.
"""

import ctypes
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from explorer.backend import EvaluatedCircuit, TorchCircuit


class Snapshot(Protocol):
    """The parameters at some time."""

    def is_present(self) -> bool:
        """Whether the circuit has them still."""
        ...

    def restore(self, circuit: EvaluatedCircuit) -> None:
        """Give them to a copy of the circuit, in its own precision."""
        ...


@dataclass(frozen=True, eq=False)
class Copies(Snapshot):
    """Copies of the tensors of a circuit."""

    circuit: TorchCircuit
    copies: tuple[Tensor, ...]
    library: ctypes.CDLL

    def is_present(self) -> bool:
        return all(map(self._is_equal, self.circuit.tensors, self.copies))

    def restore(self, circuit: EvaluatedCircuit) -> None:
        assert isinstance(circuit, TorchCircuit)
        for tensor, copy in zip(circuit.tensors, self.copies, strict=True):
            tensor.detach().copy_(copy)

    def _is_equal(self, tensor: Tensor, copy: Tensor) -> bool:
        if (tensor.dtype, tensor.shape, tensor.device) != (copy.dtype, copy.shape, copy.device):
            return False
        tensor = tensor.detach().contiguous()
        return bool(self.library.is_equal(tensor.data_ptr(), copy.data_ptr(), copy.nbytes))


@dataclass(frozen=True, eq=False)
class Versions(Snapshot):
    """The buffers of a frozen circuit, and how often each was changed in place."""

    circuit: EvaluatedCircuit
    buffers: tuple[Tensor, ...]
    versions: tuple[int, ...]

    def is_present(self) -> bool:
        found = tuple(self.circuit.buffers())
        return len(found) == len(self.buffers) and all(
            one is other and one._version == version
            for one, other, version in zip(found, self.buffers, self.versions, strict=True)
        )

    def restore(self, circuit: EvaluatedCircuit) -> None:
        """A copy of a frozen circuit has its values already."""


def take_snapshot(circuit: EvaluatedCircuit, library: ctypes.CDLL) -> Snapshot:
    """What the parameters of a circuit are now."""
    if isinstance(circuit, TorchCircuit):
        return Copies(circuit, tuple(one.detach().clone().contiguous() for one in circuit.tensors), library)
    buffers = tuple(circuit.buffers())
    return Versions(circuit, buffers, tuple(one._version for one in buffers))
