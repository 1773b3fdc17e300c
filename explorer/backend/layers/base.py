"""The base classes of compiled layers: frozen data and a pure `forward`.

Activations have the shapes in (F, H, B, I), out (F, B, O). Parameters are graphs, which the circuit evaluates;
`forward` receives their values.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from explorer.backend.declarations import register_compiled_class
from explorer.backend.parameters import FoldSettings, TorchParameter
from explorer.backend.semiring import Semiring
from explorer.errors import DataTypeError, ShapeError
from explorer.graph import FOLDS, SCOPE, LayerKind, config_of, field_names, nested_of, parameters_of
from explorer.symbolic import Layer, Scope, Shape


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
        """What must be equal for two layers to be folded together, as (name, value) pairs."""

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
    """A layer whose inputs are layers: in (F, H, B, I)."""

    num_input_units: int
    arity: int

    @property
    def fold_settings(self) -> FoldSettings:
        return (*config_of(self).items(), *parameter_settings(self), *nested_settings(self))


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchInputLayer(TorchLayer, ABC):
    """A layer whose inputs are variables: x (F, B, V); `scope_idx` has the V variables of each fold."""

    kind = "input"

    scope_idx: tuple[Scope, ...] = field(metadata=SCOPE)

    @property
    def num_variables(self) -> int:
        """V, the number of variables that each fold reads."""
        return len(self.scope_idx[0])

    @property
    def fold_settings(self) -> FoldSettings:
        own = (*config_of(self).items(), *parameter_settings(self))
        return (("num_variables", self.num_variables), *own, *nested_settings(self))

    def check_input(self, x: Tensor) -> None:
        """Hook: checks of the values (F, B, V) of the variables. Raises: ValueRangeError, DataTypeError."""

    def integral(self, semiring: Semiring, parameters: Mapping[str, Tensor]) -> Tensor:
        """The sum or integral (F, 1, O) of each unit over all values of its variables.

        Raises: DataTypeError if the class does not define it.
        """
        raise DataTypeError(f"{type(self).__name__} has no known integral over its variables")


def can_inspect(x: Tensor) -> bool:
    """Whether Python can read the values of a tensor: not under torch.compile, torch.export or vmap, nor on meta."""
    if torch.compiler.is_compiling():
        return False
    try:
        return not bool(x[..., :0].any())
    except RuntimeError:
        return False


def parameter_settings(layer: TorchLayer) -> FoldSettings:
    """The parameters of a layer, their shapes, and which of them are complex."""
    shapes: list[tuple[str, object]] = []
    types: list[tuple[str, object]] = []
    for name, parameter in parameters_of(layer).items():
        shapes.append((f"{name}.shape", parameter.shape))
        if parameter.is_complex:
            types.append((f"{name}.is_complex", True))
    return (*shapes, *types)


def nested_settings(layer: TorchLayer) -> FoldSettings:
    """The fold settings of nested layers."""
    found: list[tuple[str, object]] = []
    for name, inner in nested_of(layer).items():
        found += [(f"{name}.{key}", value) for key, value in (("type", type(inner)), *inner.fold_settings)]
    return tuple(found)
