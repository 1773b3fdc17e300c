"""Snapshots, which tell whether the parameters of a circuit have changed.

An optimizer, `functional_call`, `load_state_dict`, `.data` or another thread may change them, and not all of these
leave a trace. So the bytes are compared with a copy. A frozen circuit was asked to keep its values: the changes that
PyTorch counts are noticed there.
"""

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from operator import is_
from threading import Lock
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from explorer.backend import EvaluatedCircuit, TorchCircuit
from explorer.errors import BackendWarning, warn
from explorer.runtime.graphs import CAPTURING, KernelError, launcher, preparing

_memcmp = ctypes.CDLL(None).memcmp
_memcmp.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)

BLOCK = 4096
"""Numbers of 32 bits that a program of the kernel compares."""


class Snapshot(Protocol):
    """The parameters at some time."""

    def is_current(self) -> bool:
        """Return whether these are still the parameters of the circuit."""
        ...

    def restore(self, circuit: EvaluatedCircuit) -> None:
        """Give them to a copy of the circuit, in its own precision."""
        ...


class Comparison:
    """Compares tensors with contiguous copies, byte by byte, as often as it is asked.

    On one CUDA device that is a CUDA graph, which reads the addresses of the tensors from memory; elsewhere, or without
    Triton, or where its kernel cannot be compiled, an operator for each tensor.
    """

    def __init__(self, copies: Sequence[Tensor]) -> None:
        self.copies = tuple(copies)
        self._sizes = [one.numel() * one.element_size() for one in copies]
        devices = {one.device for one in copies}
        self._has_kernel = (
            len(devices) == 1
            and next(iter(devices)).type == "cuda"
            and find_spec("triton") is not None
            and all(size % 4 == 0 for size in self._sizes)
            and any(self._sizes)
        )
        self._lock = Lock()
        self._known: tuple[int, ...] = ()
        self._addresses = self._differs = torch.empty(0)
        self._graph: Any = None
        self._used: tuple[Tensor, ...] = ()

    def is_equal(self, tensors: Sequence[Tensor]) -> bool:
        """Return whether tensors like the copies have the same bytes. Waits for the device."""
        with self._lock, torch.inference_mode(False), torch.no_grad():
            present = [one if one.is_contiguous() else one.detach().contiguous() for one in tensors]
            if self._has_kernel and not self._known:
                try:
                    with torch.cuda.device_of(self.copies[0]), preparing():
                        self._capture(present)
                except KernelError as error:
                    self._has_kernel = False
                    warn(
                        f"parameters are compared one after the other, as a Triton kernel failed: {error}",
                        BackendWarning,
                    )
            if self._has_kernel:
                return self._are_equal_by_kernel(present)
            pairs = zip(present, self.copies, strict=True)
            return all(torch.equal(_as_bytes(one.detach()), _as_bytes(copy)) for one, copy in pairs)

    def _are_equal_by_kernel(self, present: Sequence[Tensor]) -> bool:
        addresses = _addresses(present)
        with torch.cuda.device_of(self.copies[0]):
            if addresses != self._known:
                self._addresses.copy_(self._of_blocks(addresses))
                self._known = addresses
            self._graph.replay()
            torch.cuda.current_stream().synchronize()
        return not self._differs.item()

    def _capture(self, present: Sequence[Tensor]) -> None:
        from explorer.runtime.compare_kernel import compare

        known, device = _addresses(present), self.copies[0].device
        self._addresses, others = self._of_blocks(known), self._of_blocks(_addresses(self.copies))
        counts = self._counts_of_blocks().to(device)
        differs = torch.zeros(1, dtype=torch.int32, device=device)
        launcher(compare, (len(counts),))(self._addresses, others, counts, differs, BLOCK=BLOCK)  # compiles it
        self._differs, self._graph = differs.cpu().pin_memory(), torch.cuda.CUDAGraph()
        self._used = (others, counts, differs)  # by the graph
        with CAPTURING, torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
            differs.zero_()
            launcher(compare, (len(counts),))(self._addresses, others, counts, differs, BLOCK=BLOCK)
            self._differs.copy_(differs, non_blocking=True)
        self._known = known

    def _of_blocks(self, addresses: Sequence[int]) -> Tensor:
        """The address of each block."""
        step = 4 * BLOCK
        found = [address + torch.arange(0, size, step) for address, size in zip(addresses, self._sizes, strict=True)]
        return torch.cat(found).to(self.copies[0].device)

    def _counts_of_blocks(self) -> Tensor:
        """Return the count of numbers of each block."""
        found = [torch.clamp(size // 4 - torch.arange(0, size // 4, BLOCK), max=BLOCK) for size in self._sizes]
        return torch.cat(found)


def _addresses(tensors: Sequence[Tensor]) -> tuple[int, ...]:
    return tuple([one.data_ptr() for one in tensors])


def _as_bytes(tensor: Tensor) -> Tensor:
    """The same bytes as numbers that are all equal to themselves."""
    return tensor.reshape(-1).view(torch.uint8)


class Bytes(NamedTuple):
    """A contiguous tensor on the CPU."""

    dtype: torch.dtype
    shape: torch.Size
    address: int
    num_bytes: int


HaveBytes = Callable[[Sequence[Tensor], Sequence[Bytes]], bool]
"""Tells whether tensors are on the CPU and have the types, the shapes and the bytes of contiguous copies."""


@dataclass(frozen=True, eq=False)
class Copies(Snapshot):
    """Copies of the tensors of a circuit."""

    circuit: EvaluatedCircuit
    copies: tuple[Tensor, ...]
    have_bytes: HaveBytes
    """For copies on the CPU."""

    def is_current(self) -> bool:
        found = _tensors(self.circuit)
        if len(found) != len(self.copies):
            return False
        if self.on_cpu is not None:
            return self.have_bytes(found, self.on_cpu)
        return all(map(_is_alike, found, self.copies)) and self._comparison.is_equal(found)

    @cached_property
    def on_cpu(self) -> "tuple[Bytes, ...] | None":
        """What the tensors are, if all are on the CPU."""
        if any(not one.is_cpu for one in self.copies):
            return None
        return tuple([Bytes(one.dtype, one.shape, one.data_ptr(), one.nbytes) for one in self.copies])

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


def take_snapshot(circuit: EvaluatedCircuit, have_bytes: HaveBytes) -> Snapshot:
    """Take a snapshot of the present parameters of a circuit, which compares those on the CPU by a function."""
    tensors = _tensors(circuit)
    if isinstance(circuit, TorchCircuit) or any(one.is_inference() for one in tensors):  # these have no version
        return Copies(circuit, tuple(one.detach().clone().contiguous() for one in tensors), have_bytes)
    return Versions(circuit, tensors, [one._version for one in tensors])


def _tensors(circuit: EvaluatedCircuit) -> tuple[Tensor, ...]:
    """The tensors that the values of a circuit depend on."""
    return circuit.present_parameters() if isinstance(circuit, TorchCircuit) else circuit.held_tensors


def _is_alike(tensor: Tensor, copy: Tensor) -> bool:
    return tensor.dtype is copy.dtype and tensor.shape == copy.shape and tensor.device == copy.device


def have_bytes(tensors: Sequence[Tensor], copies: Sequence[Bytes]) -> bool:
    """Return whether tensors are on the CPU and have the types, the shapes and the bytes of contiguous copies."""
    for one, copy in zip(tensors, copies, strict=True):
        found = contiguous_like(one, copy)
        if found is None or _memcmp(found.data_ptr(), copy.address, copy.num_bytes):
            return False
    return True


def contiguous_like(tensor: Tensor, copy: Bytes) -> Tensor | None:
    """Return a tensor in contiguous memory; None if it is not on the CPU, or of another type or shape than the copy."""
    if tensor.dtype is not copy.dtype or tensor.shape != copy.shape or not tensor.is_cpu:
        return None
    return tensor if tensor.is_contiguous() else tensor.detach().contiguous()
