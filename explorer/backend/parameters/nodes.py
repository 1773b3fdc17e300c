"""The nodes of compiled parameter graphs: tensors, pointers to tensors, and operators.

A node is data; its `forward` is a pure function of its operands. Values have a leading fold axis: (F, *shape).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from types import MappingProxyType
from typing import ClassVar

import torch
from torch import Tensor

from explorer.backend.declarations import Domain, Domains, Link, register_compiled_class
from explorer.graph import FOLDS, config_settings
from explorer.symbolic import ParameterOp, Shape, TensorParameter

FoldSettings = tuple[tuple[str, object], ...]
InitializerFunction = Callable[[Tensor, torch.Generator], Tensor]
LEAVES: Mapping[str, str] = MappingProxyType({"role": "leaves"})


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchParameterNode(ABC):
    """A node of a compiled parameter graph; `shape` does not include the fold axis."""

    shape: Shape
    num_folds: int = field(default=1, metadata=FOLDS)

    @property
    @abstractmethod
    def fold_settings(self) -> FoldSettings:
        """The settings that must be equal for two nodes to be folded together, as (name, value) pairs."""

    @property
    @abstractmethod
    def flops(self) -> int:
        """Floating-point operations of one fold."""

    @abstractmethod
    def is_complex(self, inputs: Sequence[bool]) -> bool:
        """Whether the value is complex, given for each operand whether it is."""

    def rows_sum_to_one(self, inputs: Sequence[bool]) -> bool:
        """Whether the entries along the last axis sum to one for all values of the leaves, given it of each operand."""
        return False


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchLeafParameter(TorchParameterNode, ABC):
    """A node that reads leaves of the symbolic circuit, one per fold, each with its initializer."""

    leaves: tuple[TensorParameter, ...] = field(metadata=LEAVES)
    initializers: tuple[InitializerFunction, ...] = field(metadata=LEAVES)
    dtype: torch.dtype
    learnable: bool

    @property
    def fold_settings(self) -> FoldSettings:
        return (("shape", self.shape), ("dtype", self.dtype), ("learnable", self.learnable))

    @property
    def flops(self) -> int:
        return 0

    def is_complex(self, inputs: Sequence[bool]) -> bool:
        return self.dtype.is_complex


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchTensorParameter(TorchLeafParameter):
    """The owner of its leaves: their values are stored in one tensor (F, *shape) of the circuit."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchPointerParameter(TorchLeafParameter):
    """Reads leaves that another node owns, in the same circuit or in one that was compiled before.

    A pointer names leaves instead of tensors, and the `ParameterStore` has the slice of each leaf, so a pointer stays
    valid while its target is folded.
    """


OF_FORWARD = frozenset(("keeps_digits", "may_underflow", "operand_domains", "link_domain", "link", "rows_sum_to_one"))
"""Declarations about the numbers of an operator: a subclass that overrides `forward` does not inherit them."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchParameterOp(TorchParameterNode, ABC):
    """An operator; `in_shapes` are the shapes of its operands, without the fold axis.

    `compiles` names the symbolic operator that the class compiles; operators that only rules create omit it.
    """

    compiles: ClassVar[type[ParameterOp] | None] = None
    keeps_digits: ClassVar[bool] = False
    """Whether value and gradient have as many correct digits as the operands, whatever these are: nothing cancels, and
    no result on the way overflows or underflows unless the value does."""

    may_underflow: ClassVar[bool] = True
    """Whether a result may be less exact than in double precision because it is small: not a sum, a logarithm, or an
    entry that is chosen or reordered."""

    operand_domains: ClassVar[Domains] = MappingProxyType({})
    """For expectation-maximization: the domain of the operands for each domain that the result may have. The result, or
    its exponential, is then a polynomial in the operands, or in their exponentials, without negative coefficients."""

    link_domain: ClassVar[Domain] = Domain.LINEAR
    """The domain of `link`: LOG if the link computes the exponential of the result."""

    in_shapes: tuple[Shape, ...]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "forward" in vars(cls):  # what a class says of its numbers is not true of another `forward`
            for name in OF_FORWARD - vars(cls).keys():
                setattr(cls, name, getattr(TorchParameterOp, name))
        register_compiled_class(cls, ParameterOp)

    @property
    def fold_settings(self) -> FoldSettings:
        return config_settings(self)

    @property
    def flops(self) -> int:
        return max(prod(self.shape), *(prod(shape) for shape in self.in_shapes), self._contraction_flops())

    def link(self) -> Link | None:
        """The link that this operator is to a leaf, so that expectation-maximization learns the leaf; None if none."""
        return None

    def is_complex(self, inputs: Sequence[bool]) -> bool:
        """Whether an operand is complex; to be overridden by an operator that maps complex numbers to real ones."""
        return any(inputs)

    def _contraction_flops(self) -> int:
        """The cost of a contraction, which is more than one operation per entry."""
        return 0

    @abstractmethod
    def forward(self, *operands: Tensor) -> Tensor:
        """The value (F, *shape) from the operands (F, *in_shape)."""
