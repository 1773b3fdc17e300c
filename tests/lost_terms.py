"""Circuits and sums in which a weight of zero, or a tiny one, is beside the largest input, with values of their own.

The values are computed from the definitions, with long double logarithms: nothing in them can underflow.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from explorer.symbolic import (
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    ClampParameter,
    ConstantInitializer,
    ExpParameter,
    GaussianLayer,
    HadamardParameter,
    IndexParameter,
    KroneckerParameter,
    LogParameter,
    MixingWeightParameter,
    OuterProductParameter,
    OuterSumParameter,
    ParameterNode,
    ReduceProductParameter,
    ReduceSumParameter,
    ScaledSigmoidParameter,
    SigmoidParameter,
    SoftmaxParameter,
    SoftplusParameter,
    SquareParameter,
    SumParameter,
    TensorParameter,
    constant,
)

Array = NDArray[Any]
Case = tuple[Circuit, Array, Array]
"""A circuit, rows x (B, D), and the logarithms (B,) of their likelihoods."""


def _softmax(scale: float) -> Callable[[np.random.Generator, tuple[int, ...]], Array]:
    def weights(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
        logits = generator.normal(size=shape) * scale
        powers = np.exp(logits - logits.max(-1, keepdims=True))
        return powers / powers.sum(-1, keepdims=True)

    return weights


def _choice(*values: float) -> Callable[[np.random.Generator, tuple[int, ...]], Array]:
    return lambda generator, shape: generator.choice(values, shape)


WEIGHTS: Mapping[str, Callable[[np.random.Generator, tuple[int, ...]], Array]] = {
    "zeros": _choice(0.0, 0.3, 1.0),
    "tiny": _choice(1e-30, 1e-37, 0.5),
    "zeros and tiny": _choice(0.0, 1e-30),
    "softmax of logits x 100": _softmax(100.0),
    "softmax of logits x 1000": _softmax(1000.0),
}
"""Weights of a shape, by kind; the last axis has the terms."""


def far_apart(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Logarithms up to 10,000 apart, every tenth of them -inf."""
    found = generator.normal(size=shape) * generator.choice([1.0, 100.0, 3000.0], shape)
    return np.where(generator.random(shape) < 0.1, -np.inf, found)


