"""A module that runs a program: called like the module that its graph was imported from, and trained like it.

While gradients are recorded, `backward` runs the rest of the program, on the memory that the forward pass has left.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, fx, nn

from explorer.backend.plain import why_not_plain
from explorer.errors import OperatorError
from explorer.program.ir.instructions import View
from explorer.program.ir.program import Program
from explorer.program.running.executor import Executor, Poison, Values, allocate, copy_values, why_not_laid_out
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.ir.variables import Constant, Variable
from explorer.tensor.torch_io.exporting import TensorModule, constants_of
from explorer.tensor.torch_io.joint import JointGraph


class Gradients:
    """The data that all calls of a program with a backward pass share.

    Positions count inputs, then constants: `learned` of the tensors that require a gradient, `positions` of the
    arguments of the program, and `kept` of the arguments that its backward pass reads too.
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
        """Return whether the backward pass can read these tensors: hooks may have changed their strides."""
        weights = zip(self.executor.kept, kept, strict=True)
        return all(why_not_laid_out(weight, tensor) is None for weight, tensor in weights)

    def by_program(
        self, memory: Values, kept: Sequence[Tensor], tangents: Sequence[Tensor | None]
    ) -> list[tuple[int, Tensor]] | None:
        """Compute the gradients by position, on the memory of the forward pass.

        An output without a tangent has a tangent of 0, which adds 0 to a gradient. If it adds NaN, because a derivative
        is infinite, the result is None: the share is absent, not 0 * inf.
        """
        missing = {i for i in self.differentiable if tangents[i] is None}
        given: list[Tensor] = []
        for i, weight in zip(self.differentiable, self.executor.tangents, strict=True):
            tangent = tangents[i]
            given.append(allocate(weight.type).zero_() if tangent is None else tangent)
        found = zip(self.results, self.executor.finish(memory, kept, given), self._depends, strict=True)
        present = [(position, value) for position, value, depends in found if not depends or depends - missing]
        return None if missing and any(bool(value.isnan().any()) for _, value in present) else present


