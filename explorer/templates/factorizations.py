"""Circuits of tensor factorizations: the value at x is the entry t[x_1, ..., x_n] of a factorized tensor.

R: rank. Variable j has the values 0 .. shape[j]-1. Source: Loconte et al. 2025, What is the relationship between tensor
factorizations and circuits (and how can we exploit it)?
"""

from collections.abc import Mapping, Sequence

import numpy as np

from explorer.errors import ShapeError
from explorer.symbolic import Circuit, CircuitBuilder, Parameterization, constant
from explorer.templates.inputs import EmbeddingInput, ParameterFactory, get_input_spec
from explorer.templates.regions.checks import check_at_least_one


def cp(
    shape: Sequence[int],
    rank: int,
    *,
    input_layer: str = "embedding",
    input_params: Mapping[str, ParameterFactory] | None = None,
    weight_param: ParameterFactory | None = None,
) -> Circuit:
    """Canonical polyadic: t[x] = sum_r w_r prod_j A_j[x_j, r].

    The weights w are fixed to 1 unless `weight_param` is given. `input_layer` is embedding, categorical or binomial.
    Raises: ShapeError, ValueRangeError, UnknownNameError.
    """
    builder = CircuitBuilder()
    product = builder.hadamard(*_factors(builder, shape, rank, input_layer, input_params))
    weight = constant(np.ones((1, rank))) if weight_param is None else weight_param((1, rank))
    return builder.build(builder.sum(product, num_units=1, weight=weight))


def tucker(
    shape: Sequence[int],
    rank: int,
    *,
    input_layer: str = "embedding",
    input_params: Mapping[str, ParameterFactory] | None = None,
    core_param: ParameterFactory | None = None,
) -> Circuit:
    """Tucker: t[x] = sum_{r_1 .. r_n} w[r_1, ..., r_n] prod_j A_j[x_j, r_j].

    The core w is a normal leaf unless `core_param` is given. `input_layer` is embedding, categorical or binomial.
    Raises: ShapeError, ValueRangeError, UnknownNameError.
    """
    builder = CircuitBuilder()
    product = builder.kronecker(*_factors(builder, shape, rank, input_layer, input_params))
    weight = (core_param or Parameterization("none"))((1, rank ** len(shape)))
    return builder.build(builder.sum(product, num_units=1, weight=weight))


def tensor_train(shape: Sequence[int], rank: int, *, factor_param: ParameterFactory | None = None) -> Circuit:
    """Tensor train (matrix product state): t[x] = v_1[x_1] V_2[x_2] ... V_{n-1}[x_{n-1}] v_n[x_n].

    V_j[x] is an (R, R) matrix, v_1 and v_n are vectors; each column of V_j is an embedding layer of R units. The matrix
    product with column h is a Hadamard product followed by a sum with fixed ones. The factors are normal leaves unless
    `factor_param` is given. Raises: ShapeError for fewer than two axes; ValueRangeError.
    """
    _check_tensor(shape, rank)
    factors = factor_param or Parameterization("none")
    builder = CircuitBuilder()

    def column(variable: int) -> int:
        return builder.add(EmbeddingInput(shape[variable], factors)(variable, rank))

    ones = np.ones((1, rank))
    row = column(0)
    for variable in range(1, len(shape) - 1):
        products = [builder.hadamard(row, column(variable)) for _ in range(rank)]
        row = builder.sum(*products, num_units=rank, weight=constant(np.kron(np.eye(rank), ones)))
    product = builder.hadamard(row, column(len(shape) - 1))
    return builder.build(builder.sum(product, num_units=1, weight=constant(ones)))


def _factors(
    builder: CircuitBuilder,
    shape: Sequence[int],
    rank: int,
    input_layer: str,
    params: Mapping[str, ParameterFactory] | None,
) -> list[int]:
    _check_tensor(shape, rank)
    return [
        builder.add(get_input_spec(input_layer, num_levels=size, params=params)(variable, rank))
        for variable, size in enumerate(shape)
    ]


def _check_tensor(shape: Sequence[int], rank: int) -> None:
    if len(shape) < 2 or any(size < 1 for size in shape):
        raise ShapeError(f"a tensor to factorize needs two or more axes of size 1 or more; found {tuple(shape)}")
    check_at_least_one(rank=rank)
