"""Input specs: the input layer of a variable, and how its parameters are made."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from explorer.errors import ShapeError, check_name, look_up
from explorer.symbolic import (
    BinomialLayer,
    CategoricalLayer,
    EmbeddingLayer,
    ExponentialLayer,
    GaussianLayer,
    HistogramLayer,
    InputLayer,
    LaplaceLayer,
    Parameterization,
    ParameterNode,
    ScaledSigmoidParameter,
    Shape,
    SoftplusParameter,
    TensorParameter,
)

ParameterFactory = Callable[[Shape], ParameterNode]


def normal_leaf(shape: Shape) -> ParameterNode:
    """A leaf with standard normal initial values, without activation."""
    return TensorParameter(shape)


def positive_leaf(shape: Shape) -> ParameterNode:
    """A positive parameter: the softplus of a normal leaf."""
    return SoftplusParameter((TensorParameter(shape),))


def bounded_stddev(shape: Shape) -> ParameterNode:
    """A standard deviation between 1e-5 and 1: the scaled sigmoid of a normal leaf."""
    return ScaledSigmoidParameter((TensorParameter(shape),), vmin=1e-5, vmax=1.0)


@dataclass(frozen=True)
class InputSpec(ABC):
    """Base of all input specs: an input layer of K units over a variable, with new or given parameters."""

    is_discrete: ClassVar[bool] = True

    def __call__(self, variable: int, num_units: int) -> InputLayer:
        """The input layer over a variable, with new parameters."""
        return self.layer(variable, num_units, self.parameters(num_units))

    @abstractmethod
    def parameters(self, num_units: int) -> dict[str, ParameterNode]:
        """New parameters of a layer with this many units: name -> parameter."""

    @abstractmethod
    def layer(self, variable: int, num_units: int, parameters: Mapping[str, ParameterNode]) -> InputLayer:
        """The input layer over a variable with these parameters, which several layers may share."""


@dataclass(frozen=True)
class CategoricalInput(InputSpec):
    """A categorical distribution per unit, by `probs` (softmax of a normal leaf if neither is given) or by `logits`."""

    num_categories: int = 256
    probs: ParameterFactory | None = None
    logits: ParameterFactory | None = None

    def parameters(self, num_units: int) -> dict[str, ParameterNode]:
        return _probs_or_logits(self.probs, self.logits, Parameterization("softmax"), (num_units, self.num_categories))

    def layer(self, variable: int, num_units: int, parameters: Mapping[str, ParameterNode]) -> InputLayer:
        return CategoricalLayer(
            scope=(variable,), num_output_units=num_units, num_categories=self.num_categories, **parameters
        )


@dataclass(frozen=True)
class BinomialInput(InputSpec):
    """A binomial distribution per unit, by `probs` (sigmoid of a normal leaf if neither is given) or by `logits`."""

    total_count: int = 255
    probs: ParameterFactory | None = None
    logits: ParameterFactory | None = None

    def parameters(self, num_units: int) -> dict[str, ParameterNode]:
        return _probs_or_logits(self.probs, self.logits, Parameterization("sigmoid"), (num_units,))

    def layer(self, variable: int, num_units: int, parameters: Mapping[str, ParameterNode]) -> InputLayer:
        return BinomialLayer(scope=(variable,), num_output_units=num_units, total_count=self.total_count, **parameters)


@dataclass(frozen=True)
class EmbeddingInput(InputSpec):
    """A table of numbers per unit: a normal leaf if no `weight` is given (so not for the lse-sum semiring)."""

    num_states: int = 256
    weight: ParameterFactory = normal_leaf

    def parameters(self, num_units: int) -> dict[str, ParameterNode]:
        return {"weight": self.weight((num_units, self.num_states))}

    def layer(self, variable: int, num_units: int, parameters: Mapping[str, ParameterNode]) -> InputLayer:
        weight = parameters["weight"]
        return EmbeddingLayer(scope=(variable,), num_output_units=num_units, num_states=self.num_states, weight=weight)


@dataclass(frozen=True)
class GaussianInput(InputSpec):
    """A normal density per unit: a normal leaf as mean, and a standard deviation between 1e-5 and 1."""

    is_discrete: ClassVar[bool] = False

    mean: ParameterFactory = normal_leaf
    stddev: ParameterFactory = bounded_stddev

    def parameters(self, num_units: int) -> dict[str, ParameterNode]:
        return {"mean": self.mean((num_units,)), "stddev": self.stddev((num_units,))}

    def layer(self, variable: int, num_units: int, parameters: Mapping[str, ParameterNode]) -> InputLayer:
        return GaussianLayer(scope=(variable,), num_output_units=num_units, **parameters)


@dataclass(frozen=True)
class ExponentialInput(InputSpec):
    """An exponential density per unit, for numbers from 0 on: a softplus of a normal leaf as mean."""

    is_discrete: ClassVar[bool] = False

    mean: ParameterFactory = positive_leaf

    def parameters(self, num_units: int) -> dict[str, ParameterNode]:
        return {"mean": self.mean((num_units,))}

    def layer(self, variable: int, num_units: int, parameters: Mapping[str, ParameterNode]) -> InputLayer:
        return ExponentialLayer(scope=(variable,), num_output_units=num_units, **parameters)


@dataclass(frozen=True)
class LaplaceInput(InputSpec):
    """A Laplace density per unit: a normal leaf as location, and the softplus of one as scale."""

    is_discrete: ClassVar[bool] = False

    location: ParameterFactory = normal_leaf
    scale: ParameterFactory = positive_leaf

    def parameters(self, num_units: int) -> dict[str, ParameterNode]:
        return {"location": self.location((num_units,)), "scale": self.scale((num_units,))}

    def layer(self, variable: int, num_units: int, parameters: Mapping[str, ParameterNode]) -> InputLayer:
        return LaplaceLayer(scope=(variable,), num_output_units=num_units, **parameters)


@dataclass(frozen=True)
class HistogramInput(InputSpec):
    """A histogram per unit between these edges: the softmax of a normal leaf."""

    is_discrete: ClassVar[bool] = False

    edges: tuple[float, ...] = (0.0, 1.0)
    probs: ParameterFactory = field(default_factory=lambda: Parameterization("softmax"))

    def parameters(self, num_units: int) -> dict[str, ParameterNode]:
        return {"probs": self.probs((num_units, len(self.edges) - 1))}

    def layer(self, variable: int, num_units: int, parameters: Mapping[str, ParameterNode]) -> InputLayer:
        return HistogramLayer(scope=(variable,), num_output_units=num_units, edges=self.edges, **parameters)


def get_input_spec(name: str, *, num_levels: int, params: Mapping[str, ParameterFactory] | None = None) -> InputSpec:
    """The input spec of this name for values 0 .. num_levels-1, its parameters made by `params` (name -> factory).

    Names: categorical, binomial (total_count is num_levels - 1), embedding, gaussian (num_levels is not used).
    Raises: UnknownNameError for an unknown name, or for a parameter that the input layer does not have.

    >>> get_input_spec("binomial", num_levels=17).parameters(4)
    {'probs': SigmoidParameter(TensorParameter(4,))}
    """
    names, make = look_up("input layer", name, _NAMED)
    for given in params or {}:
        check_name(f"parameter of the input layer {name}", given, names)
    return make(num_levels, params or {})


_NAMED: Mapping[str, tuple[tuple[str, ...], Callable[[int, Mapping[str, ParameterFactory]], InputSpec]]] = {
    "categorical": (("probs", "logits"), lambda levels, params: CategoricalInput(levels, **params)),
    "binomial": (("probs", "logits"), lambda levels, params: BinomialInput(levels - 1, **params)),
    "embedding": (("weight",), lambda levels, params: EmbeddingInput(levels, **params)),
    "gaussian": (("mean", "stddev"), lambda _, params: GaussianInput(**params)),
}


def _probs_or_logits(
    probs: ParameterFactory | None, logits: ParameterFactory | None, default: ParameterFactory, shape: Shape
) -> dict[str, ParameterNode]:
    if probs is not None and logits is not None:
        raise ShapeError("an input has either probs or logits, not both; omit one")
    if logits is not None:
        return {"logits": logits(shape)}
    return {"probs": (probs or default)(shape)}
