"""The growth of rewriting time with the graph, with PyTensor's on the same graphs if it is installed."""

import math
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from time import process_time
from typing import Any

import torch
from rich.table import Table

from benchmarks.growing_graphs import SHAPES, TERM, Library, Shape
from explorer.packages import install_command

SIZES = (1_000, 2_000, 5_000, 10_000, 20_000)
PEER_SIZES = (1_000, 2_000, 5_000)
MAX_SECONDS = 30.0
"""A shape that takes longer is not measured at larger sizes; quadratic growth would take hours."""
MISSING_PYTENSOR = f"PyTensor is not installed, so there is nothing to compare with; run: {install_command('bench')}"


@dataclass(frozen=True, slots=True)
class RewriteTime:
    """The CPU time of rewriting one graph until nothing changes.

    The rules of the database canonicalize, specialize and merge; shapes for passes are rewritten by the default passes.
    `peer_seconds` is None if PyTensor was not measured or is not installed.
    """

    shape: str
    nodes: int
    after: int
    seconds: float
    peer_nodes: int | None = None
    peer_seconds: float | None = None

    @property
    def microseconds_per_node(self) -> float:
        """Our time per node."""
        return 1e6 * self.seconds / max(self.nodes, 1)

    @property
    def ratio(self) -> float | None:
        """Our time per node over PyTensor's; below 1 ours is faster."""
        if self.peer_seconds is None or not self.peer_nodes:
            return None
        return (self.seconds / self.nodes) / (self.peer_seconds / self.peer_nodes)


def exponent(smaller: RewriteTime, larger: RewriteTime) -> float:
    """The exponent of the growth of time with size from one graph to a larger one: 1 is linear, 2 quadratic."""
    return math.log(larger.seconds / smaller.seconds) / math.log(larger.nodes / smaller.nodes)


def measure_rewriting(
    sizes: Sequence[int] = SIZES,
    shapes: Sequence[str] = tuple(SHAPES),
    limit_s: float = MAX_SECONDS,
    on_run: Callable[[str], None] = lambda name: None,
) -> tuple[RewriteTime, ...]:
    """Rewrite graphs of several shapes and sizes; the smaller ones also with PyTensor, if it is installed.

    A shape of which one graph took longer than the limit is not measured at larger sizes.
    """
    return tuple(time for name in shapes for time in _measure_shape(SHAPES[name], sizes, limit_s, on_run))


def _measure_shape(
    shape: Shape, sizes: Sequence[int], limit_s: float, on_run: Callable[[str], None]
) -> list[RewriteTime]:
    has_peer = find_spec("pytensor") is not None and not shape.is_for_passes
    found: list[RewriteTime] = []
    ours(shape, TERM)  # loads and caches what is needed once
    if has_peer:
        pytensor(shape, TERM)
    for size in sizes:
        on_run(f"{shape.doc}, {size:,} operators")
        nodes, after, seconds = ours(shape, size)
        peer = pytensor(shape, size) if has_peer and size in PEER_SIZES else (None, None)
        found.append(RewriteTime(shape.name, nodes, after, seconds, *peer))
        if seconds > limit_s:
            break
    return found


def ours(shape: Shape, size: int) -> tuple[int, int, float]:
    """Rewrite a graph of this size; returns operators before and after, and seconds."""
    from explorer.rewrite import Query
    from explorer.tensor import FunctionGraph
    from explorer.tensor.passes.base import DEFAULT_PIPELINE
    from explorer.tensor.recording.record_module import ManagedPipeline
    from explorer.tensor.rules import optdb

    graph = FunctionGraph(*shape.build(size, our_library()))
    if shape.is_for_passes:
        rewriter = ManagedPipeline(DEFAULT_PIPELINE)
    else:
        rewriter = optdb.query(Query(include=["fast_run"], exclude=["inplace"]))
    before = len(graph)
    started = process_time()
    rewriter.rewrite(graph)
    return before, len(graph), process_time() - started


def our_library() -> Library:
    """PyTorch's operators on tensors of doubles with two numbers along each axis."""
    from explorer.tensor import Op, TensorType, Variable, call
    from explorer.tensor.ir.scalars import add, div, mul, sub

    aten = torch.ops.aten

    def variable(name: str, rank: int) -> Variable:
        return Variable(TensorType(torch.float64, (2,) * rank), name=name)

    return Library(
        variable,
        {
            "add": add,
            "mul": mul,
            "div": div,
            "sub": sub,
            "exp": Op.of(aten.exp.default),
            "log": Op.of(aten.log.default),
            "cat": lambda parts: call(aten.cat.default, parts),
            "mm": lambda left, right: call(aten.mm.default, left, right),
        },
    )


def pytensor(shape: Shape, size: int) -> tuple[int, float]:
    """Run PyTensor's rewrites of the same names, without compiling C; returns operators before, and seconds."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 20_000))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pytensor as peer  # pyright: ignore[reportMissingImports]
        from pytensor.compile.mode import optdb  # pyright: ignore[reportMissingImports]
        from pytensor.graph.fg import FunctionGraph  # pyright: ignore[reportMissingImports]
        from pytensor.graph.rewriting.db import RewriteDatabaseQuery  # pyright: ignore[reportMissingImports]

        peer.config.cxx = ""  # pyright: ignore[reportPrivateImportUsage]
        inputs, outputs = shape.build(size, peer_library())
        graph = FunctionGraph(inputs, outputs, clone=True)
        names = ["canonicalize", "specialize", "merge1", "merge1.1", "merge1.2", "merge2", "merge3"]
        rewriter = optdb.query(RewriteDatabaseQuery(include=names))
        before = len(graph.apply_nodes)
        started = process_time()
        rewriter.rewrite(graph)
        return before, process_time() - started


def peer_library() -> Library:
    """PyTensor's operators on doubles."""
    import pytensor.tensor as tensor  # pyright: ignore[reportMissingImports]

    def variable(name: str, rank: int) -> Any:
        return tensor.TensorType("float64", (None,) * rank)(name)

    return Library(
        variable,
        {
            "add": lambda x, y: x + y,
            "mul": lambda x, y: x * y,
            "div": lambda x, y: x / y,
            "sub": lambda x, y: x - y,
            "exp": tensor.exp,
            "log": tensor.log,
        },
    )


def rewrite_table(times: Sequence[RewriteTime]) -> Table:
    """The times as a table. A ratio below 1 means that ours is faster; n^1 is linear growth, n^2 quadratic."""
    table = Table(title="Canonicalize, specialize and merge (concats, matmuls: default passes): CPU time by size")
    table.add_column("shape")
    for heading in ("operators", "after", "s", "µs per node", "grows as", "PyTensor s", "ratio per node"):
        table.add_column(heading, justify="right")
    for previous, one in zip((None, *times), times, strict=False):
        grows = "" if previous is None or previous.shape != one.shape else f"n^{exponent(previous, one):.1f}"
        peer = "" if one.peer_seconds is None else f"{one.peer_seconds:.2f}"
        ratio = "" if one.ratio is None else f"{one.ratio:.2f}"
        row = (f"{one.nodes:,}", f"{one.after:,}", f"{one.seconds:.2f}", f"{one.microseconds_per_node:.0f}")
        table.add_row(one.shape, *row, grows, peer, ratio)
    return table
