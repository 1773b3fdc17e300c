"""The nodes of compiled parameter graphs: tensors, pointers to tensors, and operators; the storage of their leaves.

A node is data; its `forward` is a pure function of its operands. Values have a leading fold axis: (F, *shape).

The initial value of a leaf depends only on the seed and the leaf's name, so every mode of compilation starts from the
same values. A leaf that two circuits share is known by its own name or, if it has none, by its name in the circuit that
was compiled first.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from types import MappingProxyType
from typing import ClassVar

import torch
from torch import Tensor, nn

from explorer.backend.declarations import Domain, Domains, Link, register_compiled_class
from explorer.errors import RuleError
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


@dataclass(frozen=True, eq=False)
class ParameterSlot:
    """Slice `slice_idx` of `tensor` (F, *shape) holds the leaf."""

    tensor: nn.Parameter
    slice_idx: int


@dataclass(eq=False)
class ParameterStore:
    """Leaf -> slot, for all circuits of one compiler; it grows with every compiled circuit."""

    slots: dict[TensorParameter, ParameterSlot] = field(default_factory=dict)


def allocate_parameters(
    store: ParameterStore,
    parameter_nodes: Iterable[TorchParameterNode],
    names: Mapping[TensorParameter, str],
    seed: int,
    values: Mapping[TensorParameter, Tensor] = MappingProxyType({}),
) -> tuple[nn.Parameter, ...]:
    """Allocate a slice of a new tensor for every leaf that has no slot, and return all tensors that the nodes read.

    Owners come before pointers, so that leaves folded together share one tensor. Leaves in `values` start with these
    values, type and device included, instead of their initial ones. Raises: RuleError for a leaf without a name.
    """
    nodes = [n for n in parameter_nodes if isinstance(n, TorchLeafParameter)]
    for owners in (True, False):
        for node in nodes:
            if isinstance(node, TorchTensorParameter) is owners:
                unallocated = tuple(dict.fromkeys([leaf for leaf in node.leaves if leaf not in store.slots]))
                unknown = next((leaf for leaf in unallocated if leaf not in names), None)
                if unknown is not None:
                    raise RuleError(
                        f"the leaf {unknown!r} is not part of the symbolic circuit; a rule cannot add leaves"
                    )
                if unallocated:
                    _allocate(store, node, unallocated, names, seed, values)
    tensors: dict[int, nn.Parameter] = {}
    for node in nodes:
        for leaf in node.leaves:
            tensor = store.slots[leaf].tensor
            tensors.setdefault(id(tensor), tensor)
    return tuple(tensors.values())


def _allocate(
    store: ParameterStore,
    node: TorchLeafParameter,
    leaves: Sequence[TensorParameter],
    names: Mapping[TensorParameter, str],
    seed: int,
    values: Mapping[TensorParameter, Tensor],
) -> None:
    initializer_of = dict(zip(node.leaves, node.initializers, strict=True))
    drawn = [leaf for leaf in leaves if leaf not in values]
    data = torch.empty((len(drawn), *node.shape), dtype=node.dtype)
    foldwise_initializer_(data, [(initializer_of[leaf], leaf_seed(seed, names[leaf])) for leaf in drawn])
    if len(drawn) < len(leaves):
        row_of = dict(zip(drawn, data, strict=True))
        data = torch.stack([values[leaf] if leaf in values else row_of[leaf] for leaf in leaves])
    tensor = nn.Parameter(data, requires_grad=node.learnable)
    for slice_idx, leaf in enumerate(leaves):
        store.slots[leaf] = ParameterSlot(tensor, slice_idx)


@torch.no_grad()
def foldwise_initializer_(tensor: Tensor, initializers: Sequence[tuple[InitializerFunction, int]]) -> Tensor:
    """Fill slice f of a tensor (F, *shape) with the f-th initializer and its seed, in place."""
    generator = torch.Generator()
    for values, (initializer, seed) in zip(tensor.unbind(), initializers, strict=True):
        initializer(values, generator.manual_seed(seed))
    return tensor


def leaf_seed(seed: int, name: str) -> int:
    """The seed of a leaf, from the compiler's seed and the leaf's name, whatever the order of compilation."""
    return int.from_bytes(hashlib.blake2b(f"{seed}/{name}".encode(), digest_size=7).digest(), "little")
