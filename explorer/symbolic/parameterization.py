"""Parameterization: the initializer and the activation with which templates make parameters of any shape."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from explorer.errors import check_name
from explorer.symbolic.checks import check_fields
from explorer.symbolic.initializers import Initializer, NormalInitializer
from explorer.symbolic.parameter_operators import ClampParameter, SigmoidParameter, SoftmaxParameter, SoftplusParameter
from explorer.symbolic.parameters import DataType, ParameterNode, Shape, TensorParameter

ACTIVATIONS: Mapping[str, Callable[[ParameterNode], ParameterNode]] = MappingProxyType(
    {
        "none": lambda x: x,
        "softmax": lambda x: SoftmaxParameter((x,), axis=-1),
        "sigmoid": lambda x: SigmoidParameter((x,)),
        "softplus": lambda x: SoftplusParameter((x,)),
        "positive-clamp": lambda x: ClampParameter((x,), vmin=1e-18),
    }
)


@dataclass(frozen=True)
class Parameterization:
    """Makes a parameter of any shape: a new leaf with this initializer, passed to this activation.

    Activations: none, softmax (last axis), sigmoid, softplus, positive-clamp (at 1e-18).
    Raises: UnknownNameError for an unknown activation; DataTypeError.

    >>> Parameterization("softmax")((2, 3))
    SoftmaxParameter(TensorParameter(2, 3), axis=1)
    """

    activation: str = "softmax"
    initializer: Initializer = field(default_factory=NormalInitializer)
    dtype: DataType = DataType.REAL

    def __post_init__(self) -> None:
        check_fields(self)
        check_name("activation", self.activation, ACTIVATIONS)

    def __call__(self, shape: Shape) -> ParameterNode:
        return ACTIVATIONS[self.activation](TensorParameter(shape, self.dtype, initializer=self.initializer))
