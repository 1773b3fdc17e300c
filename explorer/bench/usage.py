"""The memory of one run, as the maximum bytes alive at once, and its number of tensor operators.

On the CPU both come from a `TorchDispatchMode`, which sees every operator: memory counts from the operator that
returns a new tensor until the last reference to it is dropped, without scratch space inside operators (PyTorch's own
allocation profiler agrees within 2 %, but uses private interfaces). On CUDA the bytes are the allocator's peak during
the run minus its initial value. Parameters and input are excluded from both.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from weakref import finalize

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from explorer.timings import CUDA


@dataclass(frozen=True, slots=True)
class Usage:
    """The maximum bytes alive at once during a run, and the number of operators it called."""

    peak_bytes: int
    operators: int


class StoppedError(Exception):
    """Counting was cancelled."""


def measure_usage(run: Callable[[], object], device: str, cancelled: Callable[[], bool] = lambda: False) -> Usage:
    """Run once and count; run once before, so that cached values exist already.

    Counting takes about ten times as long as the run, so `cancelled` is checked before each operator.
    Raises: StoppedError if it is true.
    """
    counter = _Counter(cancelled)
    if device != CUDA:
        with counter:
            run()
        return Usage(counter.peak, counter.operators)
    with counter:
        run()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    run()
    torch.cuda.synchronize()
    return Usage(torch.cuda.max_memory_allocated() - before, counter.operators)


class _Counter(TorchDispatchMode):
    """Counts operators, and the bytes of storages created since it was entered; inputs existed before."""

    def __init__(self, cancelled: Callable[[], bool]) -> None:
        super().__init__()
        self._cancelled = cancelled
        self.operators = 0
        self.peak = 0
        self._live = 0
        self._bytes: dict[int, int] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self._cancelled():
            raise StoppedError
        self.operators += 1
        for tensor in _tensors(args):
            self._meet(tensor, 0)
        result = func(*args, **(kwargs or {}))
        for tensor in _tensors((result,)):
            self._meet(tensor, tensor.untyped_storage().nbytes())
        return result

    def _meet(self, tensor: Tensor, num_bytes: int) -> None:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self._bytes:
            return
        self._bytes[key] = num_bytes
        self._live += num_bytes
        self.peak = max(self.peak, self._live)
        finalize(storage, self._on_free, key)

    def _on_free(self, key: int) -> None:
        self._live -= self._bytes.pop(key, 0)


def _tensors(values: Iterable[object]) -> Iterator[Tensor]:
    """The tensors among values and in lists of values, as operators accept and return them."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)
