"""A module that runs a program: called like the module that its graph was imported from."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import fx, nn
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.autograd import forward_ad
from torch.utils._python_dispatch import _get_current_dispatch_mode

from explorer.program.ir.instructions import Role
from explorer.program.ir.program import Program
from explorer.program.running.executor import Executor
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.ir.variables import Variable
from explorer.tensor.torch_io.exporting import TensorModule, constants_of

PLAIN = (torch.Tensor, nn.Parameter, nn.Buffer)


def to_program_module(graph: FunctionGraph, program: Program) -> TensorModule:
    """A module that computes the graph from which a program was lowered, by running the program.

    Where planned memory would be wrong, the operators of the graph run one by one: while gradients are recorded, under
    transforms of `torch.func`, `torch.compile`, autocast and other modes, and for parameters of another dtype or device
    than those of the plan. `why_not_planned` tells which.
    """
    return TensorModule(graph, lambda operators: ProgramRunner(program, operators, graph))


def why_not_planned(module: TensorModule, *args: Any, **kwargs: Any) -> str | None:
    """Why a call with these arguments would not run the program; None if it would."""
    if not isinstance(module.program, ProgramRunner):
        return "the module has no program"
    return module.program.why_not([*module.arguments(args, kwargs), *module.constants()])


class ProgramRunner(nn.Module):
    """Runs a program on the inputs and constants of a graph, or the operators of the graph one by one."""

    def __init__(self, program: Program, operators: fx.GraphModule, graph: FunctionGraph) -> None:
        super().__init__()
        self.operators = operators
        self._executor = Executor(program)
        accepted: list[Variable] = [*graph.inputs, *constants_of(graph)]
        positions = {graph.ids[variable]: i for i, variable in enumerate(accepted)}
        given = [weight for weight in program.weights if weight.role is not Role.OUTPUT]
        self._weights = tuple((positions[weight.id], weight) for weight in given)

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The outputs of the graph."""
        if self.why_not(tensors) is not None:
            return self.operators(*tensors)
        return self._executor(*[tensors[position] for position, _ in self._weights])

    def why_not(self, tensors: Sequence[torch.Tensor]) -> str | None:
        """Why the program cannot run on these tensors; None if it can."""
        if torch.compiler.is_compiling():
            return "torch.compile or torch.export traces it"
        if _get_current_dispatch_mode() is not None or torch.overrides._get_current_function_mode_stack():
            return "a mode of PyTorch is active"
        if any(torch.is_autocast_enabled(kind) for kind in ("cpu", "cuda")):
            return "autocast is active"
        if any(type(tensor) not in PLAIN or _is_wrapped(tensor) for tensor in tensors):
            return "an argument is not a plain tensor"
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
            return "gradients are recorded"
        for position, weight in self._weights:
            found, kind = tensors[position], weight.type
            if (found.dtype, found.device.type) != (kind.dtype, kind.device.type):
                return f"{weight.name} is {found.dtype} on {found.device}, and the plan is for {kind}"
        return None


def _is_wrapped(tensor: torch.Tensor) -> bool:
    """Whether a transform of `torch.func` or forward-mode differentiation wraps a tensor."""
    if is_functorch_wrapped_tensor(tensor):
        return True
    return forward_ad._current_level >= 0 and forward_ad.unpack_dual(tensor).tangent is not None
