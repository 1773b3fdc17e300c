"""Outputs together with gradients, by which the steps of a training program are compared."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram
from torch.func import functional_call
from torch.utils import _pytree as pytree

from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.graph.interface import Arguments, Interface
from explorer.tensor.torch_io.exporting import to_module
from explorer.tensor.torch_io.joint import JointGraph


@dataclass(frozen=True, slots=True)
class Learned:
    """The tensors with compared gradients: parameters by name, and inputs by position."""

    parameters: tuple[str, ...]
    inputs: frozenset[int]
    interface: Interface


def learned_of(joint: JointGraph, module: nn.Module) -> Learned:
    """The tensors of a module of a joint graph that require a gradient."""
    names = tuple(name for name, parameter in module.named_parameters() if parameter.requires_grad)
    inputs = frozenset(position for position in joint.learned if position < len(joint.forward.inputs))
    return Learned(names, inputs, joint.forward.interface)


def run_with_gradients(module: nn.Module, learned: Learned, x: Any) -> tuple[Tensor, ...]:
    """The tensors that a module returns, then the gradients of its parameters and inputs, for fixed tangents.

    Random operators start with the same seed each time, and mutable state is copied. A tensor on which no output
    depends has the gradient 0.
    """
    state = {name: buffer.clone() for name, buffer in module.named_buffers()}
    args, kwargs, inputs = _with_gradients(learned, x)
    wanted = [*(module.get_parameter(name) for name in learned.parameters), *inputs]
    with torch.enable_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        given = functional_call(module, state, args, kwargs)
        outputs = [value for value in pytree.tree_leaves(given) if isinstance(value, Tensor)]
        chosen = [value for value in outputs if value.requires_grad]
        tangents = [_tangent(value) for value in chosen]
        found = torch.autograd.grad(chosen, wanted, tangents, allow_unused=True) if chosen else [None] * len(wanted)
    gradients = (torch.zeros_like(v) if g is None else g for v, g in zip(wanted, found, strict=True))
    return tuple(value.detach() for value in (*outputs, *gradients))


def _with_gradients(learned: Learned, x: Any) -> tuple[tuple[Any, ...], dict[str, Any], list[Tensor]]:
    """The arguments and keywords of a call, in which the learned inputs, which follow, require a gradient."""
    by_name = dict(x.by_name) if isinstance(x, Arguments) else {}
    given = learned.interface.ordered_arguments(tuple(x) if isinstance(x, tuple) else (x,), by_name)
    leaves, spec = pytree.tree_flatten(given)
    tensors = [position for position, value in enumerate(leaves) if isinstance(value, Tensor)]
    inputs: list[Tensor] = []
    for i, position in enumerate(tensors):
        leaves[position] = leaves[position].detach().requires_grad_(i in learned.inputs)
        inputs += [leaves[position]] if i in learned.inputs else []
    args, kwargs = pytree.tree_unflatten(leaves, spec)
    return args, kwargs, inputs


def run_source_with_gradients(
    program: ExportedProgram, graph: FunctionGraph, learned: Learned, x: Any
) -> tuple[Tensor, ...]:
    """As `run_with_gradients`, of the program that PyTorch exported.

    If autograd refuses that, because it changes a buffer that its gradients need, of the operators of its graph.
    """
    try:
        return run_with_gradients(program.module(), learned, x)
    except RuntimeError:
        return run_with_gradients(to_module(graph), learned, x)


def _tangent(like: Tensor) -> Tensor:
    """Numbers from 0.5 to 1.5: with equal ones, gradients of what is normalized would vanish."""
    ramp = torch.linspace(0.5, 1.5, max(like.numel(), 1), device=like.device)[: like.numel()]
    return torch.empty_like(like).copy_(ramp.reshape(like.shape))
