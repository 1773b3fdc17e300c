"""Gradients of a program: `backward` runs the rest of it, on the memory that the forward pass has left."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, fx

from explorer.backend.plain import why_not_plain
from explorer.errors import OperatorError
from explorer.program.running.executor import Executor, copied, why_not_laid_out
from explorer.program.running.steps import Values, allocate
from explorer.tensor.torch_io.joint import JointGraph


class Gradients:
    """What the calls of a program with a backward pass have in common.

    `learned` are the positions of the tensors that require a gradient, among inputs and then constants; `positions`
    those of the tensors that the program is given, and `kept` of those that its backward pass reads too.
    """

    def __init__(
        self, joint: JointGraph, operators: fx.GraphModule, executor: Executor, positions: Sequence[int]
    ) -> None:
        kept = {weight.id for weight in executor.kept}
        given = zip(executor.given, positions, strict=True)
        self.operators = operators
        self.executor = executor
        self.learned = frozenset(joint.learned)
        self.positions = tuple(positions)
        self.kept = tuple(position for weight, position in given if weight.id in kept)
        self.results = joint.gradients
        self.differentiable = joint.differentiable
        self.is_random = any(node.op.is_random for node in joint.order)
        self._depends = joint.tangents_of_gradients()

    def can_read(self, kept: Sequence[Tensor]) -> bool:
        """Whether the backward pass can read these tensors: hooks may have given them other strides."""
        weights = zip(self.executor.kept, kept, strict=True)
        return all(why_not_laid_out(weight, tensor) is None for weight, tensor in weights)

    def by_program(
        self, memory: Values, kept: Sequence[Tensor], tangents: Sequence[Tensor | None]
    ) -> list[tuple[int, Tensor]] | None:
        """The gradients by position, on the memory of the forward pass.

        An output without a tangent has a tangent of 0, which adds 0 to a gradient. If it adds NaN, because a derivative
        is infinite, None: its share is absent, not 0 * inf.
        """
        missing = {i for i in self.differentiable if tangents[i] is None}
        given: list[Tensor] = []
        for i, weight in zip(self.differentiable, self.executor.tangents, strict=True):
            tangent = tangents[i]
            given.append(allocate(weight.type).zero_() if tangent is None else tangent)
        found = zip(self.results, self.executor.finish(memory, kept, given), self._depends, strict=True)
        present = [(position, value) for position, value, depends in found if not depends or depends - missing]
        return None if missing and any(bool(value.isnan().any()) for _, value in present) else present


class Trained(torch.autograd.Function):
    """The forward pass of a program, whose gradients are those of its backward pass."""

    @staticmethod
    def forward(ctx: Any, gradients: Gradients, *tensors: Tensor) -> tuple[Tensor, ...]:
        """The outputs."""
        ctx.gradients = gradients
        ctx.random = _random_states(tensors) if gradients.is_random else {}
        outputs, ctx.memory = gradients.executor.begin(*[tensors[position] for position in gradients.positions])
        ctx.save_for_backward(*[tensors[position] for position in gradients.kept])
        ctx.others = {i: (tensor, _stamp(tensor)) for i, tensor in enumerate(tensors) if i not in gradients.kept}
        ctx.mark_non_differentiable(*[v for i, v in enumerate(outputs) if i not in gradients.differentiable])
        ctx.set_materialize_grads(False)
        return outputs

    @staticmethod
    def backward(ctx: Any, *tangents: Tensor | None) -> tuple[Tensor | None, ...]:
        """The gradients: by the program, or by the operators where it would be wrong.

        These run if gradients of the gradients are recorded, in modes of PyTorch, and where a tangent of 0 would not
        do for an output that has none.
        """
        gradients: Gradients = ctx.gradients
        kept: tuple[Tensor, ...] = ctx.saved_tensors
        found: list[Tensor | None] = [None] * (len(kept) + len(ctx.others))
        given = [tangent for tangent in tangents if tangent is not None]
        computed = None
        if not torch.is_grad_enabled() and why_not_plain([*kept, *given]) is None and gradients.can_read(kept):
            computed = gradients.by_program(_memory(ctx), kept, tangents)
        for position, gradient in _by_operators(ctx, kept, tangents) if computed is None else computed:
            found[position] = gradient
        return (None, *found)


def _memory(ctx: Any) -> Values:
    """What the forward pass has left; a backward pass that may be repeated gets a copy.

    Raises: OperatorError if an earlier backward pass has used it up.
    """
    memory: Values | None = ctx.memory
    if memory is None:
        raise OperatorError("an earlier backward pass was interrupted; run the forward pass again")
    if torch._C._autograd._get_current_graph_task_keep_graph():  # pyright: ignore[reportAttributeAccessIssue]
        return copied(memory)
    ctx.memory = None
    return memory


def _by_operators(
    ctx: Any, kept: Sequence[Tensor], tangents: Sequence[Tensor | None]
) -> Iterator[tuple[int, Tensor | None]]:
    """The gradients by position, from another forward pass of the operators with the same random numbers."""
    gradients: Gradients = ctx.gradients
    tensors = dict(zip(gradients.kept, kept, strict=True))
    for position, (tensor, stamp) in ctx.others.items():
        if _stamp(tensor) != stamp:
            raise OperatorError("a parameter or input was changed between the forward and the backward pass")
        tensors[position] = tensor
    with torch.enable_grad(), _repeated(ctx.random):
        given = [tensors[i].view_as(tensors[i]) if i in gradients.learned else tensors[i] for i in range(len(tensors))]
        outputs = gradients.operators(*given)
    pairs = [(outputs[i], tangent) for i, tangent in enumerate(tangents) if tangent is not None]
    positions = sorted(gradients.learned)
    results = torch.autograd.grad(
        [output for output, _ in pairs],
        [given[position] for position in positions],
        [tangent for _, tangent in pairs],
        create_graph=torch.is_grad_enabled(),
        allow_unused=True,
    )
    return zip(positions, results, strict=True)


def _stamp(tensor: Tensor) -> tuple[int, int]:
    """Where its memory is, and the number of changes in place; a tensor of inference mode does not count these."""
    return tensor.data_ptr(), 0 if tensor.is_inference() else tensor._version


def _random_states(tensors: Sequence[Tensor]) -> dict[torch.device, Tensor]:
    """The states of the random generators that a call may use."""
    devices = dict.fromkeys(tensor.device for tensor in tensors if tensor.device.type == "cuda")
    cpu = {torch.device("cpu"): torch.get_rng_state()}
    return cpu | {device: torch.cuda.get_rng_state(device) for device in devices}


@contextmanager
def _repeated(states: dict[torch.device, Tensor]) -> Iterator[None]:
    """Draw the numbers of a call again, without autocast, as in that call; restore the generators afterwards."""
    with ExitStack() as stack:
        for kind in ("cpu", "cuda"):
            if torch.is_autocast_enabled(kind):
                stack.enter_context(torch.autocast(kind, enabled=False))
        if states:
            stack.enter_context(torch.random.fork_rng([device for device in states if device.type == "cuda"]))
        for device, state in states.items():
            if device.type == "cuda":
                torch.cuda.set_rng_state(state, device)
            else:
                torch.set_rng_state(state)
        yield
