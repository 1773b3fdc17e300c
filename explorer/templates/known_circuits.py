"""Circuits of known models: independent variables, the hidden Markov model, tensor factorizations, chains of sums.

The value of a factorization at x is the entry t[x_1, ..., x_n] of the factorized tensor. R: rank. Variable j has the
values 0 .. shape[j]-1. Source: Loconte et al. 2025, What is the relationship between tensor factorizations and circuits
(and how can we exploit it)?
"""

from collections.abc import Mapping, Sequence

import numpy as np

from explorer.errors import ScopeError, ShapeError
from explorer.symbolic import Circuit, CircuitBuilder, Parameterization, constant
from explorer.templates.inputs import CategoricalInput, EmbeddingInput, InputSpec, ParameterFactory, get_input_spec
from explorer.templates.regions.region_graph import check_at_least_one


def fully_factorized(
    num_variables: int,
    input_layer: str | InputSpec | Sequence[InputSpec] = "categorical",
    *,
    num_categories: int = 256,
    input_params: Mapping[str, ParameterFactory] | None = None,
) -> Circuit:
    """Independent variables: p(x) = prod_v p_v(x_v), one unit each.

    `input_layer` is a name, one input spec for all variables, or one per variable.
    Raises: UnknownNameError, ValueRangeError, ShapeError.
    """
    check_at_least_one(num_variables=num_variables)
    specs = _specs(num_variables, input_layer, num_categories, input_params)
    builder = CircuitBuilder()
    layers = [builder.add(spec(variable, 1)) for variable, spec in enumerate(specs)]
    return builder.build(layers[0] if num_variables == 1 else builder.hadamard(*layers))


def hmm(
    ordering: Sequence[int],
    input_layer: str | InputSpec | Sequence[InputSpec] = "categorical",
    *,
    num_latent_states: int,
    homogeneous: bool = False,
    num_categories: int = 256,
    input_params: Mapping[str, ParameterFactory] | None = None,
    weight_param: ParameterFactory | None = None,
) -> Circuit:
    """A hidden Markov model with K states over the variables in this order, evaluated from the last to the first.

    m_n = A_n e_n and m_t = A_t (m_{t+1} * e_t), with e_t the K emission values of the variable at position t, A_t
    (K, K) the transition into its state, and A_1 (1, K) the initial distribution. With `homogeneous` all
    emissions share one set of parameters and all A_t but A_1 share one.

    `input_layer` is a name, one input spec for all variables, or one for each variable (in the order of their indices).
    Raises: ScopeError unless the ordering is a permutation of 0 .. n-1; ShapeError for several specs with
    `homogeneous` or for a wrong number of specs; UnknownNameError, ValueRangeError.
    Source: Rabiner 1989, A tutorial on hidden Markov models (backward recursion).

    >>> hmm(range(20), num_latent_states=8)
    <Circuit: 59 layers, 20 variables, 1 output(s)>
    """
    if not ordering or sorted(ordering) != list(range(len(ordering))):
        raise ScopeError(f"the ordering must be a permutation of 0 to n-1; found {list(ordering)}")
    if homogeneous and not isinstance(input_layer, str | InputSpec):
        raise ShapeError("a homogeneous HMM has one emission for all variables; pass one input spec")
    check_at_least_one(num_latent_states=num_latent_states)
    K = num_latent_states
    specs = _specs(len(ordering), input_layer, num_categories, input_params)
    weights = weight_param or Parameterization("softmax")
    emission = specs[0].parameters(K) if homogeneous else None
    transition = weights((K, K)) if homogeneous and len(ordering) > 1 else None
    builder = CircuitBuilder()
    message: int | None = None
    for variable in reversed(ordering):
        spec = specs[variable]
        layer = builder.add(spec.layer(variable, K, emission or spec.parameters(K)))
        state = layer if message is None else builder.hadamard(message, layer)
        if variable == ordering[0]:
            message = builder.sum(state, num_units=1, weight=weights((1, K)))
        else:
            message = builder.sum(state, num_units=K, weight=transition or weights((K, K)))
    assert message is not None
    return builder.build(message)


def _specs(
    num_variables: int,
    given: str | InputSpec | Sequence[InputSpec],
    num_categories: int,
    params: Mapping[str, ParameterFactory] | None,
) -> Sequence[InputSpec]:
    if isinstance(given, str):
        given = get_input_spec(given, num_levels=num_categories, params=params)
    elif params:
        raise ShapeError("input_params need a named input layer; pass them to the input spec instead")
    if isinstance(given, InputSpec):
        return [given] * num_variables
    if len(given) != num_variables:
        raise ShapeError(f"expected one input spec for each of {num_variables} variables; found {len(given)}")
    return given


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


def sum_chain(length: int, *, num_units: int, weight_param: ParameterFactory | None = None) -> Circuit:
    """`length` consecutive sums of one input over a categorical input; all have `num_units` units but the last has one.

    Raises: ValueRangeError.

    >>> sum_chain(40, num_units=3)
    <Circuit: 41 layers, 1 variables, 1 output(s)>
    """
    check_at_least_one(length=length, num_units=num_units)
    builder = CircuitBuilder()
    top = builder.add(CategoricalInput(max(num_units, 2))(0, num_units))
    for position in range(length):
        O = 1 if position == length - 1 else num_units
        top = builder.sum(top, num_units=O, weight=weight_param and weight_param((O, num_units)))
    return builder.build(top)
