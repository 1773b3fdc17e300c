"""CUDA graphs of a function, captured once for each shape of its inputs and replayed, and the launch of a kernel."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any

import torch
from torch import Tensor

from explorer.errors import CircuitError, LoweringError

Tensors = tuple[Tensor, ...]
Function = Callable[[Sequence[Tensor], Sequence[Tensor]], Tensors]
"""From constants and inputs to outputs, the last ones flags, without waiting for the device."""

MAX_GRAPHS = 16
"""Maximum number of shapes of inputs that have a captured graph at a time."""
CAPTURING = Lock()
"""Held while anything is captured: all captures of a process are on one stream of PyTorch's."""
WARMUPS = 2
"""Warm-up calls before the capture, because compilation cannot be captured."""


class KernelError(LoweringError):
    """Kernels cannot be compiled, or their launches cannot be captured."""


@contextmanager
def preparing() -> Iterator[None]:
    """Compile and capture without the hooks of saved tensors that a caller has set.

    Raises: KernelError for whatever Triton, its compiler or the driver raises; CircuitError and OutOfMemoryError pass.
    """
    try:
        with torch.autograd.graph.saved_tensors_hooks(_as_it_is, _as_it_is):
            yield
    except (CircuitError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        raise KernelError(f"{type(error).__name__}: {error}".strip().splitlines()[0][:200]) from error


def _as_it_is(tensor: Tensor) -> Tensor:
    return tensor


@dataclass(frozen=True, eq=False)
class Captured:
    """A graph for one shape of inputs, and the memory that it reads and writes; `function` has what else it reads."""

    function: Function
    graph: Any
    inputs: Tensors
    outputs: Tensors
    flags: Tensor
    """On the CPU, where the graph writes them."""


class CudaGraphs:
    """Captures what a function does on CUDA, once for each shape of its inputs.

    Constants stay where the graphs read them: others are copied there.
    """

    def __init__(self) -> None:
        self._device: torch.device | None = None
        self._constants: Tensors = ()
        self._latest: Tensors = ()
        self._captured: dict[tuple[object, ...], Captured] = {}
        self._lock = Lock()

    def run(self, function: Function, constants: Tensors, inputs: Tensors) -> tuple[Tensor, Tensors, list[int]]:
        """The first output, the others but for the flags (only if one of these is set), and the flags.

        Waits for the device. All calls have the same function, and constants of the same shapes. Constants are
        recognized by their identity. Raises: KernelError if the function cannot be captured, and as `preparing`.
        """
        device = inputs[0].device
        with self._lock, torch.cuda.device(device):
            own = self._own(constants, device)
            key = tuple([(one.shape, one.dtype) for one in inputs])
            captured = self._captured.pop(key, None)
            if captured is None:
                with preparing():
                    captured = self._capture(function, own, inputs)
            self._captured[key] = captured  # the latest is the last
            for to, one in zip(captured.inputs, inputs, strict=True):
                to.copy_(one)
            captured.graph.replay()
            first, stream = captured.outputs[0].clone(), torch.cuda.current_stream()
            stream.synchronize()  # the next call may be on another stream
            flags, others = captured.flags.tolist(), ()
            if any(flags):
                others = tuple(one.clone() for one in captured.outputs[1:])
                stream.synchronize()
            return first, others, flags

    def _own(self, constants: Tensors, device: torch.device) -> Tensors:
        """The constants, in memory that stays where it is."""
        if self._device != device:
            self._captured.clear()
            self._device, self._constants = device, tuple(one.clone() for one in constants)
        elif self._latest is not constants:
            for to, one in zip(self._constants, constants, strict=True):
                to.copy_(one)
        self._latest = constants
        return self._constants

    def _capture(self, function: Function, constants: Tensors, inputs: Tensors) -> Captured:
        while len(self._captured) >= MAX_GRAPHS:
            del self._captured[next(iter(self._captured))]
        own = tuple(one.clone(memory_format=torch.contiguous_format) for one in inputs)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARMUPS):
                function(constants, own)
        torch.cuda.current_stream().wait_stream(stream)
        graph, flags = torch.cuda.CUDAGraph(), function(constants, own)[-1].cpu().pin_memory()
        with CAPTURING, torch.cuda.graph(graph, capture_error_mode="thread_local"):
            *outputs, found = function(constants, own)
            flags.copy_(found, non_blocking=True)
        return Captured(function, graph, own, tuple(outputs), flags)


def launcher(kernel: Any, grid: tuple[int, ...]) -> Callable[..., object]:
    """The function that launches a kernel for a grid of programs.

    Kernels multiply and add in one instruction: without it, which is the default from Triton 3.10 on, matrix products
    take twice as long.
    """
    return partial(kernel[grid], enable_fp_fusion=True)
