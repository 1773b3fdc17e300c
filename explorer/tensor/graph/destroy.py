"""Correctness of graphs in which operators overwrite their inputs.

All users of a value, or of a view of it, run before the operator that overwrites it. A graph in which that is
impossible, or that overwrites memory that it does not own, is refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import inf

import torch

from explorer.errors import CycleError, InconsistencyError
from explorer.tensor.graph.features import Feature
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.ir.aliasing import destroyed_inputs, destroys, memory_roots, memory_views, shared_inputs
from explorer.tensor.ir.result_types import on_fakes
from explorer.tensor.ir.schemas import flat_results
from explorer.tensor.ir.variables import Apply, Constant, Variable


class DestroyHandler(Feature):
    """Checks the applications that overwrite an input, and orders the users of that input before them.

    A value may be overwritten once, if it is neither an input of the graph nor a constant, if no output of the graph
    shares its memory, if no other input of the application does, if all its other users can run before, and if no
    gradient may need it. Only changes since the last validation are checked.
    """

    is_single = True

    def __init__(self) -> None:
        self._destroyers: dict[Apply, tuple[Variable, ...]] = {}
        """Maps destroyers to the roots of the memory that they overwrite, once these were checked."""
        self._taken: dict[Variable, Apply] = {}
        self._trained: dict[Constant, None] = {}
        self._suspects: dict[Apply, None] = {}
        """Destroyers to check again."""
        self._changed: dict[Apply, None] = {}
        """Applications that are new or have another input."""
        self._positions: dict[Apply, float] = {}
        """Positions in a valid order; an application that fits between its neighbours needs no new order."""

    # ------------------------------------------------------------------ notifications

    def on_attach(self, graph: FunctionGraph) -> None:
        for node in graph.nodes:
            self.on_import(graph, node, "attached")

    def on_import(self, graph: FunctionGraph, node: Apply, reason: object) -> None:
        self._changed[node] = None
        for source in node.inputs:
            if isinstance(source, Constant) and source.trainable and source.data.requires_grad:
                self._trained[source] = None
        if destroys(node):
            self._destroyers[node] = ()
            self._suspects[node] = None
        elif any(shared_inputs(node)):
            self._suspect_readers(node)

    def on_prune(self, graph: FunctionGraph, node: Apply, reason: object) -> None:
        if node in self._destroyers:
            self._release(node)
            del self._destroyers[node]
        self._suspects.pop(node, None)
        self._changed.pop(node, None)
        self._positions.pop(node, None)

    def on_change_input(
        self, graph: FunctionGraph, node: Apply | None, index: int, old: Variable, new: Variable, reason: object
    ) -> None:
        if node is None:
            self._suspects.update((self._taken[root], None) for root in memory_roots(new) if root in self._taken)
            return
        self._changed[node] = None
        if isinstance(new, Constant) and new.trainable and new.data.requires_grad:
            self._trained[new] = None
        if node in self._destroyers:
            self._suspects[node] = None
        elif any(shared_inputs(node)):
            self._suspect_readers(node)

    def _suspect_readers(self, view: Apply) -> None:
        """Check the destroyers of the memory that a view shares again."""
        for output in view.outputs:
            for root in memory_roots(output):
                if root in self._taken:
                    self._suspects[self._taken[root]] = None
            for seen in memory_views(output):
                for client, _ in seen.clients:
                    if client is not None and client in self._destroyers:
                        self._suspects[client] = None

    # ------------------------------------------------------------------ validation

    def on_validate(self, graph: FunctionGraph) -> None:
        if not self._destroyers:
            return
        self._refuse_gradients()
        for node in self._suspects:
            self._release(node)
        for node in self._suspects:
            self._check(graph, node)
        if not self._fits():
            self._sort(graph)
        self._suspects.clear()
        self._changed.clear()

    def orderings(self, graph: FunctionGraph) -> Mapping[Apply, Sequence[Apply]]:
        return {node: tuple(_readers(node)) for node in self._destroyers}

    def _release(self, node: Apply) -> None:
        for root in self._destroyers[node]:
            if self._taken.get(root) is node:
                del self._taken[root]
        self._destroyers[node] = ()

    def _refuse_gradients(self) -> None:
        """Check that no gradient may need an overwritten value. Raises: InconsistencyError."""
        for constant in self._trained:
            if constant.clients:
                raise InconsistencyError(
                    f"the gradient of {constant.name or 'a parameter'} may need a value that would be overwritten; "
                    "overwrite only in graphs that are not trained"
                )

    def _check(self, graph: FunctionGraph, node: Apply) -> None:
        """Check that an application may overwrite its input. Raises: InconsistencyError."""
        who = f"%{node.id} {node.op.name}"
        roots: list[Variable] = []
        for position in destroyed_inputs(node.op):
            for root in memory_roots(node.inputs[position]):
                _check_root(node, position, root)
                other = self._taken.get(root)
                if other is not None and root.owner is not None:
                    name = f"%{other.id} {other.op.name}"
                    raise InconsistencyError(
                        f"{who} and {name} would both overwrite %{root.owner.id} {root.owner.op.name}"
                    )
                self._taken[root] = node
                roots.append(root)
                self._destroyers[node] = tuple(roots)
            if overlaps_itself(node.inputs[position]):
                raise InconsistencyError(
                    f"{who} would overwrite a view in which several elements share a memory location"
                )
        for reader in _readers(node):
            if any(graph.order.path(output, [node]) is not None for output in reader.outputs):
                raise InconsistencyError(
                    f"%{reader.id} {reader.op.name} reads a value that {who} would overwrite, and cannot run before "
                    "it, because it needs its result"
                )

    # ------------------------------------------------------------------ the order

    def _fits(self) -> bool:
        """Return whether all changed applications fit into the known order; if not, there may be another order."""
        if not self._positions:
            return False
        for node in (*self._changed, *self._suspects):
            low = max((self._positions.get(earlier, inf) for earlier in self._before(node)), default=0.0)
            high = min((self._positions.get(later, inf) for later in self._after(node)), default=inf)
            if node not in self._positions:
                if low == inf:
                    return False
                self._positions[node] = low + 1.0 if high == inf else (low + high) / 2
            if not low < self._positions[node] < high:
                return False
        return True

    def _before(self, node: Apply) -> Iterator[Apply]:
        yield from (source.owner for source in node.inputs if source.owner is not None)
        if node in self._destroyers:
            yield from _readers(node)

    def _after(self, node: Apply) -> Iterator[Apply]:
        yield from (client for output in node.outputs for client, _ in output.clients if client is not None)
        for source in node.inputs:
            yield from (self._taken[r] for r in memory_roots(source) if self._taken.get(r, node) is not node)

    def _sort(self, graph: FunctionGraph) -> None:
        """Find an order. Raises: InconsistencyError if there is none."""
        try:
            order = graph.toposort()
        except CycleError as error:
            raise InconsistencyError(f"users of a value cannot all run before it is overwritten: {error}") from error
        self._positions = {node: float(position) for position, node in enumerate(order, start=1)}


def _readers(node: Apply) -> dict[Apply, None]:
    """Return the applications that read memory that another application overwrites."""
    readers: dict[Apply, None] = {}
    for position in destroyed_inputs(node.op):
        for root in memory_roots(node.inputs[position]):
            for view in memory_views(root):
                readers.update((client, None) for client, _ in view.clients if client not in (None, node))
    return readers


def _check_root(node: Apply, position: int, root: Variable) -> None:
    """Check that an input may overwrite the memory of a root. Raises: InconsistencyError."""
    who = f"%{node.id} {node.op.name}"
    if root.owner is None:
        what = "the constant" if isinstance(root, Constant) else "the input"
        raise InconsistencyError(f"{who} would overwrite {what} {root.name or 'without a name'} of the graph")
    for i, other in enumerate(node.inputs):
        if i != position and root in memory_roots(other):
            raise InconsistencyError(f"{who} would overwrite its input {position}, whose memory input {i} shares")
    for view in memory_views(root):
        if any(client is None for client, _ in view.clients):
            raise InconsistencyError(f"{who} would overwrite an output of the graph, or a view of one")


def overlaps_itself(variable: Variable) -> bool:
    """Return whether two elements of a view may share a memory location, as in a result of `expand`."""
    if not _is_view(variable):
        return False
    with on_fakes():
        view = _fake_view(variable)
    needed = 1
    for stride, size in sorted(zip(view.stride(), view.shape, strict=True)):
        if size > 1 and stride < needed:
            return True
        needed = max(needed, stride * (size - 1) + needed)
    return False


def _is_view(variable: Variable) -> bool:
    owner = variable.owner
    return owner is not None and not destroys(owner) and bool(shared_inputs(owner)[variable.index])


def _fake_view(variable: Variable) -> torch.Tensor:
    """Return a fake tensor with the strides of a view of contiguous memory."""
    owner = variable.owner
    if owner is None or not _is_view(variable):
        kind = variable.tensor_type
        return torch.empty(kind.shape, dtype=kind.dtype)
    return flat_results(owner.op.run([_fake_view(source) for source in owner.inputs]))[variable.index]
