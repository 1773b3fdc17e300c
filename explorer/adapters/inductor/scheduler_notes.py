"""Notes of the scheduler's nodes and buffers, before any fusion."""

from collections.abc import Iterator, Sequence
from typing import Any

from torch._inductor.virtualized import V
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from explorer.adapters.inductor.heard import ITEM, HeardNode, HeardScheduling
from explorer.tensor.ir.types import OtherType, TensorType, ValueType

ORDERING = ("WeakDep",)
"""Dependencies that only order nodes: no number is read."""


def note_nodes(nodes: Sequence[Any], lower_seconds: float) -> HeardScheduling:
    """Note the nodes, and the buffers that they read and write."""
    parts = [part for node in nodes for part in _parts(node)]
    noted = [_note(node) for node in parts]
    names = dict.fromkeys(name for one in noted for name in (*one.reads, *one.writes))
    return HeardScheduling(
        tuple(name_of(node.get_name()) for node in nodes),
        noted,
        {name: _type_of(name) for name in names},
        tuple(V.graph.graph_inputs),
        tuple(_real(name) for name in V.graph.get_output_names()),
        lower_seconds,
    )


def name_of(*names: str) -> str:
    """The name of a group: those of its scheduler nodes in order, joined by `_`.

    Inductor has other orders, too, for reductions in two directions and for foreach operators.

    >>> name_of("op10_op2", "op3")
    'op2_op3_op10'
    """
    return "_".join(sorted({part for name in names for part in name.split("_")}, key=lambda part: (len(part), part)))


def _parts(node: Any) -> Iterator[Any]:
    """The nodes of a group, which may contain groups."""
    for part in node.get_nodes():
        yield from (part,) if part is node else _parts(part)


def _note(node: Any) -> HeardNode:
    operation = node.node
    origins = sorted(origin.name for origin in operation.get_origins()) if operation is not None else []
    origin = getattr(operation, "origin_node", None)
    is_extern = node.is_extern()
    reads = [one.name for one in node.read_writes.reads if type(one).__name__ not in ORDERING]
    writes = [buffer.get_name() for buffer in node.get_outputs()]
    return HeardNode(
        node.get_name(),
        ITEM if type(operation).__name__ == ITEM else type(node).__name__,
        is_extern,
        str(getattr(operation, "python_kernel_name", None) or "") if is_extern else "",
        tuple(dict.fromkeys(sorted(_real(name) for name in reads))),
        tuple(dict.fromkeys(_real(name) for name in writes)),
        tuple(origins),
        "" if origin is None else origin.name,
        str(node.group[1]) if getattr(node, "group", None) else "",
        str(getattr(getattr(operation, "data", None), "reduction_type", None) or ""),
    )


def _real(name: str) -> str:
    """The buffer that a name means: operators that write in place give it new names."""
    return V.graph.scheduler.mutation_real_name.get(name, name)


def _type_of(name: str) -> ValueType:
    """The type of a buffer; unknown if its size depends on data, or if it is no tensor."""
    try:
        dtype = V.graph.get_dtype(name)
        layout: Any = V.graph.graph_inputs[name] if name in V.graph.graph_inputs else V.graph.get_buffer(name)
        return TensorType(dtype, tuple(_hint(size) for size in layout.get_size()))
    except (AttributeError, KeyError, NotImplementedError, RuntimeError, TypeError):
        return OtherType("?")


def _hint(size: Any) -> int:
    """A size as a number, symbolic ones as in the example inputs. Raises: TypeError for one that depends on data."""
    if free_unbacked_symbols(size):
        raise TypeError("this size depends on data")
    sizes: Any = V.graph.sizevars
    hint = getattr(sizes, "optimization_hint", None) or sizes.size_hint
    return int(hint(size))
