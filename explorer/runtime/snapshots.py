"""Snapshots, which tell whether the parameters of a circuit have changed.

An optimizer, `functional_call`, `load_state_dict`, `.data` or another thread may change them, and not all of these
leave a trace. So the bytes are compared with a copy. A frozen circuit was asked to keep its values: the changes that
PyTorch counts are noticed there.
"""

import ctypes
from dataclasses import dataclass
from functools import cached_property
from operator import is_
from typing import Protocol

from torch import Tensor

from explorer.backend import EvaluatedCircuit, TorchCircuit
from explorer.runtime.comparing.comparison import Comparison

_memcmp = ctypes.CDLL(None).memcmp
_memcmp.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class Snapshot(Protocol):
    """The parameters at some time."""

    def is_current(self) -> bool:
        """Return whether these are still the parameters of the circuit."""
        ...

    def restore(self, circuit: EvaluatedCircuit) -> None:
        """Give them to a copy of the circuit, in its own precision."""
        ...


@dataclass(frozen=True, eq=False)
class Copies(Snapshot):
    """Copies of the tensors of a circuit."""

    circuit: EvaluatedCircuit
    copies: tuple[Tensor, ...]

    def is_current(self) -> bool:
        found = _tensors(self.circuit)
        if len(found) != len(self.copies) or not all(map(_is_alike, found, self.copies)):
            return False
        if self._are_on_cpu:
            return all(map(_is_equal, found, self.copies))
        return self._comparison.is_equal(found)

    @cached_property
    def _are_on_cpu(self) -> bool:
        return all(one.device.type == "cpu" for one in self.copies)

    @cached_property
    def _comparison(self) -> Comparison:
        return Comparison(self.copies)

    def restore(self, circuit: EvaluatedCircuit) -> None:
        for tensor, copy in zip(_tensors(circuit), self.copies, strict=True):
            tensor.detach().copy_(copy)


@dataclass(frozen=True, eq=False)
class Versions(Snapshot):
    """The buffers of a frozen circuit, and how often each was changed in place."""

    circuit: EvaluatedCircuit
    buffers: tuple[Tensor, ...]
    versions: list[int]

    def is_current(self) -> bool:
        found = self.circuit.held_tensors
        if len(found) != len(self.buffers) or not all(map(is_, found, self.buffers)):
            return False
        return [one._version for one in found] == self.versions

    def restore(self, circuit: EvaluatedCircuit) -> None:
        for buffer, present in zip(circuit.held_tensors, self.buffers, strict=True):
            buffer.copy_(present)


def take_snapshot(circuit: EvaluatedCircuit) -> Snapshot:
    """Take a snapshot of the present parameters of a circuit."""
    tensors = _tensors(circuit)
    if isinstance(circuit, TorchCircuit) or any(one.is_inference() for one in tensors):  # these have no version
        return Copies(circuit, tuple(one.detach().clone().contiguous() for one in tensors))
    return Versions(circuit, tensors, [one._version for one in tensors])


def _tensors(circuit: EvaluatedCircuit) -> tuple[Tensor, ...]:
    """The tensors that the values of a circuit depend on."""
    return circuit.present_parameters() if isinstance(circuit, TorchCircuit) else circuit.held_tensors


def _is_alike(tensor: Tensor, copy: Tensor) -> bool:
    return tensor.dtype is copy.dtype and tensor.shape == copy.shape and tensor.device == copy.device


def _is_equal(tensor: Tensor, copy: Tensor) -> bool:
    """Return whether a tensor on the CPU has the bytes of a contiguous copy."""
    tensor = tensor.detach().contiguous()  # which is kept until the end
    return _memcmp(tensor.data_ptr(), copy.data_ptr(), copy.nbytes) == 0
