"""The layers of a symbolic circuit: frozen data, no tensors.

Shapes: O output units, I input units, H arity. The weight of a sum has shape (O, H*I); the columns of the first input
come first. Input layers read one variable. Fields that do not fit together are refused at construction.
"""

from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from explorer.errors import ScopeError, ShapeError, ValueRangeError
from explorer.graph import NESTED, PARAMETER, SCOPE, LayerKind, field_names
from explorer.symbolic.checks import AtLeast, Count, Scope, check_fields, check_integers, check_output_units, make_scope
from explorer.symbolic.initializers import ConstantInitializer
from explorer.symbolic.parameter_operators import SigmoidParameter
from explorer.symbolic.parameters import ParameterNode, Shape, TensorParameter

__all__ = [
    "BinomialLayer",
    "CategoricalLayer",
    "ConstantValueLayer",
    "EmbeddingLayer",
    "EvidenceLayer",
    "GaussianLayer",
    "HadamardLayer",
    "InnerLayer",
    "InputLayer",
    "KroneckerLayer",
    "Layer",
    "PolynomialLayer",
    "RearrangeLayer",
    "SumLayer",
]

Legal = Callable[[NDArray[Any]], NDArray[np.bool_]]


@dataclass(frozen=True, eq=False, kw_only=True)
class Layer(ABC):
    """Base of all layers; every layer has `num_output_units`, at least one.

    Raises: DataTypeError if a field does not have its declared type; ValueRangeError, ScopeError, ShapeError if it does
    not fit.
    """

    kind: ClassVar[LayerKind] = "operator"

    num_output_units: Count

    def __post_init__(self) -> None:
        check_fields(self)
        for name in field_names(type(self), "scope"):
            object.__setattr__(self, name, make_scope(getattr(self, name)))
        self._check()

    def _check(self) -> None:  # noqa: B027 - a layer may need no further checks
        """Hook: further checks of a class at construction."""


@dataclass(frozen=True, eq=False, kw_only=True)
class InputLayer(Layer, ABC):
    """A layer without inputs: functions of the variables in its scope."""

    kind = "input"

    scope: Scope = field(metadata=SCOPE)

    @property
    def num_values(self) -> int | None:
        """The variable takes the values 0 .. num_values-1; None if it is real, or unrestricted."""
        return None


@dataclass(frozen=True, eq=False, kw_only=True)
class InnerLayer(Layer, ABC):
    """A layer with `arity` input layers of `num_input_units` units each."""

    multiplies: ClassVar[bool | None] = None
    """The terms of a unit, on which operators and queries rely: each is a weight times one unit of every input
    (True), or times a single unit of one input (False). None if that is not so, as for a power of a unit, or not known:
    then nothing is summed out through the layer.
    """

    num_input_units: Count
    arity: Count


@dataclass(frozen=True, eq=False, kw_only=True)
class EmbeddingLayer(InputLayer):
    """f_o(x) = weight[o, x] for x in 0 .. num_states-1. Shapes: weight (O, num_states)."""

    num_states: Count
    weight: ParameterNode = field(metadata=PARAMETER)

    @property
    def num_values(self) -> int:
        return self.num_states

    def _check(self) -> None:
        check_univariate(self)
        check_shape(self, "weight", self.weight, (self.num_output_units, self.num_states))


@dataclass(frozen=True, eq=False, kw_only=True)
class CategoricalLayer(InputLayer):
    """A categorical distribution per unit, by probabilities or by logits (log-values, not normalized here).

    Shapes: probs or logits (O, num_categories), exactly one of the two.
    """

    num_categories: Count
    probs: ParameterNode | None = field(default=None, metadata=PARAMETER)
    logits: ParameterNode | None = field(default=None, metadata=PARAMETER)

    @property
    def num_values(self) -> int:
        return self.num_categories

    def _check(self) -> None:
        check_univariate(self)
        _check_one_of(self, (self.num_output_units, self.num_categories), probs=self.probs, logits=self.logits)
        check_constant(self, "probs", self.probs, "at least 0", lambda p: p >= 0)


@dataclass(frozen=True, eq=False, kw_only=True)
class BinomialLayer(InputLayer):
    """A binomial distribution per unit over 0 .. total_count, by probabilities or by logits.

    Shapes: probs or logits (O,), exactly one of the two.
    """

    total_count: Count
    probs: ParameterNode | None = field(default=None, metadata=PARAMETER)
    logits: ParameterNode | None = field(default=None, metadata=PARAMETER)

    @property
    def num_values(self) -> int:
        return self.total_count + 1

    @property
    def known_logits(self) -> ParameterNode | None:
        """The logits, also where the probabilities are their sigmoid; None if the probabilities are anything else.

        Near 1, a probability of float32 has lost digits of 1 - p: the sigmoid of 20 is 1.
        """
        if self.logits is None and type(self.probs) is SigmoidParameter:
            return self.probs.operands[0]
        return self.logits

    def _check(self) -> None:
        check_univariate(self)
        _check_one_of(self, (self.num_output_units,), probs=self.probs, logits=self.logits)
        check_constant(self, "probs", self.probs, "between 0 and 1", lambda p: (p >= 0) & (p <= 1))


