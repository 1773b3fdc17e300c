"""CUDA graphs of training steps: the forward and the backward pass of a function, captured once for each batch size."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import torch
from torch import Tensor

from explorer.errors import LoweringError
from explorer.runtime.graphs import CAPTURING, WARMUPS, preparing
from explorer.runtime.memory import refuse_unusual_gradients

Step = Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]
"""From x to outputs with gradients, to another tensor, and to flags, without waiting for the device."""

MAX_GRAPHS = 4
"""Maximum number of shapes of x that have captured graphs at a time: each keeps the values of its forward pass."""
MAX_CAPTURES = 64
"""If more were captured, what a step reads moves so often that graphs do not pay."""


@dataclass(eq=False)
class CapturedStep:
    """The graphs of a step for one shape of x, and the memory that they read and write."""

    read: tuple[object, ...]
    """Other tensors that the graphs read, which must stay where they are."""
    x: Tensor
    forward: Any
    backward: Any
    outputs: Tensor
    other: Tensor
    flags: Tensor
    """On the CPU, where the graph writes them."""
    gradient: Tensor
    gradients: tuple[Tensor | None, ...]
    ticket: int = 0
    """The number of the forward pass with kept values; 0 once a backward pass has read them."""
    last_ticket: int = 0
    done: Any = None
    lock: Lock = field(default_factory=Lock)

    def replay_forward(self, x: Tensor) -> int:
        """Evaluate x; the number of this pass."""
        self.x.copy_(x)
        self.forward.replay()
        self.last_ticket += 1
        self.ticket = self.last_ticket
        return self.ticket

    def replay_backward(self, x: Tensor, outputs: Tensor, ticket: int, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of the parameters from the gradient of the outputs of a forward pass.

        It is repeated if its values are no longer kept. Raises: LoweringError if the outputs are others then.
        """
        with self.lock, torch.cuda.device(self.x.device):
            self.wait()
            if self.ticket != ticket:
                self.replay_forward(x)
                if not torch.equal(_as_bits(self.outputs), _as_bits(outputs)):
                    raise LoweringError(
                        "parameters were changed between the forward and the backward pass, by a way that PyTorch does "
                        "not notice (such as .data): change them before the forward or after the backward pass"
                    )
            self.gradient.copy_(gradient)
            self.backward.replay()
            self.ticket = 0
            found = [one for one in self.gradients if one is not None]
            copies = iter([one.clone() for one in found])
            result = tuple(None if one is None else next(copies) for one in self.gradients)
            self.done = torch.cuda.current_stream().record_event(self.done)
        return result

    def wait(self) -> None:
        """Let the present stream wait for what another one may still read or write."""
        if self.done is not None:
            torch.cuda.current_stream().wait_event(self.done)


class TrainingGraphs:
    """Captures a step on CUDA, once for each shape of x."""

    def __init__(self) -> None:
        self._captured: dict[tuple[object, ...], CapturedStep] = {}
        self._captures = 0
        self._lock = Lock()

    @property
    def are_exhausted(self) -> bool:
        """Return whether what steps read moved, or x had another shape, so often that graphs do not pay."""
        return self._captures >= MAX_CAPTURES

    def run(
        self, step: Step, x: Tensor, parameters: Sequence[Tensor], read: Sequence[Tensor], kept: object
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return what a step returns, with gradients of the parameters that require them; the flags on the CPU.

        `read` are all tensors that may be replaced and that the step reads; `kept` is what else it reads. Waits for the
        device. Raises: KernelError if the step cannot be captured, and as `preparing`.
        """
        trained = list({id(one): one for one in parameters if one.requires_grad}.values())  # tied ones once
        key = (x.shape, x.dtype, *[(one.data_ptr(), one.shape, one.stride(), one.requires_grad) for one in read])
        with torch.cuda.device(x.device):
            with self._lock:
                captured = self._captured.pop(key, None)
                if captured is None:
                    while len(self._captured) >= MAX_GRAPHS:
                        del self._captured[next(iter(self._captured))]
                    with preparing():
                        captured = _capture(step, x, trained, (kept, *[one.detach() for one in read]))
                    self._captures += 1
                self._captured[key] = captured  # the latest is the last
            return _Replayed.apply(captured, x, *trained)


class _Replayed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, captured: CapturedStep, x: Tensor, *trained: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        with captured.lock:
            captured.wait()
            ctx.ticket = captured.replay_forward(x)
            outputs, other = captured.outputs.detach().clone(), captured.other.clone()
            stream = torch.cuda.current_stream()
            captured.done = stream.record_event(captured.done)
            stream.synchronize()
            flags = captured.flags.clone()
        ctx.captured = captured
        # PyTorch notices if parameters are changed in place before the backward pass; x may be
        ctx.save_for_backward(x.detach().clone(), outputs.clone(), *trained)
        ctx.mark_non_differentiable(other, flags)
        ctx.set_materialize_grads(False)
        return outputs, other, flags

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor | None, ...]:
        refuse_unusual_gradients(grad_outputs[0])
        x, outputs, *trained = ctx.saved_tensors
        if grad_outputs[0] is None:
            return (None,) * (2 + len(trained))
        return (None, None, *ctx.captured.replay_backward(x, outputs, ctx.ticket, grad_outputs[0]))


def _as_bits(tensor: Tensor) -> Tensor:
    """Numbers that are all equal to themselves."""
    return tensor.contiguous().view(torch.int32)


def _capture(step: Step, x: Tensor, trained: Sequence[Tensor], read: tuple[object, ...]) -> CapturedStep:
    own = x.detach().clone(memory_format=torch.contiguous_format)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream), torch.enable_grad():
        outputs, _, flags = step(own)
        for _ in range(WARMUPS):
            outputs, _, flags = step(own)
            torch.autograd.grad(outputs, trained, torch.zeros_like(outputs), allow_unused=True)
    torch.cuda.current_stream().wait_stream(stream)
    pinned = flags.cpu().pin_memory()
    forward, backward = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with CAPTURING, torch.cuda.graph(forward, capture_error_mode="thread_local"), torch.enable_grad():
        outputs, other, flags = step(own)
        pinned.copy_(flags, non_blocking=True)
    gradient = torch.zeros_like(outputs)
    with CAPTURING, torch.cuda.graph(backward, pool=forward.pool(), capture_error_mode="thread_local"):
        gradients = torch.autograd.grad(outputs, trained, gradient, allow_unused=True)
    return CapturedStep(read, own, forward, backward, outputs.detach(), other, pinned, gradient, gradients)
