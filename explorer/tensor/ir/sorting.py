"""The topological order of applications: each after those that it reads; the same for equal graphs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from explorer.errors import CycleError

if TYPE_CHECKING:
    from explorer.tensor.ir.variables import Apply, Variable


def toposort(
    outputs: "Iterable[Variable]",
    before: "Mapping[Apply, Sequence[Apply]] | None" = None,
    stop: "Mapping[Apply, None] | None" = None,
) -> "list[Apply]":
    """Applications that outputs need, each after those that it reads, depth first in the order of the inputs.

    `before` maps an application to others that must precede it. Those in `stop` are omitted, with everything that only
    they need.
    Raises: CycleError.
    """
    before, stop = before or {}, stop or {}
    done: set[Apply] = set()
    open_: set[Apply] = set()
    order: list[Apply] = []
    for output in outputs:
        if output.owner is None or output.owner in done or output.owner in stop:
            continue
        stack: list[tuple[Apply, Iterator[Apply]]] = [(output.owner, _predecessors(output.owner, before))]
        open_.add(output.owner)
        while stack:
            node, sources = stack[-1]
            for source in sources:
                if source in done or source in stop:
                    continue
                if source in open_:
                    raise CycleError(f"{source.op.name} and {node.op.name} depend on each other")
                open_.add(source)
                stack.append((source, _predecessors(source, before)))
                break
            else:
                stack.pop()
                open_.discard(node)
                done.add(node)
                order.append(node)
    return order


def _predecessors(node: "Apply", before: "Mapping[Apply, Sequence[Apply]]") -> "Iterator[Apply]":
    for variable in node.inputs:
        if variable.owner is not None:
            yield variable.owner
    yield from before.get(node, ())