def log_sum(xs: Sequence[Array], weight: Array) -> Array:
    """Complex logarithms (F, B, O) of sums of products of H inputs (F, B, I) with weights (F, O, I^H)."""
    products = np.asarray(xs[0], dtype=np.clongdouble)
    for x in xs[1:]:
        products = (products[..., :, None] + x[..., None, :]).reshape(*products.shape[:2], -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.log(np.abs(np.asarray(weight, dtype=np.clongdouble)))
    real = products.real[:, :, None] + size[:, None]
    turn = products.imag[:, :, None] + np.angle(weight)[:, None]
    largest = np.where(np.isneginf(top := real.max(-1)), 0, top)
    sums = (np.exp(real - largest[..., None]) * np.exp(1j * turn.astype(np.clongdouble))).sum(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(np.abs(sums)) + largest + 1j * np.angle(sums)


def log_normal(x: ArrayLike, mean: ArrayLike) -> Array:
    """Log-densities of standard deviation 1."""
    distance = np.asarray(x, dtype=np.longdouble) - np.asarray(mean)
    return -0.5 * distance**2 - 0.5 * math.log(2 * math.pi)


def parameter(values: ArrayLike) -> TensorParameter:
    """A learned parameter with these first values."""
    return TensorParameter(np.shape(values), initializer=ConstantInitializer(np.array(values, dtype=float)))


def gaussian(b: CircuitBuilder, variable: int, means: Sequence[float]) -> int:
    """A layer of Gaussian units of standard deviation 1, with learned means."""
    stddev = constant(np.ones(len(means)))
    return b.add(GaussianLayer(scope=(variable,), num_output_units=len(means), mean=parameter(means), stddev=stddev))


def _log_mixture(terms: Array, weights: ArrayLike) -> Array:
    """log(sum_j w_j exp(terms[b,j])) for weights (J,), or for each row (O, J) of them."""
    weight = np.atleast_2d(np.asarray(weights, dtype=np.longdouble))
    return log_sum([terms[None]], weight[None])[0].real


def two_states(gap: float, *, learned: bool = True) -> Case:
    """Two states that cannot change: the first has x0 = 0, both are `gap` or more away from x1 = 0."""
    b = CircuitBuilder()
    weight = parameter(np.eye(2)) if learned else constant(np.eye(2))
    start = b.sum(gaussian(b, 0, [0.0, gap]), num_units=2, weight=weight)
    states = b.hadamard(start, gaussian(b, 1, [2 * gap, gap]))
    circuit = b.build(b.sum(states, num_units=1, weight=constant([[0.5, 0.5]])))
    x = np.array([[0.0, 0.0], [0.0, 2 * gap], [gap / 2, gap]])
    terms = log_normal(x[:, :1], [0, gap]) + log_normal(x[:, 1:], [2 * gap, gap])
    return circuit, x, _log_mixture(terms, [0.5, 0.5])[:, 0].astype(float)


def two_seen_states(gap: float) -> Circuit:
    """The same with a third variable, the number of the state: so the circuit is deterministic."""
    b = CircuitBuilder()
    start = b.sum(gaussian(b, 0, [0.0, gap]), num_units=2, weight=parameter(np.eye(2)))
    seen = b.add(CategoricalLayer(scope=(2,), num_output_units=2, num_categories=2, probs=constant(np.eye(2))))
    states = b.hadamard(start, gaussian(b, 1, [2 * gap, gap]), seen)
    return b.build(b.sum(states, num_units=1, weight=constant([[0.5, 0.5]])))


def two_states_by_mixing(gap: float) -> Case:
    """The same units as mixtures of two layers each, one with weight zero."""
    b = CircuitBuilder()
    mixing = MixingWeightParameter((parameter([[1.0, 0.0], [0.0, 1.0]]),))
    start = b.sum(gaussian(b, 0, [0.0, 0.0]), gaussian(b, 0, [0.0, gap]), num_units=2, weight=mixing)
    states = b.hadamard(start, gaussian(b, 1, [2 * gap, gap]))
    circuit = b.build(b.sum(states, num_units=1, weight=constant([[0.5, 0.5]])))
    return circuit, *two_states(gap)[1:]


def two_states_by_products(gap: float) -> Case:
    """A weight of products of all pairs of units, zero where states differ."""
    b = CircuitBuilder()
    pairs = b.kronecker(gaussian(b, 0, [0.0, gap]), gaussian(b, 1, [2 * gap, gap]))
    weight = parameter([[0.5, 0.0, 0.0, 0.5], [0.0, 0.0, 0.0, 1.0]])
    circuit = b.build(b.sum(b.sum(pairs, num_units=2, weight=weight), num_units=1, weight=constant([[1.0, 0.0]])))
    return circuit, *two_states(gap)[1:]


def sums_of_small_weights(*weights: tuple[ParameterNode, ArrayLike], far: float = 60.0) -> Case:
    """Sums, one above the other; the first unit reads the only likely input, the third one, by tiny weights.

    The weights (3, 3) are given with their logarithms.
    """
    b, below, above = CircuitBuilder(), [far, far, 0.0], [0.0, 3 * far, 3 * far]
    x = np.array([[0.0, 0.0], [far, 0.0], [far, 3 * far]])
    sums, terms = gaussian(b, 0, below), log_normal(x[:, :1], below)
    for weight, logs in weights:
        sums = b.sum(sums, num_units=3, weight=weight)
        powers = np.exp(np.asarray(logs, dtype=np.longdouble))  # its smallest number is about e^-11,000
        terms = _log_mixture(terms, powers)
    top = b.sum(b.hadamard(sums, gaussian(b, 1, above)), num_units=1, weight=constant(np.full((1, 3), 1 / 3)))
    return b.build(top), x, _log_mixture(terms + log_normal(x[:, 1:], above), [1 / 3] * 3)[:, 0].astype(float)


def tiny_softmax(gap: float) -> tuple[ParameterNode, Array]:
    """Weights (3, 3), where each unit leads to the next with about e^-gap, and their logarithms."""
    logits = np.array([[0, -gap, -3 * gap], [-3 * gap, 0, -gap], [-3 * gap, -3 * gap, 0]])
    logs = logits - np.log(np.exp(logits.astype(np.longdouble)).sum(1, keepdims=True))
    return SoftmaxParameter((parameter(logits),), axis=1), logs


def small_weights(gap: float) -> Case:
    """Two sums, one above the other; their units read the only likely input by weights of e^-gap each."""
    return sums_of_small_weights(tiny_softmax(gap), tiny_softmax(gap))


def _small(gap: float, rest: float = -30.0) -> Array:
    """Logarithms (3, 3) with -gap where the first unit reads the third, and some others."""
    return np.array([[0, rest, -gap], [rest, 0, -gap / 2], [-gap / 2, rest, -1.0]])


def _by_exp(gap: float) -> ParameterNode:
    return ExpParameter((parameter(_small(gap)),))


def _by_index(gap: float) -> ParameterNode:
    several = ExpParameter((parameter(np.concatenate([_small(1.0), _small(gap)])),))
    return IndexParameter((several,), indices=(3, 4, 5), axis=0)


OPERATORS: Mapping[str, Callable[[float], tuple[ParameterNode, ArrayLike]]] = {
    "softmax": lambda gap: (
        SoftmaxParameter((parameter(_small(2 * gap)),), axis=1),
        _small(2 * gap) - np.log(np.exp(_small(2 * gap)).sum(1, keepdims=True)),
    ),
    "exponential": lambda gap: (_by_exp(2 * gap), _small(2 * gap)),
    "sigmoid": lambda gap: (
        SigmoidParameter((parameter(_small(2 * gap)),)),
        _small(2 * gap) - np.log1p(np.exp(_small(2 * gap))),
    ),
    "elementwise product": lambda gap: (HadamardParameter((_by_exp(gap), _by_exp(gap))), 2 * _small(gap)),
    "square": lambda gap: (SquareParameter((_by_exp(gap),)), 2 * _small(gap)),
    "Kronecker product": lambda gap: (
        KroneckerParameter((ExpParameter((parameter([[-gap]]),)), _by_exp(gap))),
        _small(gap) - gap,
    ),
    "outer product": lambda gap: (
        OuterProductParameter((ExpParameter((parameter(np.full((1, 3), -gap)),)), _by_exp(gap)), axis=0),
        _small(gap) - gap,
    ),
    "product along an axis": lambda gap: (
        ReduceProductParameter((ExpParameter((parameter(np.stack([_small(gap), _small(gap)])),)),), axis=0),
        2 * _small(gap),
    ),
    "sum along an axis": lambda gap: (
        ReduceSumParameter((ExpParameter((parameter(np.stack([_small(2 * gap), _small(2 * gap)])),)),), axis=0),
        _small(2 * gap) + math.log(2),
    ),
    "outer sum": lambda gap: (
        OuterSumParameter((ExpParameter((parameter(np.full((1, 3), -2000.0)),)), _by_exp(2 * gap)), axis=0),
        _small(2 * gap),
    ),
    "softplus": lambda gap: (
        SoftplusParameter((parameter(_small(2 * gap)),)),
        np.log(np.log1p(np.exp(_small(2 * gap).astype(np.longdouble)))),
    ),
    "scaled sigmoid": lambda gap: (
        ScaledSigmoidParameter((parameter(_small(2 * gap)),), vmin=0.0, vmax=2.0),
        _small(2 * gap) - np.log1p(np.exp(_small(2 * gap))) + math.log(2),
    ),
    "clamp": lambda gap: (ClampParameter((_by_exp(2 * gap),), vmin=None, vmax=1.0), _small(2 * gap)),
    "exponential of a logarithm": lambda gap: (ExpParameter((LogParameter((_by_exp(2 * gap),)),)), _small(2 * gap)),
    "sum": lambda gap: (SumParameter((_by_exp(2 * gap), _by_exp(2 * gap))), _small(2 * gap) + math.log(2)),
    "choice of entries": lambda gap: (_by_index(2 * gap), _small(2 * gap)),
}
"""Weights (3, 3) by an operator with a result that underflows, with their logarithms, by the operator."""


STATES, TRANSITION, START = (0.0, 10.0, 20.0), ((0.9, 0.1, 0.0), (0.0, 0.9, 0.1), (0.0, 0.0, 1.0)), (0.98, 0.01, 0.01)
"""A left-to-right hidden Markov model: the means of its states, which are 10 standard deviations apart."""


def left_to_right(steps: int, *, learned: bool = False) -> Circuit:
    """The model over a number of steps; its transitions are learned or constants."""
    make = parameter if learned else constant
    b = CircuitBuilder()
    node = gaussian(b, steps - 1, STATES)
    for step in reversed(range(steps - 1)):
        past = b.sum(node, num_units=3, weight=make(np.array(TRANSITION)))
        node = b.hadamard(gaussian(b, step, STATES), past)
    return b.build(b.sum(node, num_units=1, weight=make(np.array([START]))))


def forward_algorithm(
    x: ArrayLike, means: ArrayLike = STATES, transition: ArrayLike = TRANSITION, start: ArrayLike = START
) -> float:
    """The log-likelihood of one sequence, in which NaN is summed out."""
    return float(_log_mixture(_forward(_emissions(x, means), transition, start)[-1:], [1.0, 1.0, 1.0])[0, 0])


def state_probabilities(x: ArrayLike, step: int) -> Array:
    """The probabilities (S,) of the states of the model at a step, given the other steps of a sequence."""
    logs = []
    for state in range(len(STATES)):
        emissions = _emissions(x, STATES)
        emissions[step] = np.where(np.arange(len(STATES)) == state, 0, -np.inf)
        logs.append(_log_mixture(_forward(emissions, TRANSITION, START)[-1:], [1.0, 1.0, 1.0])[0, 0])
    powers = np.exp(np.array(logs) - max(logs))
    return (powers / powers.sum()).astype(float)


def _emissions(x: ArrayLike, means: ArrayLike) -> Array:
    values = np.asarray(x, dtype=float)[:, None]
    return np.where(np.isnan(values), 0, log_normal(values, means))  # (T, S)


def _forward(emissions: Array, transition: ArrayLike, start: ArrayLike) -> Array:
    """The logarithms (T, S) of what the model says of the first steps, and of each state at the last of them."""
    with np.errstate(divide="ignore"):
        found = [np.log(np.asarray(start, dtype=np.longdouble)) + emissions[0]]
    for emission in emissions[1:]:
        found.append(_log_mixture(found[-1][None], np.transpose(transition))[0] + emission)
    return np.array(found)


def relapse(steps: int) -> Case:
    """A sequence that returns once to the first state for so many steps, and one that does not."""
    back = [0.0] * 10 + [10.0] * 50 + [0.0] * steps + [20.0] * 10
    x = np.array([back, sorted(back)])
    return left_to_right(x.shape[1]), x, np.array([forward_algorithm(row) for row in x])


CASES: Mapping[str, Callable[[], Case]] = {
    **{f"identity, {gap}": lambda gap=gap: two_states(gap) for gap in (10.0, 16.0, 40.0, 300.0)},
    **{f"mixing, {gap}": lambda gap=gap: two_states_by_mixing(gap) for gap in (16.0, 40.0)},
    **{f"products, {gap}": lambda gap=gap: two_states_by_products(gap) for gap in (16.0, 40.0)},
    **{f"relapse of {steps} steps": lambda steps=steps: relapse(steps) for steps in (3, 10, 16, 40)},
}
