"""How the time of rewriting grows with the graph, beside PyTensor's on the same expressions where it is installed."""

import random
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from time import process_time
from typing import Any

import torch
from rich.table import Table

SIZES = (1_000, 2_000, 5_000, 10_000, 20_000)
TERM = 25
"""So many operators an expression has; a graph is as many independent ones as it takes."""
PEER_SIZES = (1_000, 2_000, 5_000)
MISSING_PYTENSOR = (
    "PyTensor is not installed, so there is nothing to compare with: pip install 'circuit-explorer[bench]'"
)

Build = Mapping[str, Callable[..., Any]]


@dataclass(frozen=True, slots=True)
class RewriteTime:
    """The CPU time of rewriting one graph: canonicalize, specialize and merge, until nothing changes."""

    nodes: int
    after: int
    seconds: float
    peer_nodes: int | None = None
    peer_seconds: float | None = None

    @property
    def microseconds_per_node(self) -> float:
        """Our time for one node."""
        return 1e6 * self.seconds / max(self.nodes, 1)

    @property
    def ratio(self) -> float | None:
        """Our time for a node over PyTensor's; below 1 ours is faster."""
        if self.peer_seconds is None or not self.peer_nodes:
            return None
        return (self.seconds / self.nodes) / (self.peer_seconds / self.peer_nodes)


def measure_rewriting(
    sizes: Sequence[int] = SIZES, on_run: Callable[[str], None] = lambda name: None
) -> tuple[RewriteTime, ...]:
    """Rewrite graphs of several sizes; the smaller ones with PyTensor too, if it is there."""
    found: list[RewriteTime] = []
    has_peer = find_spec("pytensor") is not None
    ours(TERM)  # what is loaded and cached once
    for size in sizes:
        on_run(f"{size:,} operators")
        nodes, after, seconds = ours(size)
        peer = pytensor(size) if has_peer and size in PEER_SIZES else (None, None)
        found.append(RewriteTime(nodes, after, seconds, *peer))
    return tuple(found)


def ours(size: int) -> tuple[int, int, float]:
    """Operators before and after, and seconds."""
    from explorer.rewrite import Query
    from explorer.tensor import FunctionGraph, Op, doubles
    from explorer.tensor.optdb import optdb
    from explorer.tensor.scalars import add, div, mul, sub

    aten = torch.ops.aten
    build = {"add": add, "mul": mul, "div": div, "sub": sub}
    build |= {"exp": Op.of(aten.exp.default), "log": Op.of(aten.log.default)}
    inputs = doubles("a b c d e f")
    graph = FunctionGraph(inputs, expressions(size, build, inputs))
    rewriter = optdb.query(Query(include=["fast_run"], exclude=["inplace"]))
    before = len(graph)
    started = process_time()
    rewriter.rewrite(graph)
    return before, len(graph), process_time() - started


def pytensor(size: int) -> tuple[int, float]:
    """Operators before, and seconds, of PyTensor's rewrites of the same names, without compiling C."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 20_000))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pytensor as peer  # pyright: ignore[reportMissingImports]
        import pytensor.tensor as tensor  # pyright: ignore[reportMissingImports]
        from pytensor.compile.mode import optdb  # pyright: ignore[reportMissingImports]
        from pytensor.graph.fg import FunctionGraph  # pyright: ignore[reportMissingImports]
        from pytensor.graph.rewriting.db import RewriteDatabaseQuery  # pyright: ignore[reportMissingImports]

        peer.config.cxx = ""  # pyright: ignore[reportPrivateImportUsage]
        build = {
            "add": lambda x, y: x + y,
            "mul": lambda x, y: x * y,
            "div": lambda x, y: x / y,
            "sub": lambda x, y: x - y,
            "exp": tensor.exp,
            "log": tensor.log,
        }
        inputs = [tensor.dscalar(name) for name in "abcdef"]
        graph = FunctionGraph(inputs, expressions(size, build, inputs), clone=True)
        names = ["canonicalize", "specialize", "merge1", "merge1.1", "merge1.2", "merge2", "merge3"]
        rewriter = optdb.query(RewriteDatabaseQuery(include=names))
        before = len(graph.apply_nodes)
        started = process_time()
        rewriter.rewrite(graph)
        return before, process_time() - started


def expressions(size: int, build: Build, inputs: Sequence[Any]) -> list[Any]:
    """Random expressions, the same for every library: so many operators in all, `TERM` in each."""
    source = random.Random(0)
    outputs: list[Any] = []
    for _ in range(max(1, size // TERM)):
        pool = list(inputs)
        for _ in range(TERM):
            chance, one, other = source.random(), source.choice(pool[-6:]), source.choice(pool)
            if chance < 0.8:
                name = ("add", "mul", "mul", "div", "sub")[int(chance * 6.25)]
                pool.append(build[name](one, other))
            elif chance < 0.94:
                pool.append(build["exp" if chance < 0.87 else "log"](one))
            else:
                pool.append(build["mul"](one, source.choice([1.0, 2.0, 0.5])))
        outputs.append(pool[-1])
    return outputs


def rewrite_table(times: Sequence[RewriteTime]) -> Table:
    """The times as a table; a ratio below 1 says that ours is faster."""
    table = Table(title="Canonicalize, specialize and merge: CPU time as the graph grows")
    for heading in ("operators", "after", "s", "µs a node", "PyTensor s", "ratio a node"):
        table.add_column(heading, justify="right")
    for one in times:
        peer = "" if one.peer_seconds is None else f"{one.peer_seconds:.2f}"
        ratio = "" if one.ratio is None else f"{one.ratio:.2f}"
        row = (f"{one.nodes:,}", f"{one.after:,}", f"{one.seconds:.2f}", f"{one.microseconds_per_node:.0f}")
        table.add_row(*row, peer, ratio)
    return table
