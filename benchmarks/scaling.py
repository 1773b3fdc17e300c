"""How times grow with the number of layers and with the batch size: native kernels, layers in PyTorch, the peer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from rich.table import Table

from benchmarks import peer as peers
from benchmarks.cases import Case
from benchmarks.suite import Samples, faster_median, spread
from benchmarks.suite_entrants import LAYERS, PEER, Entrant
from explorer.bench import clock_for, time_interleaved
from explorer.compiler import TorchCompiler
from explorer.errors import LoweringError
from explorer.runtime import fast

NATIVE = "native"
ENTRANTS = (PEER, LAYERS, NATIVE)
IMAGE_SIZES = (4, 8, 16, 28, 45, 64)
"""Heights of the images: 46 to 12,286 symbolic layers."""
BATCH_SIZES = (1, 4, 16, 64, 256, 1024)
BASE = Case("28x28", (1, 28, 28), "quad-tree-2", "cp-t", 16, "categorical", 64)


@dataclass(frozen=True, slots=True)
class ScalingPoint:
    """The samples of each entrant for a number of symbolic layers and of rows."""

    num_layers: int
    batch_size: int
    samples: Mapping[str, Samples]


@dataclass(frozen=True, slots=True)
class Scaling:
    """Points of growing circuits with equal batches, and of growing batches with the same circuit."""

    num_threads: int
    by_layers: tuple[ScalingPoint, ...]
    by_batch_size: tuple[ScalingPoint, ...]


def measure_scaling(
    num_threads: int,
    repeats: int,
    *,
    sizes: Sequence[int] = IMAGE_SIZES,
    batch_sizes: Sequence[int] = BATCH_SIZES,
    on_run: Callable[[str], None] = lambda name: None,
) -> Scaling:
    """Time forward passes of quad-trees, interleaved; parameters of ours are evaluated before."""
    torch.set_num_threads(num_threads)
    growing = [replace(BASE, name=f"{size}x{size}", shape=(1, size, size)) for size in sizes]
    by_layers = [
        point for case in growing for point in _measure(case, (BASE.batch_size,), num_threads, repeats, on_run)
    ]
    by_batch_size = _measure(BASE, batch_sizes, num_threads, repeats, on_run)
    return Scaling(num_threads, tuple(by_layers), tuple(by_batch_size))


def scaling_table(found: Scaling) -> Table:
    """One row per point."""
    table = Table(title="Forward pass of quad-trees (cp-t, 16 units, 256 grey levels), milliseconds")
    for name in ("layers", "rows", *ENTRANTS):
        table.add_column(name, justify="right", overflow="fold")
    for points in (found.by_layers, found.by_batch_size):
        for position, point in enumerate(points):
            cells = [
                f"{1000 * faster_median(point.samples[name]):.2f} ±{spread(point.samples[name]):.0%}"
                if name in point.samples
                else ""
                for name in ENTRANTS
            ]
            last = position == len(points) - 1
            table.add_row(f"{point.num_layers:,}", f"{point.batch_size:,}", *cells, end_section=last)
    return table


def scaling_to_json(found: Scaling) -> dict[str, Any]:
    """All samples as plain data."""
    return {
        name: [
            {"layers": one.num_layers, "rows": one.batch_size, "seconds": {k: list(v) for k, v in one.samples.items()}}
            for one in points
        ]
        for name, points in (("by_layers", found.by_layers), ("by_batch_size", found.by_batch_size))
    }


def _measure(
    case: Case, batch_sizes: Sequence[int], num_threads: int, repeats: int, on_run: Callable[[str], None]
) -> list[ScalingPoint]:
    source = case.circuit()
    circuit = TorchCompiler().compile(source)
    frozen = circuit.freeze()
    modules: dict[str, Any] = {LAYERS: frozen}
    order = torch.arange(len(source.scope))
    try:
        modules[NATIVE] = fast(frozen, backend=NATIVE)
    except LoweringError as error:
        on_run(f"no native kernels: {error}")
    if peers.peer_is_installed():
        other = peers.compile_symbolic(peers.build_symbolic(case))
        order = peers.carry_values(source, circuit.leaf_state(), other)
        modules[PEER] = other.module
    found: list[ScalingPoint] = []
    for batch_size in batch_sizes:
        on_run(f"{case.name}, {batch_size} rows")
        x = replace(case, batch_size=batch_size).batch()
        jobs = {
            name: Entrant(module, x[:, order].contiguous() if name == PEER else x, training=False).job()
            for name, module in modules.items()
        }
        samples = time_interleaved(jobs, repeats, warmups=2, clock=clock_for(num_threads))
        found.append(ScalingPoint(len(source.layers), batch_size, samples))
    return found
