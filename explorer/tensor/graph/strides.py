"""Whether it is seen how a tensor lies in memory: by operators that look at strides, by outputs of the graph.

A copy has the numbers of what it copies, and may lie in memory in another way. What reads it is run on fake tensors
that lie as the copy does, and as what it copies does, until the two give results that lie alike. Outputs lie as they
did if inputs lie in the order of their axes; values are the same also if inputs lie turned around.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from weakref import WeakKeyDictionary

import torch

from explorer.errors import InconsistencyError
from explorer.tensor.graph.features import AlreadyThere, Feature
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.ir.fakes import on_fakes
from explorer.tensor.ir.ops import Op
from explorer.tensor.ir.schemas import KERNEL_ERRORS, flat_results
from explorer.tensor.ir.types import TensorType, ValueType
from explorer.tensor.ir.variables import Apply, Constant, Variable

aten = torch.ops.aten

Strides = tuple[int, ...]

LOOKS_AT_STRIDES = frozenset(
    (
        *(aten.as_strided, aten.as_strided_copy, aten.as_strided_scatter, aten._reshape_alias, aten.view_as_complex),
        *(aten.native_group_norm, aten._cdist_forward, aten._pdist_forward),
    )
)
"""Operators of PyTorch that give other numbers, or refuse a tensor, depending on how it lies in memory."""

OWN = ("aten", "explorer", "prims", "quantized_decomposed")
"""Namespaces of operators that are known not to look at strides, but for those above."""

MOST_ABOVE = 64
"""So many variables are looked at to find how one lies; from there on it counts as unknown."""

MOST_BELOW = 256
"""So many operators are looked at to find who sees a difference; with more of them, someone does."""


def looks_at_strides(op: Op) -> bool:
    """Whether it matters for the values of an operator, or for whether it runs, how its tensors lie in memory."""
    other_numbers = op.target is aten.view.dtype
    return other_numbers or op.packet in LOOKS_AT_STRIDES or op.target.namespace not in OWN


def who_sees(copy: Variable, source: Variable, does: Callable[[Apply], bool]) -> str | None:
    """What would see the difference if a copy lay in memory as what it copies does; None if nothing would.

    `does` tells of an operator that takes tensors however they lie whether it nevertheless sees it.
    """
    for turned in (False, True):
        found = _Layouts(turned).who_sees(copy, source, does)
        if found is not None:
            return found
    return None


class _Layouts:
    """How the variables of a graph lie in memory, if inputs lie in the order of their axes, or turned around."""

    def __init__(self, turned: bool) -> None:
        self._turned = turned
        self._known: dict[Variable, Strides] = {}
        self._left = MOST_ABOVE
        self.looked_at: dict[Apply, None] = {}
        """The applications whose inputs were asked for."""

    def of(self, variable: Variable) -> Strides:
        """The strides of a tensor."""
        if variable not in self._known:
            self._known[variable] = self._found(variable)
        return self._known[variable]

    def _found(self, variable: Variable) -> Strides:
        if isinstance(variable, Constant):
            return tuple(variable.data.stride())
        owner = variable.owner
        self._left -= 1
        results = None
        if owner is not None and self._left > 0 and _are_tensors(owner):
            self.looked_at[owner] = None
            results = _results(owner.op, _types(owner), tuple(map(self.of, owner.inputs)))
        return results[variable.index] if results is not None else _dense(variable.type, self._turned)

    def who_sees(self, copy: Variable, source: Variable, does: Callable[[Apply], bool]) -> str | None:
        """What would see the difference if a copy lay as its source does; None if nothing would."""
        if _same(copy, self.of(copy), self.of(source)):
            return None
        other = {copy: self.of(source)}
        waiting = [copy]
        for _ in range(MOST_BELOW):
            if not waiting:
                return None
            for client in dict.fromkeys(client for client, _ in waiting.pop().clients):
                if client is None:
                    if not self._turned:
                        return "an output of the graph"
                    continue
                changed = None if does(client) else self._changed(client, other)
                if changed is None:
                    return client.op.name
                other.update(changed)
                waiting.extend(changed)
        return "what follows, which was not looked at to the end,"

    def _changed(self, client: Apply, other: dict[Variable, Strides]) -> dict[Variable, Strides] | None:
        """The results of an operator that lie in another way if some variables do; None if it refuses or sees that."""
        if looks_at_strides(client.op) or not _are_tensors(client):
            return None
        strides = tuple(other[v] if v in other else self.of(v) for v in client.inputs)
        results = _results(client.op, _types(client), strides)
        if results is None:
            return None
        pairs = [(output, results[output.index]) for output in client.outputs if output.clients]
        return {v: found for v, found in pairs if not _same(v, found, other[v] if v in other else self.of(v))}


class KeepStrides(Feature):
    """Operators that look at strides go on getting tensors that lie as they did: it is against all other changes.

    How a tensor lies depends on what the applications above it read, as far as one looks. Only operators below an
    application that reads something else since the last agreement are looked at again.
    """

    def __init__(self) -> None:
        self._given: WeakKeyDictionary[Apply, list[Strides]] = WeakKeyDictionary()
        """How the inputs of an operator lay when it came. One that left is kept for as long as it may be brought back:
        while that is done, what is above it need not be as it was."""
        self._above: dict[Apply, tuple[Apply, ...]] = {}
        """The applications on which it depends how the inputs of an operator lie, itself among them."""
        self._below: dict[Apply, dict[Apply, None]] = {}
        """The other way round."""
        self._suspects: dict[Apply, None] = {}
        """Operators to look at again."""

    def on_attach(self, graph: FunctionGraph) -> None:
        if graph.feature(KeepStrides) is not None:
            raise AlreadyThere
        for node in graph.nodes:
            self.on_import(graph, node, "attached")

    def on_import(self, graph: FunctionGraph, node: Apply, reason: object) -> None:
        if not looks_at_strides(node.op):
            return
        if node in self._given:
            self._suspects[node] = None
        else:
            self._given[node], above = _strides_given(node)
            self._depend(node, above)

    def on_prune(self, graph: FunctionGraph, node: Apply, reason: object) -> None:
        self._suspects.pop(node, None)
        self._depend(node, ())

    def on_change_input(
        self, graph: FunctionGraph, node: Apply | None, index: int, old: Variable, new: Variable, reason: object
    ) -> None:
        if node is not None:
            self._suspects.update(self._below.get(node, {}))

    def on_validate(self, graph: FunctionGraph) -> None:
        found = {node: _strides_given(node) for node in self._suspects}
        for node, (strides, _) in found.items():
            inputs = (*node.inputs, *node.inputs)  # in both ways
            if not all(map(_same, inputs, strides, self._given[node])):
                raise InconsistencyError(f"%{node.id} {node.op.name} depends on how its inputs lie in memory")
        for node, (_, above) in found.items():
            self._depend(node, above)
        self._suspects.clear()

    def _depend(self, node: Apply, above: tuple[Apply, ...]) -> None:
        for other in self._above.pop(node, ()):
            below = self._below[other]
            del below[node]
            if not below:
                del self._below[other]
        if above:
            self._above[node] = above
        for other in above:
            self._below.setdefault(other, {})[node] = None


def _strides_given(node: Apply) -> tuple[list[Strides], tuple[Apply, ...]]:
    """How the inputs of an application lie, in both ways; and the applications that this depends on."""
    found: list[Strides] = []
    above: dict[Apply, None] = {node: None}
    for turned in (False, True):
        for variable in node.inputs:
            layouts = _Layouts(turned)
            found.append(layouts.of(variable))
            above.update(layouts.looked_at)
    return found, tuple(above)


def _are_tensors(node: Apply) -> bool:
    return all(isinstance(v.type, TensorType) for v in (*node.inputs, *node.outputs))


def _types(node: Apply) -> tuple[ValueType, ...]:
    return tuple(v.type for v in node.inputs)


def _same(variable: Variable, one: Strides, other: Strides) -> bool:
    """Whether two strides are the same for a tensor, where axes of one number, and tensors of none, have no stride."""
    shape = variable.tensor_type.shape
    return 0 in shape or all(a == b for size, a, b in zip(shape, one, other, strict=True) if size != 1)


def _dense(kind: ValueType, turned: bool) -> Strides:
    """Strides without gaps, the last axis running fastest; turned around: the first one."""
    shape: Sequence[int] = kind.shape if isinstance(kind, TensorType) else ()
    strides: list[int] = []
    step = 1
    for size in shape if turned else reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(strides if turned else reversed(strides))


@lru_cache(maxsize=100_000)
def _results(op: Op, kinds: tuple[ValueType, ...], strides: tuple[Strides, ...]) -> tuple[Strides, ...] | None:
    """How the results of an operator lie for tensors that lie so; None if it refuses them."""
    given = [(kind, lies) for kind, lies in zip(kinds, strides, strict=True) if isinstance(kind, TensorType)]
    try:
        with on_fakes():
            tensors = [torch.empty_strided(kind.shape, lies, dtype=kind.dtype) for kind, lies in given]
            return tuple(tuple(result.stride()) for result in flat_results(op.run(tensors)))
    except KERNEL_ERRORS:
        return None
