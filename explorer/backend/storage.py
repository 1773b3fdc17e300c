"""The storage of parameter leaves: tensors (F, *shape), and the slice that holds each leaf.

The initial value of a leaf depends only on the seed and the leaf's name, so every mode of compilation starts from the
same values. A leaf that two circuits share is known by its own name or, if it has none, by its name in the circuit that
was compiled first.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import torch
from torch import Tensor, nn

from explorer.backend.parameters import (
    InitializerFunction,
    TorchLeafParameter,
    TorchParameterNode,
    TorchTensorParameter,
)
from explorer.errors import RuleError
from explorer.symbolic import TensorParameter


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
