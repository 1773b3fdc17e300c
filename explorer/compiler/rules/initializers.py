"""Compile rules of initializers: each becomes a function that fills a tensor with a random generator."""

from typing import Any

import torch
from torch import Tensor

from explorer.backend.parameters import InitializerFunction
from explorer.compiler.registries import CompilerInitializerRegistry
from explorer.symbolic import ConstantInitializer, DirichletInitializer, NormalInitializer, UniformInitializer

initializer_rules = CompilerInitializerRegistry()


@initializer_rules.rule(ConstantInitializer)
def compile_constant(compiler: Any, initializer: ConstantInitializer) -> InitializerFunction:
    """Copies the given values."""
    value = torch.from_numpy(initializer.value.copy())
    return lambda tensor, generator: tensor.copy_(value.expand(tensor.shape))


@initializer_rules.rule(NormalInitializer)
def compile_normal(compiler: Any, initializer: NormalInitializer) -> InitializerFunction:
    """Draws from a normal distribution."""
    mean, stddev = initializer.mean, initializer.stddev
    return lambda tensor, generator: tensor.normal_(mean, stddev, generator=generator)


@initializer_rules.rule(UniformInitializer)
def compile_uniform(compiler: Any, initializer: UniformInitializer) -> InitializerFunction:
    """Draws from a uniform distribution."""
    low, high = initializer.low, initializer.high

    def draw(tensor: Tensor, generator: torch.Generator) -> Tensor:
        if tensor.is_complex():
            torch.view_as_real(tensor).uniform_(low, high, generator=generator)
            return tensor
        return tensor.uniform_(low, high, generator=generator)

    return draw


@initializer_rules.rule(DirichletInitializer)
def compile_dirichlet(compiler: Any, initializer: DirichletInitializer) -> InitializerFunction:
    """Draws gamma variables and divides them by their sum along the axis."""
    alpha, axis = initializer.alpha, initializer.axis

    def draw(tensor: Tensor, generator: torch.Generator) -> Tensor:
        concentration = torch.full(tensor.shape, alpha, dtype=tensor.dtype)
        gammas = torch._standard_gamma(concentration, generator)  # pyright: ignore[reportPrivateImportUsage]
        return tensor.copy_(gammas / gammas.sum(axis, keepdim=True))

    return draw