@dataclass(frozen=True, eq=False, kw_only=True)
class GaussianLayer(InputLayer):
    """A normal density per unit; with `log_partition` the density is multiplied by exp(log_partition).

    Shapes: mean, stddev, log_partition (O,).
    """

    mean: ParameterNode = field(metadata=PARAMETER)
    stddev: ParameterNode = field(metadata=PARAMETER)
    log_partition: ParameterNode | None = field(default=None, metadata=PARAMETER)

    def _check(self) -> None:
        check_univariate(self)
        for name, value in (("mean", self.mean), ("stddev", self.stddev), ("log_partition", self.log_partition)):
            if value is not None:
                check_shape(self, name, value, (self.num_output_units,))
        check_constant(self, "stddev", self.stddev, "above 0", lambda s: s > 0)


@dataclass(frozen=True, eq=False, kw_only=True)
class PolynomialLayer(InputLayer):
    """A polynomial per unit: sum_d coeff[o, d] x^d. Shapes: coeff (O, degree + 1)."""

    degree: Annotated[int, AtLeast(0)]
    coeff: ParameterNode = field(metadata=PARAMETER)

    def _check(self) -> None:
        check_univariate(self)
        check_shape(self, "coeff", self.coeff, (self.num_output_units, self.degree + 1))


@dataclass(frozen=True, eq=False, kw_only=True)
class ConstantValueLayer(InputLayer):
    """A constant per unit, given as a value or as its logarithm; its scope is empty. Shapes: value (O,)."""

    scope: Scope = field(default=(), metadata=SCOPE)
    log_space: bool = False
    value: ParameterNode = field(metadata=PARAMETER)

    def _check(self) -> None:
        if self.scope:
            raise ScopeError(f"ConstantValueLayer has an empty scope; found {self.scope}")
        check_shape(self, "value", self.value, (self.num_output_units,))


