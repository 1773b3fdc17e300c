"""Strides of the tensors of a graph, and the operators and outputs that depend on them.

A replacement has the values of the variable it replaces, but maybe other strides. Its users are run on fake tensors
with the strides before and after, until these agree. Inputs are assumed to be dense in the order of their axes, and,
where values are concerned, in the reverse order too.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from weakref import WeakKeyDictionary

import torch

from explorer.errors import InconsistencyError
from explorer.tensor.graph.features import Feature
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.graph.interface import same_strides
from explorer.tensor.ir.ops import Op
from explorer.tensor.ir.result_types import on_fakes
from explorer.tensor.ir.schemas import KERNEL_ERRORS, aten, flat_results
from explorer.tensor.ir.types import TensorType, ValueType
from explorer.tensor.ir.variables import Apply, Constant, Variable

Strides = tuple[int, ...]

STRIDE_SENSITIVE = frozenset(
    (
        *(aten.as_strided, aten.as_strided_copy, aten.as_strided_scatter, aten._reshape_alias, aten.view_as_complex),
        *(aten.native_group_norm, aten._cdist_forward, aten._pdist_forward),
    )
)
"""Operators of PyTorch that return other values, or refuse a tensor, for other strides."""

OWN = ("aten", "explorer", "prims", "quantized_decomposed")
"""Namespaces of operators that do not depend on strides, with the exceptions above."""

MAX_ABOVE = 64
"""Maximum number of applications through which strides are followed without a graph; beyond, they count as dense."""

MAX_BELOW = 256
"""Maximum number of applications through which users of a result are followed; beyond, one counts as sensitive."""


def is_stride_sensitive(op: Op) -> bool:
    """Return whether the values of an operator, or whether it runs at all, depend on the strides of its tensors."""
    other_numbers = op.target is aten.view.dtype
    return other_numbers or op.packet in STRIDE_SENSITIVE or op.target.namespace not in OWN


def first_stride_sensitive_user(copy: Variable, source: Variable, is_sensitive: Callable[[Apply], bool]) -> str | None:
    """Find the first user of a copy, or output, that would notice the strides of its source; or None.

    `is_sensitive` tells whether an operator that accepts any strides nevertheless depends on them.
    """
    for reverse in (False, True):
        found = _Strides(reverse).first_user(copy, source, is_sensitive, outputs=not reverse)
        if found is not None:
            return found
    return None


class _Strides:
    """The strides of variables, if inputs are dense in the order of their axes, or in the reverse order.

    They are kept for applications that `is_kept` accepts, until these are removed or computed again.
    """

    def __init__(self, reverse: bool, is_kept: Callable[[Apply], bool] | None = None) -> None:
        self._reverse = reverse
        self._is_kept = is_kept
        self._kept: dict[Apply, tuple[Strides, ...]] = {}

    def of(self, *variables: Variable) -> list[Strides]:
        """Return the strides of some variables."""
        found: dict[Apply, tuple[Strides, ...]] = {}
        for variable in variables:
            self._find(variable.owner, found)
        return [self._strides_of(variable, found) for variable in variables]

    def refresh(self, node: Apply) -> bool:
        """Compute the strides of the results of an application again if they are kept: whether they changed."""
        before = self._kept.pop(node, None)
        return before is not None and self.of(*node.outputs) != list(before)

    def forget(self, node: Apply) -> None:
        """Forget an application."""
        self._kept.pop(node, None)

    def _find(self, owner: Apply | None, found: dict[Apply, tuple[Strides, ...]]) -> None:
        """Find the strides of all results of an application and of those above it."""
        waiting = [] if owner is None else [owner]
        left = MAX_ABOVE
        while waiting:
            node = waiting[-1]
            above = [v.owner for v in node.inputs if v.owner is not None]
            missing = [n for n in above if n not in self._kept and n not in found] if left > 0 else []
            if node not in self._kept and node not in found and missing:
                left -= self._is_kept is None
                waiting.extend(missing)
                continue
            waiting.pop()
            if node not in self._kept and node not in found:
                kept = self._is_kept is not None and self._is_kept(node)
                (self._kept if kept else found)[node] = self._results(node, found)

    def _results(self, node: Apply, found: dict[Apply, tuple[Strides, ...]]) -> tuple[Strides, ...]:
        results = None
        if _are_tensors(node):
            results = _results(node.op, _types(node), tuple(self._strides_of(v, found) for v in node.inputs))
        return results or tuple(_dense(v.type, self._reverse) for v in node.outputs)

    def _strides_of(self, variable: Variable, found: dict[Apply, tuple[Strides, ...]]) -> Strides:
        if isinstance(variable, Constant):
            return tuple(variable.data.stride())
        results = None
        if variable.owner is not None:
            results = self._kept.get(variable.owner) or found.get(variable.owner)
        return _dense(variable.type, self._reverse) if results is None else results[variable.index]

    def first_user(
        self, old: Variable, new: Variable, is_sensitive: Callable[[Apply], bool], *, outputs: bool = False
    ) -> str | None:
        """Return the first user of `old` that is sensitive to the strides of `new`; None if there is none."""
        before, after = self.of(old, new)
        if _same(old, before, after):
            return None
        other = {old: after}
        waiting = [old]
        for _ in range(MAX_BELOW):
            if not waiting:
                return None
            for client in dict.fromkeys(client for client, _ in waiting.pop().clients):
                if client is None:
                    if outputs:
                        return "an output of the graph"
                    continue
                changed = None if is_sensitive(client) else self._new_strides(client, other)
                if changed is None:
                    return client.op.name
                other.update(changed)
                waiting.extend(changed)
        return f"a user beyond the first {MAX_BELOW}"

    def _new_strides(self, client: Apply, other: dict[Variable, Strides]) -> dict[Variable, Strides] | None:
        """Return the changed strides of the results of a user; None if it is sensitive, or refuses its inputs."""
        if is_stride_sensitive(client.op) or not _are_tensors(client):
            return None
        strides = tuple(other.get(v, own) for v, own in zip(client.inputs, self.of(*client.inputs), strict=True))
        results = _results(client.op, _types(client), strides)
        if results is None:
            return None
        used = [output for output in client.outputs if output.clients]
        return {
            v: results[v.index]
            for v, own in zip(used, self.of(*used), strict=True)
            if not _same(v, results[v.index], other.get(v, own))
        }


class KeepStrides(Feature):
    """Tracks the strides in a graph, and refuses to change those on which the values of an operator depend."""

    is_single = True

    def __init__(self) -> None:
        self._strides: tuple[_Strides, ...] = ()
        self._inputs: WeakKeyDictionary[Apply, list[Strides]] = WeakKeyDictionary()
        """The strides of the inputs of a sensitive operator when it entered the graph. They are kept while a removed
        operator may come back: when changes are reverted, its inputs may not have their strides yet."""
        self._suspects: dict[Apply, None] = {}
        """Sensitive operators to check again."""

    def on_attach(self, graph: FunctionGraph) -> None:
        self._strides = tuple(_Strides(reverse, graph.nodes.__contains__) for reverse in (False, True))
        for node in graph.nodes:
            self.on_import(graph, node, "attached")

    def on_import(self, graph: FunctionGraph, node: Apply, reason: object) -> None:
        if not is_stride_sensitive(node.op):
            return
        if node in self._inputs:
            self._suspects[node] = None
        else:
            self._inputs[node] = self._strides_of_inputs(node)

    def on_prune(self, graph: FunctionGraph, node: Apply, reason: object) -> None:
        self._suspects.pop(node, None)
        for strides in self._strides:
            strides.forget(node)

    def on_change_input(
        self, graph: FunctionGraph, node: Apply | None, index: int, old: Variable, new: Variable, reason: object
    ) -> None:
        waiting = [node]
        while waiting:
            user = waiting.pop()
            if user is None:
                continue
            if user in self._inputs:
                self._suspects[user] = None
            changed = [strides.refresh(user) for strides in self._strides]
            if any(changed):
                waiting.extend(dict.fromkeys(client for output in user.outputs for client, _ in output.clients))

    def on_validate(self, graph: FunctionGraph) -> None:
        for node in self._suspects:
            inputs = (*node.inputs, *node.inputs)  # in both orders
            if not all(map(_same, inputs, self._strides_of_inputs(node), self._inputs[node])):
                raise InconsistencyError(f"%{node.id} {node.op.name} depends on the strides of its inputs")
        self._suspects.clear()

    def first_user(self, old: Variable, new: Variable, is_sensitive: Callable[[Apply], bool]) -> str | None:
        """Return the first user of `old` that is sensitive to the strides of `new`; None if there is none."""
        found = (strides.first_user(old, new, is_sensitive) for strides in self._strides)
        return next((user for user in found if user is not None), None)

    def _strides_of_inputs(self, node: Apply) -> list[Strides]:
        return [found for strides in self._strides for found in strides.of(*node.inputs)]


def _are_tensors(node: Apply) -> bool:
    return all(isinstance(v.type, TensorType) for v in (*node.inputs, *node.outputs))


def _types(node: Apply) -> tuple[ValueType, ...]:
    return tuple(v.type for v in node.inputs)


def _same(variable: Variable, one: Strides, other: Strides) -> bool:
    return same_strides(variable.tensor_type.shape, one, other)


def _dense(kind: ValueType, reverse: bool) -> Strides:
    """Return strides without gaps, with the last axis running fastest, or in the reverse order the first."""
    shape: Sequence[int] = kind.shape if isinstance(kind, TensorType) else ()
    strides: list[int] = []
    step = 1
    for size in shape if reverse else reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(strides if reverse else reversed(strides))


@lru_cache(maxsize=100_000)
def _results(op: Op, kinds: tuple[ValueType, ...], strides: tuple[Strides, ...]) -> tuple[Strides, ...] | None:
    """Return the strides of the results of an operator for inputs of these strides; None if it refuses them."""
    given = [(kind, stride) for kind, stride in zip(kinds, strides, strict=True) if isinstance(kind, TensorType)]
    try:
        with on_fakes():
            tensors = [torch.empty_strided(kind.shape, stride, dtype=kind.dtype) for kind, stride in given]
            return tuple(tuple(result.stride()) for result in flat_results(op.run(tensors)))
    except KERNEL_ERRORS:
        return None
