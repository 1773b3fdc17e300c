"""Compares tensors with copies of them on CUDA, all at once."""

from collections.abc import Sequence
from importlib.util import find_spec
from threading import Lock
from typing import Any

import torch
from torch import Tensor

from explorer.errors import BackendWarning, warn
from explorer.runtime.graphs import CAPTURING, KernelError, launcher, preparing

BLOCK = 4096
"""Numbers of 32 bits that a program of the kernel compares."""


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
        from explorer.runtime.comparing.kernel import compare

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
