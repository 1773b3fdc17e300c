"""Compares tensors with copies of them on CUDA, all at once."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

BLOCK = 4096
"""Numbers of 32 bits that a program of the kernel compares."""


class Comparison:
    """Compares tensors with contiguous copies on one CUDA device, byte by byte, as often as it is asked.

    What it does on the device is a CUDA graph, which reads the addresses of the tensors from memory.
    """

    def __init__(self, copies: Sequence[Tensor]) -> None:
        self.copies = tuple(copies)
        self._sizes = [one.numel() * one.element_size() for one in copies]
        self._has_kernel = find_spec("triton") is not None and all(size % 4 == 0 for size in self._sizes)
        self._known: tuple[int, ...] = ()
        self._addresses = self._differs = torch.empty(0)
        self._graph: Any = None
        self._read: tuple[Tensor, ...] = ()

    def is_equal(self, tensors: Sequence[Tensor]) -> bool:
        """Whether tensors of the types, shapes and devices of the copies have the same bytes. Waits for the device."""
        present = [one if one.is_contiguous() else one.detach().contiguous() for one in tensors]
        if not self._has_kernel or not sum(self._sizes):
            pairs = zip(present, self.copies, strict=True)
            return all(torch.equal(_as_bytes(one.detach()), _as_bytes(copy)) for one, copy in pairs)
        addresses = tuple([one.data_ptr() for one in present])
        with torch.cuda.device_of(self.copies[0]):
            if not self._known:
                self._addresses = self._of_blocks(addresses)
                self._capture()
            elif addresses != self._known:
                self._addresses.copy_(self._of_blocks(addresses))
            self._known = addresses
            self._graph.replay()
            torch.cuda.current_stream().synchronize()
        return not self._differs.item()

    def _capture(self) -> None:
        from explorer.runtime.comparing import kernel

        compare: Any = kernel.compare  # called with a grid, for which its type has no place
        device = self._addresses.device
        others, counts = self._of_blocks([copy.data_ptr() for copy in self.copies]), self._counts_of_blocks().to(device)
        differs = torch.zeros(1, dtype=torch.int32, device=device)
        compare[(len(counts),)](self._addresses, others, counts, differs, BLOCK=BLOCK)  # compiles it
        self._differs, self._graph = differs.cpu().pin_memory(), torch.cuda.CUDAGraph()
        self._read = (others, counts)  # by the graph
        with torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
            differs.zero_()
            compare[(len(counts),)](self._addresses, others, counts, differs, BLOCK=BLOCK)
            self._differs.copy_(differs, non_blocking=True)

    def _of_blocks(self, addresses: Sequence[int]) -> Tensor:
        """The address of each block."""
        step = 4 * BLOCK
        found = [address + torch.arange(0, size, step) for address, size in zip(addresses, self._sizes, strict=True)]
        return torch.cat(found).to(self.copies[0].device)

    def _counts_of_blocks(self) -> Tensor:
        """How many numbers each block has."""
        found = [torch.clamp(size // 4 - torch.arange(0, size // 4, BLOCK), max=BLOCK) for size in self._sizes]
        return torch.cat(found)


def _as_bytes(tensor: Tensor) -> Tensor:
    """The same bytes as numbers of which each is equal to itself."""
    return tensor.reshape(-1).view(torch.uint8)
