"""The oracle: the value of a symbolic circuit in plain float64 or complex128 numpy, slow and obviously correct.

It shares nothing with the engine but the symbolic classes: each layer and each parameter operator is written down here
once more, from its definition. Shapes: B batch, O units; a layer's value is (B, O), a circuit's (B, outputs, O).
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import comb, log, pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.symbolic import (
    BinomialLayer,
    BinomialTableParameter,
    CategoricalLayer,
    Circuit,
    ClampParameter,
    ConjugateParameter,
    ConstantInitializer,
    ConstantValueLayer,
    EmbeddingLayer,
    EvidenceLayer,
    ExponentialLayer,
    ExpParameter,
    GaussianLayer,
    GaussianProductLogPartitionParameter,
    GaussianProductMeanParameter,
    GaussianProductStddevParameter,
    HadamardLayer,
    HadamardParameter,
    HistogramLayer,
    IndexParameter,
    InputLayer,
    KroneckerIdentityParameter,
    KroneckerLayer,
    KroneckerParameter,
    LaplaceLayer,
    Layer,
    LogParameter,
    LogSoftmaxParameter,
    MixingWeightParameter,
    MultivariateGaussianLayer,
    OuterProductParameter,
    OuterSumParameter,
    ParameterNode,
    PolynomialDifferentialParameter,
    PolynomialLayer,
    PolynomialProductParameter,
    RearrangeLayer,
    ReduceLSEParameter,
    ReduceProductParameter,
    ReduceSumParameter,
    ReorderParameter,
    ScaledSigmoidParameter,
    SigmoidParameter,
    SoftmaxParameter,
    SoftplusParameter,
    SquareParameter,
    SumLayer,
    SumParameter,
    TensorParameter,
    TriangleParameter,
)

Array = NDArray[Any]
LeafValues = Mapping[TensorParameter, Array]
SEMIRINGS = ("sum-product", "lse-sum", "complex-lse-sum")


def evaluate(
    circuit: Circuit, leaf_values: LeafValues, x: Array | None, *, log: bool = False, complex_logs: bool = False
) -> Array:
    """The outputs of a circuit: (B, outputs, O) for x (B, D); (outputs, O) for x None, which needs an empty scope.

    Linear values, or with `log` their logarithms from an evaluation in log space: real ones, where the logarithm of a
    negative number is NaN, or with `complex_logs` a complex one; its imaginary part is defined up to 2 pi.
    """
    with np.errstate(all="ignore"):
        values = layer_values(circuit, leaf_values, x, log=log or complex_logs, complex_logs=complex_logs)
    found = np.stack([values[output] for output in circuit.outputs], axis=1)
    return found[0] if x is None else found


def evaluate_in(semiring: str, circuit: Circuit, leaf_values: LeafValues, x: Array | None) -> Array:
    """The outputs as a circuit compiled for this semiring returns them."""
    if semiring not in SEMIRINGS:
        raise ValueError(f"known semirings are {SEMIRINGS}; found {semiring!r}")
    return evaluate(circuit, leaf_values, x, log=semiring != "sum-product", complex_logs=semiring == "complex-lse-sum")


def constant_leaf_values(circuit: Circuit) -> dict[TensorParameter, Array]:
    """The initial value of every leaf of a circuit; all must have a ConstantInitializer."""
    values: dict[TensorParameter, Array] = {}
    for leaf, name in circuit.leaf_names.items():
        if not isinstance(leaf.initializer, ConstantInitializer):
            raise TypeError(f"leaf {name} is drawn at random ({leaf.initializer}): give its value to the oracle")
        values[leaf] = np.broadcast_to(leaf.initializer.value, leaf.shape)
    return values


def brute_force_partition(circuit: Circuit, leaf_values: LeafValues, num_states: int | Sequence[int]) -> Array:
    """The sum of the outputs (outputs, O) over all inputs; `num_states` for all variables, or one for each."""
    counts = [num_states] * len(circuit.scope) if isinstance(num_states, int) else list(num_states)
    x = np.zeros((int(np.prod(counts)), circuit.num_variables), dtype=np.int64)
    x[:, list(circuit.scope)] = np.array(list(product(*(range(count) for count in counts)))).reshape(len(x), -1)
    return evaluate(circuit, leaf_values, x).sum(axis=0)


def assert_equals_oracle(
    found: Array, semiring: str, circuit: Circuit, leaf_values: LeafValues, x: Array | None, rtol: float = 1e-9
) -> None:
    """Assert that the engine's outputs are right, relative to the largest term in the sum of each.

    Where terms of both signs nearly cancel, their sum cannot be had to more digits than they have themselves; so the
    yardstick is the same circuit with all inputs and weights made positive. Logarithms are compared as such under
    lse-sum, and by what they are the logarithms of under complex-lse-sum.
    """
    wanted = evaluate_in(semiring, circuit, leaf_values, x)
    found = np.asarray(found)
    assert found.shape == wanted.shape, f"shape {found.shape}, wanted {wanted.shape}"
    if semiring == "lse-sum":
        np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol)
        return
    with np.errstate(all="ignore"):
        values = layer_values(circuit, leaf_values, x, log=True, complex_logs=True, absolute=True)
        log_scale = np.stack([np.real(values[output]) for output in circuit.outputs], axis=1)
        log_scale = log_scale[0] if x is None else log_scale
        log_scale = np.where(np.isfinite(log_scale), log_scale, 0.0)
        if semiring == "sum-product":
            found, wanted = found * np.exp(-log_scale), wanted * np.exp(-log_scale)
        else:
            found, wanted = np.exp(found - log_scale), np.exp(wanted - log_scale)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=rtol)


def layer_values(
    circuit: Circuit,
    leaf_values: LeafValues,
    x: Array | None,
    *,
    log: bool = False,
    complex_logs: bool = False,
    absolute: bool = False,
) -> dict[int, Array]:
    """The value (B, O) of every layer by its id; with `absolute`, of the absolute inputs and weights."""
    rows = np.zeros((1, 0)) if x is None else np.asarray(x)
    values: dict[int, Array] = {}
    for node, layer in circuit.graph.nodes.items():
        below = [values[source] for source in circuit.graph.inputs[node]]
        if isinstance(layer, InputLayer):
            value, is_log = _input_value(layer, leaf_values, rows)
            if absolute:
                value, is_log = np.abs(np.exp(value) if is_log else value), False
            if is_log and not log:
                value = np.exp(value)
            elif log:
                value = value if is_log else _log(value, complex_logs)
                value = value.astype(np.complex128) if complex_logs else value
        elif isinstance(layer, SumLayer):
            weight = parameter_value(layer.weight, leaf_values)
            weight = np.abs(weight) if absolute else weight
            inputs = np.concatenate(below, axis=1)  # (B, H*I)
            value = _log_weighted_sum(weight, inputs, complex_logs) if log else inputs @ weight.T
        elif isinstance(layer, RearrangeLayer):
            value = _rearranged(layer, below[0])
        else:
            value = _product(layer, below, log)
        values[node] = value
    return values


def parameter_value(parameter: ParameterNode, leaf_values: LeafValues) -> Array:
    """The value of a parameter expression."""
    values: dict[ParameterNode, Array] = {}
    for node in parameter.nodes():
        if isinstance(node, TensorParameter):
            value = np.asarray(leaf_values[node])
        else:
            value = _OPERATORS[type(node)](node, *(values[operand] for operand in node.operands))
        if value.shape != node.shape:
            raise ValueError(f"{node} says that its shape is {node.shape}; its value has {value.shape}")
        values[node] = value
    return values[parameter]


# ---- layers ----------------------------------------------------------------------------------------------------------


def _input_value(layer: InputLayer, leaf_values: LeafValues, x: Array) -> tuple[Array, bool]:
    """The value (B, O) of an input layer, and whether it is the logarithm."""

    def value_of(parameter: ParameterNode) -> Array:
        return parameter_value(parameter, leaf_values)

    if isinstance(layer, EvidenceLayer):
        observed = np.zeros((1, max(layer.layer.scope) + 1))
        observed[0, list(layer.layer.scope)] = value_of(layer.observation)
        value, is_log = _input_value(layer.layer, leaf_values, observed)
        return np.repeat(value, len(x), axis=0), is_log
    if isinstance(layer, ConstantValueLayer):
        return np.repeat(value_of(layer.value)[None, :], len(x), axis=0), layer.log_space
    column = x[:, layer.scope[0]]
    if isinstance(layer, EmbeddingLayer):
        return value_of(layer.weight)[:, column.astype(int)].T, False
    if isinstance(layer, CategoricalLayer):
        if layer.logits is not None:
            return value_of(layer.logits)[:, column.astype(int)].T, True
        return value_of(_given(layer.probs))[:, column.astype(int)].T, False
    if isinstance(layer, PolynomialLayer):
        coeff = value_of(layer.coeff)
        powers = np.stack([column.astype(float) ** d for d in range(layer.degree + 1)])  # (degree + 1, B)
        return (coeff @ powers).T, False
    if isinstance(layer, BinomialLayer):
        probs = value_of(layer.probs) if layer.probs is not None else _sigmoid(value_of(_given(layer.logits)))
        n = layer.total_count
        rows = [log(comb(n, int(k))) + int(k) * np.log(probs) + (n - int(k)) * np.log1p(-probs) for k in column]
        return np.stack(rows), True
    if isinstance(layer, GaussianLayer):
        mean, stddev = value_of(layer.mean), value_of(layer.stddev)
        value = -0.5 * ((column[:, None] - mean) / stddev) ** 2 - np.log(stddev) - 0.5 * log(2 * pi)
        return value if layer.log_partition is None else value + value_of(layer.log_partition), True
    if isinstance(layer, ExponentialLayer):
        mean = value_of(layer.mean)
        return np.where(column[:, None] >= 0, -column[:, None] / mean - np.log(mean), -np.inf), True
    if isinstance(layer, LaplaceLayer):
        scale = value_of(layer.scale)
        return -np.abs(column[:, None] - value_of(layer.location)) / scale - np.log(2 * scale), True
    if isinstance(layer, HistogramLayer):
        state = np.clip(np.searchsorted(layer.edges, column, side="right") - 1, 0, len(layer.edges) - 2)
        inside = (column >= layer.edges[0]) & (column <= layer.edges[-1])
        return (value_of(layer.probs)[:, state] / np.diff(layer.edges)[state] * inside).T, False
    if isinstance(layer, MultivariateGaussianLayer):
        return _joint_normal(x[:, list(layer.scope)], *map(value_of, (layer.mean, layer.stddev, layer.slope))), True
    raise TypeError(f"the oracle does not know {type(layer).__name__}")


def _joint_normal(x: Array, mean: Array, stddev: Array, slope: Array) -> Array:
    """Log-densities (B, O), variable by variable: each is normal around a linear function of those before it."""
    total = np.zeros((len(x), len(mean)))
    for unit, row, v in product(range(len(mean)), range(len(x)), range(x.shape[1])):
        center = mean[unit, v] + sum(slope[unit, v, w] * (x[row, w] - mean[unit, w]) for w in range(v))
        z = (x[row, v] - center) / stddev[unit, v]
        total[row, unit] += -0.5 * z**2 - np.log(stddev[unit, v]) - 0.5 * log(2 * pi)
    return total


def _given(parameter: ParameterNode | None) -> ParameterNode:
    if parameter is None:
        raise ValueError("a parameter is missing")
    return parameter


def _product(layer: Layer, below: Sequence[Array], log: bool) -> Array:
    combine: Callable[[Array, Array], Array] = np.add if log else np.multiply
    value = below[0]
    for other in below[1:]:
        if isinstance(layer, HadamardLayer):
            value = combine(value, other)
        elif isinstance(layer, KroneckerLayer):  # the first input varies slowest
            value = combine(value[:, :, None], other[:, None, :]).reshape(len(value), -1)
        else:
            raise TypeError(f"the oracle does not know {type(layer).__name__}")
    return value


def _rearranged(layer: RearrangeLayer, below: Array) -> Array:
    """By the definition: the unit with the indices `index` is the one with those along its own axes."""
    found = np.empty((len(below), layer.num_output_units), below.dtype)
    for unit in range(layer.num_output_units):
        index = np.unravel_index(unit, layer.sizes)
        size_of = {axis: (k, layer.sizes[k]) for k, axis in enumerate(layer.axes) if axis >= 0}
        own = [size_of[axis] for axis in sorted(size_of)]
        source = np.ravel_multi_index([index[k] for k, _ in own], [size for _, size in own])
        found[:, unit] = below[:, source]
    return found


def _log(value: Array, complex_logs: bool) -> Array:
    return np.log(value.astype(np.complex128) if complex_logs else value)


def _log_weighted_sum(weight: Array, inputs: Array, complex_logs: bool) -> Array:
    """log sum_i w[o,i] exp(x[b,i]): every term as sign and logarithm, with the largest factored out of each sum."""
    if complex_logs:
        terms = _log(weight, True)[None] + inputs[:, None, :]  # (B, O, H*I)
        sign: Array = np.ones(())
    else:
        terms = np.log(np.abs(weight))[None] + inputs[:, None, :]
        sign = np.sign(weight)[None]
    terms = np.where(weight[None] == 0, -np.inf, terms)
    largest = np.real(terms).max(axis=2, keepdims=True)
    largest = np.where(np.isneginf(largest), 0.0, largest)
    sums = (sign * np.exp(terms - largest)).sum(axis=2)
    return largest[..., 0] + np.log(sums)


# ---- parameter operators ---------------------------------------------------------------------------------------------


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _logsumexp(x: Array, axis: int, keepdims: bool = False) -> Array:
    largest = np.real(x).max(axis=axis, keepdims=True)
    found = largest + np.log(np.exp(x - largest).sum(axis=axis, keepdims=True))
    return found if keepdims else np.squeeze(found, axis=axis)


def _outer(combine: Callable[[Array, Array], Array], x: Array, y: Array, axis: int) -> Array:
    """All pairs along an axis; the first operand varies slower."""
    pairs = [combine(x.take(i, axis), y.take(j, axis)) for i in range(x.shape[axis]) for j in range(y.shape[axis])]
    return np.stack(pairs, axis=axis)


def _mixing_weight(x: Array) -> Array:
    return np.concatenate([np.diag(x[:, h]) for h in range(x.shape[1])], axis=1)


def _polynomial_product(x: Array, y: Array) -> Array:
    return np.stack([np.convolve(p, q) for p in x for q in y])


def _gaussian_product(m: Array, s: Array, n: Array, t: Array) -> tuple[Array, Array, Array]:
    """Mean, standard deviation and log-integral for all pairs: by completing the square."""
    rows: list[tuple[float, float, float]] = []
    for i, j in product(range(len(s)), range(len(t))):
        precision = s[i] ** -2 + t[j] ** -2
        mean = (m[i] / s[i] ** 2 + n[j] / t[j] ** 2) / precision
        exponent = 0.5 * (precision * mean**2 - (m[i] / s[i]) ** 2 - (n[j] / t[j]) ** 2)
        rows.append((mean, precision**-0.5, exponent - 0.5 * log(2 * pi * precision * (s[i] * t[j]) ** 2)))
    mean, stddev, log_partition = np.array(rows).T
    return mean, stddev, log_partition


def _binomial_table(p: Any, x: Array) -> Array:
    probs, n = _sigmoid(x) if p.is_logits else x, p.total_count
    return np.stack([log(comb(n, k)) + k * np.log(probs) + (n - k) * np.log1p(-probs) for k in range(n + 1)], axis=1)


def _reorder(p: Any, x: Array) -> Array:
    """By the definition: the entry with the indices `index` moves to where they are in the new order."""
    found = np.empty_like(x)
    new_sizes = [p.sizes[place] for place in p.order]
    for old in range(x.shape[p.axis]):
        index = np.unravel_index(old, p.sizes)
        new = np.ravel_multi_index([index[place] for place in p.order], new_sizes)
        found[(slice(None),) * p.axis + (int(new),)] = x.take(old, p.axis)
    return found


def _triangle(p: Any, x: Array) -> Array:
    """By the definition, entry by entry."""
    x = np.moveaxis(x, p.axis, -1)
    n, b = p.size, p.block
    entries: list[Array] = []
    for i in range(n):
        for j in range(i, n):
            for k, m in product(range(b), range(b)):
                value = x[..., ((i * b + k) * n + j) * b + m]
                other = x[..., ((j * b + m) * n + i) * b + k]
                entries.append(value + other if p.add and i < j else value)
    return np.moveaxis(np.stack(entries, axis=-1), -1, p.axis)


def _differential(coeff: Array, order: int) -> Array:
    for _ in range(order):
        degrees = np.arange(1, coeff.shape[1])
        coeff = coeff[:, 1:] * degrees if len(degrees) else np.zeros_like(coeff)
    return coeff


_OPERATORS: Mapping[type[ParameterNode], Callable[..., Array]] = {
    SoftmaxParameter: lambda p, x: np.exp(x - _logsumexp(x, p.axis, keepdims=True)),
    LogSoftmaxParameter: lambda p, x: x - _logsumexp(x, p.axis, keepdims=True),
    SigmoidParameter: lambda p, x: _sigmoid(x),
    ScaledSigmoidParameter: lambda p, x: p.vmin + (p.vmax - p.vmin) * _sigmoid(x),
    ClampParameter: lambda p, x: np.clip(x, p.vmin, p.vmax),
    SoftplusParameter: lambda p, x: np.log1p(np.exp(x)),
    ExpParameter: lambda p, x: np.exp(x),
    LogParameter: lambda p, x: np.log(x),
    SquareParameter: lambda p, x: x * x,
    ConjugateParameter: lambda p, x: np.conj(x),
    SumParameter: lambda p, x, y: x + y,
    HadamardParameter: lambda p, x, y: x * y,
    KroneckerParameter: lambda p, x, y: np.kron(x, y),
    OuterProductParameter: lambda p, x, y: _outer(np.multiply, x, y, p.axis),
    OuterSumParameter: lambda p, x, y: _outer(np.add, x, y, p.axis),
    ReduceSumParameter: lambda p, x: x.sum(axis=p.axis),
    ReduceProductParameter: lambda p, x: x.prod(axis=p.axis),
    ReduceLSEParameter: lambda p, x: _logsumexp(x, p.axis),
    IndexParameter: lambda p, x: x.take(p.indices, p.axis),
    MixingWeightParameter: lambda p, x: _mixing_weight(x),
    PolynomialDifferentialParameter: lambda p, x: _differential(x, p.order),
    PolynomialProductParameter: lambda p, x, y: _polynomial_product(x, y),
    GaussianProductMeanParameter: lambda p, m, s, n, t: _gaussian_product(m, s, n, t)[0],
    GaussianProductStddevParameter: lambda p, s, t: _gaussian_product(np.zeros_like(s), s, np.zeros_like(t), t)[1],
    GaussianProductLogPartitionParameter: lambda p, m, s, n, t: _gaussian_product(m, s, n, t)[2],
    BinomialTableParameter: _binomial_table,
    KroneckerIdentityParameter: lambda p, x: np.kron(x, np.eye(p.size)),
    ReorderParameter: _reorder,
    TriangleParameter: _triangle,
}
