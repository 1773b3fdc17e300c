"""Outputs together with gradients, by which the steps of a training program are compared."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram
from torch.func import functional_call
from torch.utils import _pytree as pytree

from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.graph.interface import Arguments
from explorer.tensor.torch_io.exporting import to_module


def trained_names(module: nn.Module) -> tuple[str, ...]:
    """The names of the parameters of a module that require a gradient."""
    return tuple(name for name, parameter in module.named_parameters() if parameter.requires_grad)


def run_with_gradients(module: nn.Module, names: Sequence[str], x: Any) -> tuple[Tensor, ...]:
    """The tensors that a module returns, then the gradients of some of its parameters, for fixed tangents.

    Random operators start with the same seed each time, and mutable state is copied. A parameter on which no output
    depends has the gradient 0.
    """
    learned = [module.get_parameter(name) for name in names]
    state = {name: buffer.clone() for name, buffer in module.named_buffers()}
    by_name = x.by_name if isinstance(x, Arguments) else {}
    with torch.enable_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        given = functional_call(module, state, x if isinstance(x, tuple) else (x,), dict(by_name))
        outputs = [value for value in pytree.tree_leaves(given) if isinstance(value, Tensor)]
        chosen = [value for value in outputs if value.requires_grad]
        found = torch.autograd.grad(chosen, learned, [_tangent(value) for value in chosen], allow_unused=True)
    gradients = (torch.zeros_like(p) if g is None else g for p, g in zip(learned, found, strict=True))
    return tuple(value.detach() for value in (*outputs, *gradients))


def run_source_with_gradients(
    program: ExportedProgram, graph: FunctionGraph, names: Sequence[str], x: Any
) -> tuple[Tensor, ...]:
    """As `run_with_gradients`, of the program that PyTorch exported.

    If autograd refuses that, because it changes a buffer that its gradients need, of the operators of its graph.
    """
    try:
        return run_with_gradients(program.module(), names, x)
    except RuntimeError:
        return run_with_gradients(to_module(graph), names, x)


def _tangent(like: Tensor) -> Tensor:
    """Numbers from 0.5 to 1.5: with equal ones, gradients of what is normalized would vanish."""
    ramp = torch.linspace(0.5, 1.5, max(like.numel(), 1), device=like.device)[: like.numel()]
    return torch.empty_like(like).copy_(ramp.reshape(like.shape))
