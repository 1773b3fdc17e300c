"""Circuits of known graphical models: independent variables, and the hidden Markov model."""

from collections.abc import Mapping, Sequence

from explorer.errors import ScopeError, ShapeError
from explorer.symbolic import Circuit, CircuitBuilder, Parameterization
from explorer.templates.inputs import InputSpec, ParameterFactory, get_input_spec
from explorer.templates.regions.checks import check_at_least_one


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
