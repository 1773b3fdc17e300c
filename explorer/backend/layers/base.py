"""The base classes of compiled layers: frozen data and a pure `forward`.

Activations have the shapes in (F, H, B, I), out (F, B, O). Parameters are graphs, which the circuit evaluates;
`forward` receives their values.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from numbers import Real
from types import MappingProxyType
from typing import ClassVar

import torch
from torch import Tensor

from explorer.backend.declarations import register_compiled_class
from explorer.backend.parameters import FoldSettings, Role, TorchParameter
from explorer.backend.semiring import Semiring
from explorer.errors import DataTypeError, ShapeError, ValueRangeError, check_type
from explorer.graph import FOLDS, SCOPE, LayerKind, config_settings, field_names, nested_of
from explorer.symbolic import InnerLayer, Layer, Scope, Shape
from explorer.symbolic.checks import is_integer

LeafFunction = Callable[[Tensor], Tensor]
"""Maps the values of a variable to numbers, elementwise, in double precision."""


@dataclass(frozen=True)
class Polynomial:
    """x -> sum_d coefficients[d] x^d: the functions with a known expectation for real variables too.

    Raises: ShapeError without a coefficient; DataTypeError unless they are real numbers.
    """

    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        check_type("the coefficients of a polynomial", self.coefficients, Sequence)
        if not all(isinstance(one, Real) for one in self.coefficients):
            raise DataTypeError(f"the coefficients of a polynomial must be real numbers; found {self.coefficients!r}")
        if not self.coefficients:
            raise ShapeError("a polynomial has at least one coefficient, the constant one")
        object.__setattr__(self, "coefficients", tuple(map(float, self.coefficients)))

    def __call__(self, x: Tensor) -> Tensor:
        y = torch.zeros_like(x)
        for coefficient in reversed(self.coefficients):
            y = y * x + coefficient
        return y


def apply(function: LeafFunction, x: Tensor) -> Tensor:
    """The values of a function. Raises: DataTypeError, ShapeError unless it is a number for each entry of x."""
    if not callable(function):
        raise DataTypeError(f"expected a function of a tensor, such as a Polynomial; found {function!r}")
    y = function(x)
    if not isinstance(y, Tensor):
        raise DataTypeError(f"{function!r} must map a tensor to a tensor; it returned {type(y).__name__}")
    if y.shape != x.shape:
        raise ShapeError(f"{function!r} must map its argument elementwise: {tuple(x.shape)} became {tuple(y.shape)}")
    return y


def power(order: int) -> Polynomial:
    """X -> x^order. Raises: DataTypeError, ValueRangeError unless the order is an integer of at least 0."""
    if not is_integer(order):
        raise DataTypeError(f"the order of a power must be an integer; found {order!r}")
    if order < 0:
        raise ValueRangeError(f"the order of a power must be at least 0; found {order}")
    return Polynomial((0.0,) * order + (1.0,))


WEIGHT: Mapping[str, Role] = MappingProxyType({"weight": Role.WEIGHTS})
"""The roles of a layer that has a weight."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchLayer(ABC):
    """Base of all compiled layers; `num_folds` layers of one type in one tensor.

    `compiles` names the symbolic layer that the class compiles, which also determines its `kind`; a class that only
    optimization rules create declares its kind instead.
    """

    compiles: ClassVar[type[Layer] | None] = None
    kind: ClassVar[LayerKind] = "operator"
    may_return_view: ClassVar[bool] = True
    """Whether `forward` may return a view of its inputs or parameters, which the circuit then copies for its caller."""

    roles: ClassVar[Mapping[str, Role]] = MappingProxyType({})
    """The roles of the parameters by name, so that expectation-maximization learns them. Weights are factors: each
    output unit is a sum of terms, and each term a product of inputs and entries of weights."""

    num_output_units: int
    num_folds: int = field(default=1, metadata=FOLDS)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        register_compiled_class(cls, Layer)
        if cls.compiles is not None and "compiles" in cls.__dict__ and "kind" not in cls.__dict__:
            cls.kind = cls.compiles.kind

    def __post_init__(self) -> None:
        wanted = self.parameter_shapes()
        for name in field_names(self.__class__, "parameter"):
            parameter: TorchParameter | None = getattr(self, name)
            if parameter is None:
                continue
            shape = wanted.get(name, parameter.shape)
            if parameter.shape != shape or parameter.num_folds != self.num_folds:
                raise ShapeError(
                    f"{type(self).__name__}: {name} must have shape {shape} in {self.num_folds} folds; "
                    f"found {parameter.shape} in {parameter.num_folds}"
                )
        self._check()

    def _check(self) -> None:  # noqa: B027
        """Hook: further checks of a class at construction. Raises: ShapeError."""

    @property
    @abstractmethod
    def fold_settings(self) -> FoldSettings:
        """The settings that must be equal for two layers to be folded together, as (name, value) pairs."""

    def is_complex(self, inputs: Sequence[bool]) -> bool:
        """Whether activations are complex under sum-product, given for each input whether it is complex."""
        return True in inputs or self._has_complex_parameters

    @property
    def _has_complex_parameters(self) -> bool:
        for name in field_names(self.__class__, "parameter"):
            parameter = getattr(self, name)
            if parameter is not None and parameter.is_complex:
                return True
        nested = field_names(self.__class__, "nested")
        return bool(nested) and any(getattr(self, name).is_complex(()) for name in nested)

    @property
    @abstractmethod
    def flops(self) -> int:
        """Multiplications and additions of one fold for one example."""

    @property
    def transcendentals(self) -> int:
        """Exponentials and logarithms of one fold for one example in a semiring of logarithms."""
        return 0

    def parameter_shapes(self) -> Mapping[str, Shape]:
        """The required shape of each parameter, without the fold axis; checked at construction."""
        return {}

    def prepare(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """The part of `forward` that depends on parameters only, computed once in a frozen circuit.

        Maps the values (F, *shape) of the parameters by name to the tensors that `forward` receives.
        """
        return parameters

    @abstractmethod
    def forward(self, semiring: Semiring, x: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        """The activations (F, B, O) from the inputs and the results of `prepare`."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchInnerLayer(TorchLayer, ABC):
    """A layer that reads layers: in (F, H, B, I)."""

    multiplies: ClassVar[bool | None] = None
    """The property that queries rely on, see `InnerLayer.multiplies`; by default the symbolic layer's."""

    num_input_units: int
    arity: int

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        compiles = cls.__dict__.get("compiles")
        if "multiplies" not in cls.__dict__ and compiles is not None and issubclass(compiles, InnerLayer):
            cls.multiplies = compiles.multiplies

    @property
    def fold_settings(self) -> FoldSettings:
        return (*config_settings(self), *parameter_settings(self), *nested_settings(self))

    @property
    def num_terms(self) -> int:
        """T, the number of terms that each unit is a sum of."""
        return self.arity * self.num_input_units

    def log_terms(self, x: Tensor, at: "ReachedUnits", parameters: Mapping[str, Tensor]) -> Tensor:
        """The logarithms (P, T) of the terms that each of P units is a sum of, for queries that go top-down.

        Shapes: x (F, H, B, I), logarithms of non-negative values.
        Raises: DataTypeError if the class does not define it.
        """
        raise DataTypeError(missing_method(self, "log_terms", "the terms of its units"))

    def term_inputs(self, at: "ReachedUnits", terms: Tensor) -> Tensor:
        """The unit of each input that a term (P,) of each of P units reads, (P, H); -1 for an input that it does not.

        Raises: DataTypeError if the class does not define it.
        """
        raise DataTypeError(missing_method(self, "term_inputs", "the inputs of its terms"))


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchInputLayer(TorchLayer, ABC):
    """A layer that reads variables: x (F, B, V); `scope_idx` has the V variables of each fold."""

    kind = "input"
    placeholder: ClassVar[float] = 0
    """A legal value, which queries put in the place of variables that are not observed."""

    scope_idx: tuple[Scope, ...] = field(metadata=SCOPE)

    @property
    def num_variables(self) -> int:
        """V, the number of variables that each fold reads."""
        return len(self.scope_idx[0])

    @property
    def fold_settings(self) -> FoldSettings:
        own = (*config_settings(self), *parameter_settings(self))
        return (("num_variables", self.num_variables), *own, *nested_settings(self))

    def check_input(self, x: Tensor) -> None:
        """Hook: checks of the values (F, B, V) of the variables. Raises: ValueRangeError, DataTypeError."""

    def integral(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> Tensor:
        """The sum or integral (F, 1, O) of each unit over all values of its variables.

        Raises: DataTypeError if the class does not define it.
        """
        raise DataTypeError(f"{type(self).__name__} has no known integral over its variables")

    def marginal(self, semiring: Semiring, x: Tensor, observed: Tensor, parameters: Mapping[str, Tensor]) -> Tensor:
        """The value (F, B, O) of each unit at its observed variables, summed or integrated over the other ones.

        Shapes: x, observed (F, B, V); x is `placeholder` where not observed.
        Raises: DataTypeError if a class of several variables does not define it for a row that observes some of them.
        """
        given = observed.all(2)
        if bool((observed.any(2) & ~given).any()):
            raise DataTypeError(missing_method(self, "marginal", "rows that observe some of its variables"))
        if bool(given.all()):
            return self.forward(semiring, x, parameters)
        summed = self.integral(semiring, parameters)
        if not bool(given.any()):
            return summed.expand(-1, x.shape[1], -1)
        return torch.where(given.unsqueeze(2), self.forward(semiring, x, parameters), summed)

    def mode(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """The logarithm (F, O) of the largest value of each unit, and the values (F, O, V) of the variables there.

        The logarithm of a negative value is NaN. Raises: DataTypeError if the class does not define it.
        """
        raise DataTypeError(missing_method(self, "mode", "its most probable values"))

    def largest_given(
        self, semiring: Semiring, x: Tensor, observed: Tensor, parameters: Mapping[str, Tensor]
    ) -> Tensor:
        """The logarithm (F, B, O) of the largest value of each unit given the observed ones of several variables.

        Shapes: x, observed (F, B, V). Raises: DataTypeError if the class does not define it.
        """
        raise DataTypeError(missing_method(self, "largest_given", "its largest values given some of its variables"))

    def mode_given(
        self, semiring: Semiring, parameters: Mapping[str, Tensor], at: "ReachedUnits", x: Tensor, observed: Tensor
    ) -> Tensor:
        """The most probable values (P, V) for each of P units, given the observed ones of x (P, V).

        Raises: DataTypeError if the class does not define it.
        """
        raise DataTypeError(
            missing_method(self, "mode_given", "completions of rows that observe some of its variables")
        )

    def sample(
        self, semiring: Semiring, parameters: Mapping[str, Tensor], at: "ReachedUnits", generator: torch.Generator
    ) -> Tensor:
        """Values (P, V) of the variables, drawn from each of P units as a distribution.

        Raises: ValueRangeError if a unit has negative values; DataTypeError if the class does not define it.
        """
        raise DataTypeError(missing_method(self, "sample", "samples of its variables"))

    def sample_given(
        self,
        semiring: Semiring,
        parameters: Mapping[str, Tensor],
        at: "ReachedUnits",
        generator: torch.Generator,
        x: Tensor,
        observed: Tensor,
    ) -> Tensor:
        """Values (P, V) drawn as `sample` does, given the observed ones of x (P, V), which they have.

        Raises: DataTypeError if the class does not define it.
        """
        raise DataTypeError(
            missing_method(self, "sample_given", "completions of rows that observe some of its variables")
        )

    def expectation(self, semiring: Semiring, parameters: Mapping[str, Tensor], function: LeafFunction) -> Tensor:
        """The complex logarithm (F, 1, O) of the integral of function(v) y[f,o](v) over all values v of the variable.

        Raises: DataTypeError if the class does not define it, or not for such a function.
        """
        raise DataTypeError(missing_method(self, "expectation", "expectations of functions of its variable"))

    def expectation_given(
        self,
        parameters: Mapping[str, Tensor],
        functions: Mapping[int, LeafFunction],
        fold: int,
        x: Tensor,
        observed: Tensor,
    ) -> Tensor:
        """The expectation (B, O) of a product of functions under the normalized units of a fold of several variables.

        It is that given the observed values of x (B, V); a function belongs to a position in the scope.
        Raises: DataTypeError if the class does not define it, or not for such functions.
        """
        raise DataTypeError(missing_method(self, "expectation_given", "expectations of functions of several variables"))

    def cross_entropy(
        self, semiring: Semiring, parameters: Mapping[str, Tensor], other: Mapping[str, Tensor]
    ) -> Tensor:
        """-E[log q] (F, O): q are the units with the parameters `other`, the expectation is under the normalized units.

        Raises: DataTypeError if the class does not define it.
        """
        raise DataTypeError(missing_method(self, "cross_entropy", "its entropy"))


@dataclass(frozen=True, slots=True, eq=False)
class ReachedUnits:
    """P units of one layer: the fold, row of activations, and unit of each, all (P,)."""

    folds: Tensor
    rows: Tensor
    units: Tensor


def missing_method(layer: TorchLayer, method: str, what: str) -> str:
    """The message that a class does not say something a query needs, and which method to write."""
    name = type(layer).__name__
    return f"{name} does not define {what}, which this query needs; write the method {name}.{method}"


def parameter_settings(layer: TorchLayer) -> FoldSettings:
    """The parameters of a layer, their shapes, and which of them are complex."""
    shapes: list[tuple[str, object]] = []
    types: list[tuple[str, object]] = []
    for name, shape_name, is_complex_name in _parameter_setting_names(layer.__class__):
        parameter: TorchParameter | None = getattr(layer, name)
        if parameter is not None:
            shapes.append((shape_name, parameter.shape))
            if parameter.is_complex:
                types.append((is_complex_name, True))
    return (*shapes, *types)


@cache
def _parameter_setting_names(kind: type[TorchLayer]) -> tuple[tuple[str, str, str], ...]:
    """For each parameter of a class: its name, and the names of its settings."""
    return tuple((name, f"{name}.shape", f"{name}.is_complex") for name in field_names(kind, "parameter"))


def nested_settings(layer: TorchLayer) -> FoldSettings:
    """The fold settings of nested layers."""
    found: list[tuple[str, object]] = []
    for name, inner in nested_of(layer).items():
        found += [(f"{name}.{key}", value) for key, value in (("type", type(inner)), *inner.fold_settings)]
    return tuple(found)