class ProgramFunction(torch.autograd.Function):
    """The forward pass of a program; its backward pass computes the gradients."""

    @staticmethod
    def forward(ctx: Any, gradients: Gradients, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Run the forward pass."""
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
        """Compute the gradients by the program, or by the operators where it would be wrong.

        The operators run if gradients of gradients are recorded, in modes of PyTorch, and if an output without a
        tangent cannot have one of 0.
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
    """Take the memory of the forward pass, or a copy for a backward pass that may be repeated.

    Raises: OperatorError if an earlier backward pass has used it up.
    """
    memory: Values | None = ctx.memory
    if memory is None:
        raise OperatorError("an earlier backward pass was interrupted; run the forward pass again")
    if torch._C._autograd._get_current_graph_task_keep_graph():  # pyright: ignore[reportAttributeAccessIssue]
        return copy_values(memory)
    ctx.memory = None
    return memory


def _by_operators(
    ctx: Any, kept: Sequence[Tensor], tangents: Sequence[Tensor | None]
) -> Iterator[tuple[int, Tensor | None]]:
    """Compute the gradients by position, in another forward pass of the operators with the same random numbers."""
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
    """Return the address of its memory and its version, which inference mode does not count."""
    return tensor.data_ptr(), 0 if tensor.is_inference() else tensor._version


def _random_states(tensors: Sequence[Tensor]) -> dict[torch.device, Tensor]:
    """Save the states of the random generators that a call may use."""
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


AS_STRIDED = "as_strided"
"""The label of a view that may begin anywhere in a storage."""


def to_program_module(
    graph: FunctionGraph | JointGraph, program: Program, why_no_backward: str = "", poison: Poison | None = None
) -> TensorModule:
    """Make a module that computes the graph of a program by running the program.

    While gradients are recorded, a program of a joint graph runs up to its backward pass, and `backward` runs the rest.
    Where planned memory would be wrong, the operators of the graph run one by one: under transforms of `torch.func`,
    `torch.compile`, autocast and other modes, for parameters of another dtype or device than planned, and for other
    gradients. `why_not_planned` tells the reason, which `why_no_backward` is for a program without a backward pass. For
    a check, `poison` fills memory that the program may not read.
    """
    executor = Executor(program, poison)
    if isinstance(graph, JointGraph):
        return TensorModule(graph.forward, lambda operators: ProgramRunner(executor, operators, graph.forward, graph))
    reason = f": {why_no_backward}" if why_no_backward else ""
    return TensorModule(graph, lambda operators: ProgramRunner(executor, operators, graph, why_no_backward=reason))


def why_not_planned(module: TensorModule, *args: Any, **kwargs: Any) -> str | None:
    """Return why a call with these arguments would not run the program; None if it would."""
    if not isinstance(module.program, ProgramRunner):
        return "the module has no program"
    return module.program.why_not([*module.arguments(args, kwargs), *module.constants()])


class ProgramRunner(nn.Module):
    """Runs a program on the inputs and constants of a graph, or the operators of the graph one by one."""

    def __init__(
        self,
        executor: Executor,
        operators: fx.GraphModule,
        graph: FunctionGraph,
        joint: JointGraph | None = None,
        why_no_backward: str = "",
    ) -> None:
        super().__init__()
        self.operators = operators
        program, self._executor = executor.program, executor
        accepted: list[Variable] = [*graph.inputs, *constants_of(graph)]
        numbers = [graph.ids[variable] for variable in accepted] if joint is None else joint.numbers()
        position_of = {number: position for position, number in enumerate(numbers)}
        self._weights = tuple((position_of[weight.id], weight) for weight in executor.given)
        self._overlapping = [(position, weight) for position, weight in self._weights if weight.type.may_overlap]
        viewed = {
            program.origin(one.id) for one in program.instructions if isinstance(one, View) and one.label == AS_STRIDED
        }
        self._viewed = [(position, weight.name) for position, weight in self._weights if weight.id in viewed]
        self._positions = [position for position, _ in self._weights]
        self._gradients = None if joint is None else Gradients(joint, operators, executor, self._positions)
        self._why_no_backward = why_no_backward
        self._names = [variable.name or f"input {i}" for i, variable in enumerate(accepted)]
        changed = {id(mutation.data) for mutation in graph.interface.mutations}
        self._changed = {i for i, v in enumerate(accepted) if isinstance(v, Constant) and id(v.data) in changed}

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Compute the outputs of the graph."""
        if self.why_not(tensors) is not None:
            return self.operators(*tensors)
        if self._gradients is None or not _records_gradients(tensors):
            return self._executor(*[tensors[position] for position in self._positions])
        return ProgramFunction.apply(self._gradients, *self._own(tensors))

    def why_not(self, tensors: Sequence[torch.Tensor]) -> str | None:
        """Return why the program cannot run on these tensors; None if it can."""
        reason = why_not_plain(tensors)
        if reason is None and _records_gradients(tensors):
            reason = self._why_no_gradients(tensors)
        if reason is not None:
            return reason
        for position, weight in self._weights:
            found, kind = tensors[position], weight.type
            if (found.dtype, found.device.type) != (kind.dtype, kind.device.type):
                return f"{weight.name} is {found.dtype} on {found.device}, and the plan is for {kind}"
        for position, name in self._viewed:
            if tensors[position].storage_offset():
                return f"{name} begins inside of a storage, and an operator names a place in that"
        reasons = (why_not_laid_out(weight, tensors[position]) for position, weight in self._overlapping)
        return next(filter(None, reasons), None)

    def _why_no_gradients(self, tensors: Sequence[torch.Tensor]) -> str | None:
        if self._gradients is None:
            return f"gradients are recorded, and the program has no backward pass{self._why_no_backward}"
        for position, tensor in enumerate(tensors):
            learns = position in self._gradients.learned
            if tensor.requires_grad is not learns:
                name = self._names[position]
                asked, planned = ("a", "none") if tensor.requires_grad else ("no", "one")
                return f"{name} requires {asked} gradient, and the backward pass has {planned} for it"
        return None

    def _own(self, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Copy the buffers that the call updates: the backward pass needs the old values."""
        return [tensor.clone() if i in self._changed else tensor for i, tensor in enumerate(tensors)]


def _records_gradients(tensors: Sequence[torch.Tensor]) -> bool:
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
