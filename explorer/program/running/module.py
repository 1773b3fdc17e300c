"""A module that runs a program: called like the module that its graph was imported from."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import fx, nn

from explorer.backend.plain import why_not_plain
from explorer.program.ir.instructions import View
from explorer.program.ir.program import Program
from explorer.program.running.executor import Executor, why_not_laid_out
from explorer.program.running.steps import Poison
from explorer.program.running.training import Gradients, Trained
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.ir.variables import Constant, Variable
from explorer.tensor.torch_io.exporting import TensorModule, constants_of
from explorer.tensor.torch_io.joint import JointGraph

AS_STRIDED = "as_strided"
"""The label of a view that may be of any place in a storage."""


def to_program_module(
    graph: FunctionGraph | JointGraph, program: Program, why_no_backward: str = "", poison: Poison | None = None
) -> TensorModule:
    """A module that computes the graph from which a program was lowered, by running the program.

    While gradients are recorded, a program of a joint graph runs up to its backward pass, and `backward` runs the rest.
    Where planned memory would be wrong, the operators of the graph run one by one: under transforms of `torch.func`,
    `torch.compile`, autocast and other modes, for parameters of another dtype or device than those of the plan, and
    where other gradients are asked for. `why_not_planned` tells which; `why_no_backward` is what it says of a program
    without a backward pass. `poison` fills memory that the program may not read, for a check.
    """
    executor = Executor(program, poison)
    if isinstance(graph, JointGraph):
        return TensorModule(graph.forward, lambda operators: ProgramRunner(executor, operators, graph.forward, graph))
    reason = f": {why_no_backward}" if why_no_backward else ""
    return TensorModule(graph, lambda operators: ProgramRunner(executor, operators, graph, why_no_backward=reason))


def why_not_planned(module: TensorModule, *args: Any, **kwargs: Any) -> str | None:
    """Why a call with these arguments would not run the program; None if it would."""
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
        """The outputs of the graph."""
        if self.why_not(tensors) is not None:
            return self.operators(*tensors)
        if self._gradients is None or not _records_gradients(tensors):
            return self._executor(*[tensors[position] for position in self._positions])
        return Trained.apply(self._gradients, *self._own(tensors))

    def why_not(self, tensors: Sequence[torch.Tensor]) -> str | None:
        """Why the program cannot run on these tensors; None if it can."""
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
        """The tensors, with copies of the buffers that the call updates: the backward pass needs the old values."""
        return [tensor.clone() if i in self._changed else tensor for i, tensor in enumerate(tensors)]


def _records_gradients(tensors: Sequence[torch.Tensor]) -> bool:
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
