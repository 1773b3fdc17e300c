"""Compile rules of initializers: each becomes a function that fills a tensor with a random generator."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from explorer.backend.parameters import InitializerFunction
from explorer.compiler.registries import CompilerRegistry
from explorer.symbolic import (
    ConstantInitializer,
    DirichletInitializer,
    NormalInitializer,
    SoftmaxInitializer,
    UniformInitializer,
)


@dataclass(eq=False)
class CompilerInitializerRegistry(CompilerRegistry):
    """Compile rules of initializers."""

    what = "initializer"
    decorator = "initializer_rules"


initializer_rules = CompilerInitializerRegistry()


@initializer_rules.rule(ConstantInitializer)
def compile_constant(compiler: Any, initializer: ConstantInitializer) -> InitializerFunction:
    """Copy the given values."""
    return partial(_copy, value=torch.from_numpy(initializer.value.copy()))


@initializer_rules.rule(NormalInitializer)
def compile_normal(compiler: Any, initializer: NormalInitializer) -> InitializerFunction:
    """Draw from a normal distribution."""
    return partial(_draw_normal, mean=initializer.mean, stddev=initializer.stddev)


@initializer_rules.rule(UniformInitializer)
def compile_uniform(compiler: Any, initializer: UniformInitializer) -> InitializerFunction:
    """Draw from a uniform distribution; for complex leaves both the real and the imaginary part."""
    return partial(_draw_uniform, low=initializer.low, high=initializer.high)


@initializer_rules.rule(DirichletInitializer)
def compile_dirichlet(compiler: Any, initializer: DirichletInitializer) -> InitializerFunction:
    """Draw gamma variables and divide them by their sum along the axis."""
    return partial(_draw_dirichlet, alpha=initializer.alpha, axis=initializer.axis)


@initializer_rules.rule(SoftmaxInitializer)
def compile_softmax(compiler: Any, initializer: SoftmaxInitializer) -> InitializerFunction:
    """Draw by the other initializer, and normalize."""
    draw = compiler.compile_initializer(initializer.initializer)
    return partial(_draw_softmax, draw=draw, axis=initializer.axis)


def _copy(tensor: Tensor, generator: torch.Generator, value: Tensor) -> Tensor:
    return tensor.copy_(value.expand(tensor.shape))


def _draw_normal(tensor: Tensor, generator: torch.Generator, mean: float, stddev: float) -> Tensor:
    return tensor.normal_(mean, stddev, generator=generator)


def _draw_uniform(tensor: Tensor, generator: torch.Generator, low: float, high: float) -> Tensor:
    if tensor.is_complex():
        torch.view_as_real(tensor).uniform_(low, high, generator=generator)
        return tensor
    return tensor.uniform_(low, high, generator=generator)


def _draw_softmax(tensor: Tensor, generator: torch.Generator, draw: InitializerFunction, axis: int) -> Tensor:
    return tensor.copy_(torch.softmax(draw(tensor, generator), axis))


def _draw_dirichlet(tensor: Tensor, generator: torch.Generator, alpha: float | tuple[float, ...], axis: int) -> Tensor:
    concentration = torch.tensor(alpha, dtype=tensor.dtype)
    if concentration.dim():
        concentration = concentration.view(-1, *(1 for _ in tensor.shape[axis:][1:]))
    concentration = concentration.expand(tensor.shape).contiguous()
    gammas = torch._standard_gamma(concentration, generator)  # pyright: ignore[reportPrivateImportUsage]
    return tensor.copy_(gammas / gammas.sum(axis, keepdim=True))
