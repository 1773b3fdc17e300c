"""Squared circuits and their partition functions next to the peer's: parameters and times."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from time import process_time
from typing import Any

import torch
from rich.table import Table
from torch import Tensor, nn

from benchmarks.cases import Case
from benchmarks.peer import PeerCircuit, build_symbolic, carry_values, compile_symbolic, peer_is_installed
from explorer.compiler import TorchCompiler
from explorer.errors import StructureError
from explorer.symbolic import Circuit
from explorer.symbolic.operators import integrate, multiply

SQUARED_UNITS = {"cp": (4, 8, 16, 32), "cp-t": (4, 8, 16, 32), "tucker": (2, 4, 8)}
"""The numbers of units K of the squared circuits, by their products.

A Kronecker product squared has K^4 units, which the peer permutes by a matrix of K^8 numbers in each layer: 17 GB of
them in float32 for K = 16.
"""
AGREEMENT = 1e-4
"""Maximum difference of our results from the peer's, relative."""


def squared_case(layer: str, units: int) -> Case:
    """An image of 4x4 pixels of 8 grey levels, 64 rows."""
    return Case(f"{layer} K={units}", (1, 4, 4), "quad-tree-2", layer, units, "categorical", 64, 8)


@dataclass(frozen=True, slots=True)
class OperatorTime:
    """A squared circuit: numbers in memory as parameters, and seconds of a call of the square and of its integral.

    Those of the peer are None if it is not installed, or has no such product.
    """

    case: str
    layers: int
    parameters: int
    square_seconds: float
    partition_seconds: float
    peer_layers: int | None = None
    peer_parameters: int | None = None
    peer_square_seconds: float | None = None
    peer_partition_seconds: float | None = None


@torch.no_grad()
def measure_operators(case: Case, repeats: int = 30) -> OperatorTime:
    """Square a circuit and integrate the square, by both; medians of interleaved repeats, in CPU time of one thread.

    Raises: StructureError if the peer's results differ.
    """
    circuit = case.circuit()
    square = multiply(circuit, circuit)
    compiler = TorchCompiler()
    plain, ours, partition = (compiler.compile(c) for c in (circuit, square, integrate(square)))
    x = case.batch()
    calls: list[Callable[[], Tensor]] = [lambda: ours(x), lambda: partition()]
    peer = _peer_square(case, circuit, plain.leaf_state()) if peer_is_installed() else None
    if peer is None:
        square_seconds, partition_seconds = _times(calls, repeats)
        return OperatorTime(case.name, len(ours.layers), count_numbers(ours), square_seconds, partition_seconds)
    theirs, their_partition, order = peer
    reordered = torch.empty_like(x)
    reordered[:, order] = x
    calls += [lambda: theirs(reordered), lambda: their_partition()]
    for name, one, other in (("square", calls[0], calls[2]), ("integral", calls[1], calls[3])):
        a, b = one().reshape(-1), other().reshape(-1)
        if not torch.allclose(a, b, rtol=AGREEMENT, atol=AGREEMENT):
            raise StructureError(f"{case.name}: the {name} is {a[:3].tolist()}, the peer's {b[:3].tolist()}")
    times = _times(calls, repeats)
    return OperatorTime(
        case.name,
        len(ours.layers),
        count_numbers(ours),
        times[0],
        times[1],
        len(list(theirs.layers)),
        count_numbers(theirs),
        times[2],
        times[3],
    )


def count_numbers(module: nn.Module) -> int:
    """Numbers in the tensors of a module, learned or fixed, each tensor once."""
    found: dict[int, int] = {}
    for part in module.modules():
        tensors: Sequence[Any] = [*part.parameters(recurse=False), *part.buffers(recurse=False)]
        pointed: Any = getattr(part, "_parameter", None)  # the peer's pointer to the tensor of another circuit
        for tensor in (*tensors, getattr(pointed, "_ptensor", None)):
            if isinstance(tensor, Tensor) and (tensor.is_floating_point() or tensor.is_complex()):
                found[tensor.data_ptr()] = tensor.numel()
    return sum(found.values())


def _peer_square(case: Case, circuit: Circuit, values: Any) -> tuple[Any, Any, Tensor]:
    import cirkit.symbolic.functional as functional

    peer: PeerCircuit = compile_symbolic(build_symbolic(case))
    order = carry_values(circuit, values, peer)
    square = functional.multiply(peer.symbolic, peer.symbolic)
    return peer.context.compile(square), peer.context.compile(functional.integrate(square)), order


def _times(calls: Sequence[Callable[[], Tensor]], repeats: int) -> list[float]:
    """The median of each call in seconds."""
    samples: list[list[float]] = [[] for _ in calls]
    for _ in range(3):
        for call in calls:
            call()
    for _ in range(repeats):
        for call, own in zip(calls, samples, strict=True):
            started = process_time()
            call()
            own.append(process_time() - started)
    return [median(own) for own in samples]


def operators_table(times: Sequence[OperatorTime]) -> Table:
    """One row per squared circuit; a ratio below 1 means that ours has fewer parameters, or is faster."""
    table = Table(title="Squared circuits, and the integrals of the squares: ours / the peer's")
    table.add_column("case")
    for name in ("layers", "parameters", "ratio", "square, ms", "ratio", "integral, ms", "ratio"):
        table.add_column(name, justify="right")
    for row in times:
        table.add_row(
            row.case,
            _pair(row.layers, row.peer_layers),
            _pair(row.parameters, row.peer_parameters),
            _ratio(row.parameters, row.peer_parameters),
            f"{1000 * row.square_seconds:.2f}",
            _ratio(row.square_seconds, row.peer_square_seconds),
            f"{1000 * row.partition_seconds:.2f}",
            _ratio(row.partition_seconds, row.peer_partition_seconds),
        )
    return table


def exceeding(row: OperatorTime) -> list[str]:
    """What of ours is more than the peer's, in words."""
    pairs = (
        ("parameters", row.parameters, row.peer_parameters),
        ("seconds of the square", row.square_seconds, row.peer_square_seconds),
        ("seconds of the integral", row.partition_seconds, row.peer_partition_seconds),
    )
    return [
        f"{row.case}: {what}: {ours:g}, the peer {theirs:g}" for what, ours, theirs in pairs if theirs and ours > theirs
    ]


def _pair(ours: int, theirs: int | None) -> str:
    return f"{ours:,}" if theirs is None else f"{ours:,} / {theirs:,}"


def _ratio(ours: float, theirs: float | None) -> str:
    return "" if theirs is None else f"{ours / theirs:.3f}"
