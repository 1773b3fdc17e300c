"""Folded circuits with and without ordered slices: the reads that copy, and the bytes that they copy per example."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from explorer.backend import TorchCircuit
from explorer.compiler import TorchCompiler, trace_of_circuit
from explorer.symbolic import Circuit
from explorer.templates import gallery


@dataclass(frozen=True, slots=True)
class ReadCounts:
    """The reads of a folded circuit.

    `copying` are the reads of layers that copy: gathers and concatenations. `gathers` are all reads by an index table,
    including those of parameters and outputs. `copied_bytes` are copied by the reads of layers, for one example.
    """

    layers: int
    copying: int
    gathers: int
    copied_bytes: int


@dataclass(frozen=True, slots=True)
class OrderedReads:
    """A circuit, its reads with slices in the order of appearance, and with ordered slices."""

    name: str
    before: ReadCounts
    after: ReadCounts


def measure_reads(name: str) -> OrderedReads:
    """Compile a circuit of the gallery with and without ordered slices. Raises: UnknownNameError."""
    circuit = gallery.load_named(name)
    return OrderedReads(name, _count(circuit, order_slices=False), _count(circuit, order_slices=True))


def _count(circuit: Circuit, order_slices: bool) -> ReadCounts:
    compiled = TorchCompiler(order_slices=order_slices).compile(circuit)
    snapshot = trace_of_circuit(compiled).steps[0].snapshot
    copying = sum(read["copied_bytes"] > 0 for read in snapshot.reads.values())
    return ReadCounts(len(compiled.layers), copying, _num_gathers(compiled), snapshot.stats["copied_bytes"])


def _num_gathers(compiled: TorchCircuit) -> int:
    """Count the index tables of a circuit: it has one for each gather."""
    return sum(name.startswith("index_") for name, _ in compiled.named_buffers())


def reads_table(counts: Sequence[OrderedReads]) -> Table:
    """The counts of all circuits as a table."""
    table = Table(title="Reads that copy, without and with ordered slices")
    table.add_column("circuit")
    for heading in ("calls", "copying reads", "ordered", "gathers", "ordered", "bytes per example", "ordered"):
        table.add_column(heading, justify="right")
    for one in counts:
        before, after = one.before, one.after
        pairs = [
            (before.copying, after.copying),
            (before.gathers, after.gathers),
            (before.copied_bytes, after.copied_bytes),
        ]
        numbers = [before.layers, *(number for pair in pairs for number in pair)]
        table.add_row(one.name, *(f"{number:,}" for number in numbers))
    return table


def reads_to_json(counts: Sequence[OrderedReads]) -> dict[str, Any]:
    """Return the counts as data of JSON types."""
    return {"reads": [asdict(one) for one in counts]}
