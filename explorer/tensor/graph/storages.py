"""Operators that name a place in the storage of their input, beyond its own numbers, and keeping these places.

`as_strided` may read numbers that its input, a view, does not have: those of the tensor that the input is a part of.
"""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch

from explorer.errors import InconsistencyError
from explorer.tensor.graph.features import Feature
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.ir.aliasing import shared_inputs
from explorer.tensor.ir.ops import Op
from explorer.tensor.ir.result_types import on_fakes
from explorer.tensor.ir.schemas import KERNEL_ERRORS, flat_results, overloads
from explorer.tensor.ir.types import TensorType
from explorer.tensor.ir.variables import Apply, Variable

OF_STORAGES = overloads("as_strided as_strided_copy as_strided_scatter")
"""Operators with an argument `storage_offset`."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an input is: the tensor whose memory it views, the views in between, and where in the memory it begins."""

    root: Variable
    views: tuple[Op, ...]
    shape: tuple[int, ...]
    offset: int
    strides: tuple[int, ...]

    def is_kept(self, new: "Place", in_views: bool) -> bool:
        """Return whether all numbers around the input are still there: the same ones, or views of an equal tensor.

        `in_views` is whether a view was replaced, which has equal numbers, but maybe others around it.
        """
        same = (self.shape, self.offset, self.strides) == (new.shape, new.offset, new.strides)
        return same and (self.root is new.root or (self.views == new.views and not in_views))


def place_of(variable: Variable) -> Place | None:
    """Return the place of a variable; None if one of the views cannot be followed."""
    chain: list[Variable] = []
    root = variable
    while root.owner is not None and (shared := shared_inputs(root.owner)[root.index]):
        chain.append(root)
        root = root.owner.inputs[shared[0]]
    if not isinstance(root.type, TensorType):
        return None
    views: list[Op] = []
    with on_fakes():
        last, current = root, _empty(root)
        for view in reversed(chain):
            if view.owner is None:
                break
            given = [current if v is last else _empty(v) for v in view.owner.inputs]
            try:
                last, current = view, flat_results(view.owner.op.run(given))[view.index]
            except KERNEL_ERRORS:
                return None
            views.append(view.owner.op)
        return Place(root, tuple(views), root.type.shape, int(current.storage_offset()), tuple(current.stride()))


def _empty(variable: Variable) -> torch.Tensor:
    return torch.empty(variable.tensor_type.shape, dtype=variable.tensor_type.dtype)


class KeepStorages(Feature):
    """Refuses to change the memory in which operators with a place in a storage find their numbers."""

    is_single = True

    def __init__(self) -> None:
        self._places: WeakKeyDictionary[Apply, list[Place | None]] = WeakKeyDictionary()
        """All places that were accepted, also of removed operators, which may come back."""
        self._suspects: dict[Apply, bool] = {}
        """Operators to check, and whether a view above them was replaced."""

    def on_attach(self, graph: FunctionGraph) -> None:
        for node in graph.nodes:
            self.on_import(graph, node, "attached")

    def on_import(self, graph: FunctionGraph, node: Apply, reason: object) -> None:
        if node.op.target not in OF_STORAGES:
            return
        if node in self._places:
            self._suspects.setdefault(node, False)
        else:
            self._places[node] = [place_of(node.inputs[0])]

    def on_prune(self, graph: FunctionGraph, node: Apply, reason: object) -> None:
        self._suspects.pop(node, None)

    def on_change_input(
        self, graph: FunctionGraph, node: Apply | None, index: int, old: Variable, new: Variable, reason: object
    ) -> None:
        if not self._places:
            return
        in_views = old.owner is not None and bool(shared_inputs(old.owner)[old.index])
        waiting = [node]
        while waiting:
            user = waiting.pop()
            if user is None:
                continue
            if user in self._places:
                self._suspects[user] = self._suspects.get(user, False) or in_views
            views = [v for v, shared in zip(user.outputs, shared_inputs(user), strict=True) if shared]
            waiting.extend(dict.fromkeys(client for view in views for client, _ in view.clients))

    def on_validate(self, graph: FunctionGraph) -> None:
        suspects, self._suspects = self._suspects, {}
        for node, in_views in suspects.items():
            accepted, new = self._places[node], place_of(node.inputs[0])
            if new in accepted and new is not None:
                continue
            if new is None or not any(old is not None and old.is_kept(new, in_views) for old in accepted):
                raise InconsistencyError(f"%{node.id} {node.op.name} names a place in the storage of its input")
            accepted.append(new)