@dataclass(frozen=True, eq=False, kw_only=True)
class EvidenceLayer(InputLayer):
    """An input layer at an observed value; its scope is empty, and it has the units of the observed layer.

    Shapes: observation (D,), one entry per variable of the observed layer.
    """

    scope: Scope = field(default=(), metadata=SCOPE)
    layer: InputLayer = field(metadata=NESTED)
    observation: ParameterNode = field(metadata=PARAMETER)

    def _check(self) -> None:
        if self.scope:
            raise ScopeError(f"EvidenceLayer has an empty scope; found {self.scope}")
        if self.layer.num_output_units != self.num_output_units:
            raise ShapeError(
                f"EvidenceLayer has num_output_units={self.num_output_units}, the observed layer has "
                f"{self.layer.num_output_units}; they must be equal"
            )
        if not self.layer.scope:
            raise ScopeError(
                f"EvidenceLayer observes a layer that reads a variable; {type(self.layer).__name__} reads none"
            )
        check_shape(self, "observation", self.observation, (len(self.layer.scope),))
        n = self.layer.num_values
        if n is None:
            check_constant(self, "observation", self.observation, "finite", np.isfinite)
        else:
            wanted = f"an integer from 0 to {n - 1}"
            check_constant(self, "observation", self.observation, wanted, lambda x: (x >= 0) & (x < n) & (x == x // 1))


@dataclass(frozen=True, eq=False, kw_only=True)
class SumLayer(InnerLayer):
    """Weighted sums: y_o = sum_{h,i} weight[o, h*I + i] x[h, i]. Shapes: weight (O, H*I)."""

    kind = "sum"
    multiplies = False
    arity: Count = 1
    weight: ParameterNode = field(metadata=PARAMETER)

    def _check(self) -> None:
        check_shape(self, "weight", self.weight, (self.num_output_units, self.arity * self.num_input_units))


@dataclass(frozen=True, eq=False, kw_only=True)
class HadamardLayer(InnerLayer):
    """Products unit by unit: y_k = prod_h x[h, k]; O = I."""

    kind = "product"
    multiplies = True
    arity: Count = 2

    def _check(self) -> None:
        check_output_units(self, self.num_input_units)


@dataclass(frozen=True, eq=False, kw_only=True)
class KroneckerLayer(InnerLayer):
    """Products of all combinations of units, one from each input; the first input varies slowest; O = I^H."""

    kind = "product"
    multiplies = True
    arity: Count = 2

    def _check(self) -> None:
        check_output_units(self, self.num_input_units**self.arity)


@dataclass(frozen=True, eq=False, kw_only=True)
class RearrangeLayer(InnerLayer):
    """Units in another order, or repeated: for products of circuits, where no sum has a weight to take the order into.

    The output units are viewed as axes of these `sizes`, and the input units as axes, too: axis k of the output is axis
    `axes[k]` of the input, or repeats it if that is -1. With sizes (2, 3) and axes (1, 0), y[i, j] = x[j, i].
    Raises: ShapeError unless the sizes fit the units; ValueRangeError unless `axes` names each input axis once.
    """

    kind = "operator"
    multiplies = False
    arity: Count = 1
    sizes: tuple[int, ...]
    axes: tuple[int, ...]

    @property
    def input_sizes(self) -> tuple[int, ...]:
        """The sizes of the axes of the input units."""
        size_of = {axis: size for axis, size in zip(self.axes, self.sizes, strict=True) if axis >= 0}
        return tuple(size_of[axis] for axis in sorted(size_of))

    @property
    def units_read(self) -> tuple[int, ...]:
        """For each output unit, the input unit that it is."""
        return units_read(self.sizes, self.axes)

    def _check(self) -> None:
        for name in ("sizes", "axes"):
            object.__setattr__(self, name, check_integers(self, name, getattr(self, name)))
        if self.arity != 1:
            raise ShapeError(f"RearrangeLayer reads one layer; found arity={self.arity}")
        named = sorted(axis for axis in self.axes if axis != -1)
        if named != list(range(len(named))) or len(self.axes) != len(self.sizes):
            raise ValueRangeError(
                f"RearrangeLayer: axes must name each input axis once, or be -1, one per size; "
                f"found axes={self.axes}, sizes={self.sizes}"
            )
        units = (prod(self.input_sizes), prod(self.sizes))
        if units != (self.num_input_units, self.num_output_units):
            raise ShapeError(
                f"RearrangeLayer: sizes {self.sizes} and axes {self.axes} fit {units[0]} input and {units[1]} output "
                f"units; found {self.num_input_units} and {self.num_output_units}"
            )


def units_read(sizes: Shape, axes: Shape) -> tuple[int, ...]:
    """For each output unit of a `RearrangeLayer` with these fields, the input unit that it is.

    >>> units_read((2, 3), (1, 0))
    (0, 2, 4, 1, 3, 5)
    """
    units, stride = np.zeros(sizes, dtype=np.int64), 1
    for place in (axes.index(axis) for axis in range(max(axes, default=-1), -1, -1)):
        units += stride * np.arange(sizes[place]).reshape(-1, *(1 for _ in sizes[place + 1 :]))
        stride *= sizes[place]
    return tuple(units.ravel().tolist())


def check_shape(layer: Layer, name: str, parameter: ParameterNode, wanted: Shape) -> None:
    """Raises: ShapeError unless the parameter has this shape (without the fold axis)."""
    if parameter.shape != wanted:
        raise ShapeError(f"{type(layer).__name__}: {name} must have shape {wanted}; found {parameter.shape}")


def check_constant(layer: Layer, name: str, parameter: ParameterNode | None, wanted: str, legal: Legal) -> None:
    """Raises: ValueRangeError if the parameter is a leaf with fixed real values that are not all legal."""
    if not isinstance(parameter, TensorParameter) or not isinstance(parameter.initializer, ConstantInitializer):
        return
    values = parameter.initializer.value
    if values.dtype.kind == "c":
        return
    odd = values[~np.asarray(legal(values))]
    if odd.size:
        raise ValueRangeError(f"{type(layer).__name__}: {name} must be {wanted}; found {odd[0]}")


def check_univariate(layer: InputLayer) -> None:
    if len(layer.scope) != 1:
        raise ScopeError(f"{type(layer).__name__} reads one variable; found scope {layer.scope}")


def _check_one_of(layer: Layer, shape: Shape, **given: ParameterNode | None) -> None:
    """Raises: ShapeError unless exactly one of the parameters is given, in this shape."""
    found = {name: value for name, value in given.items() if value is not None}
    if len(found) != 1:
        names = " and ".join(given)
        raise ShapeError(f"{type(layer).__name__} needs exactly one of {names}; found {list(found) or 'none'}")
    for name, value in found.items():
        check_shape(layer, name, value, shape)
