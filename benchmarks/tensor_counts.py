"""Folded circuits at the tensor level: operators before and after the default passes, with equal values."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import torch
from rich.table import Table

from benchmarks.rewrite_times import RewriteTime
from explorer.bench import Job, clock_for, estimate, random_inputs, time_interleaved
from explorer.compiler import TorchCompiler
from explorer.templates import gallery

ROWS = 64
REPEATS = 15


@dataclass(frozen=True, slots=True)
class TensorCounts:
    """One circuit: operators before and after, the largest difference of outputs, and times in milliseconds.

    `circuit_ms` is the time of the folded circuit itself, which reuses its evaluated parameters. `ratio` is the time of
    the rewritten module over that of the exported program.
    """

    name: str
    before: int
    after: int
    difference: float
    circuit_ms: float
    before_ms: float
    after_ms: float
    rewrite_s: float

    @property
    def fewer(self) -> float:
        """The share of removed operators."""
        return 1 - self.after / max(self.before, 1)

    @property
    def ratio(self) -> float:
        """Time after over time before."""
        return self.after_ms / self.before_ms


def measure_tensor(name: str, num_threads: int = 1) -> TensorCounts:
    """Export a folded circuit of the gallery, run the default passes, compare values, count and time.

    The input module is the exported program itself, so both sides compute parameters at each call unless a pass has
    evaluated them. Raises: UnknownNameError for an unknown circuit.
    """
    from explorer.tensor import from_module, to_module
    from explorer.tensor.passes.base import DEFAULT_PIPELINE
    from explorer.tensor.recording.record_module import ManagedPipeline

    compiled = TorchCompiler().compile(gallery.load_named(name))
    x = random_inputs(compiled, ROWS)
    graph = from_module(compiled, (x,))
    plain, before = to_module(graph.clone()), len(graph)
    started = perf_counter()
    ManagedPipeline(DEFAULT_PIPELINE).rewrite(graph)
    rewrite_s = perf_counter() - started
    rewritten = to_module(graph)
    with torch.no_grad():
        wanted, found = compiled(x), rewritten(x)
        difference = (found - wanted).abs()
        difference[found == wanted] = 0
    modules = {"circuit": compiled.eval(), "plain": plain, "rewritten": rewritten}
    jobs = {side: Job(lambda _, module=module: module(x)) for side, module in modules.items()}
    with torch.no_grad():
        seconds = time_interleaved(jobs, REPEATS, clock=clock_for(num_threads))
    middle = {side: estimate(taken).median for side, taken in seconds.items()}
    return TensorCounts(
        name,
        before,
        len(graph),
        float(difference.max()),
        middle["circuit"],
        middle["plain"],
        middle["rewritten"],
        rewrite_s,
    )


def tensor_table(counts: Sequence[TensorCounts]) -> Table:
    """The counts of all circuits as a table."""
    table = Table(title=f"The tensor level: default passes for inference, {ROWS} rows")
    table.add_column("circuit")
    headings = ("operators before", "after", "fewer", "max |difference|", "ms circuit", "ms before", "ms after")
    for heading in (*headings, "ratio", "s"):
        table.add_column(heading, justify="right")
    for one in counts:
        table.add_row(
            one.name,
            f"{one.before:,}",
            f"{one.after:,}",
            f"{one.fewer:.0%}",
            f"{one.difference:.2g}",
            f"{one.circuit_ms:.3g}",
            f"{one.before_ms:.3g}",
            f"{one.after_ms:.3g}",
            f"{one.ratio:.2f}",
            f"{one.rewrite_s:.2f}",
        )
    return table


def tensor_to_json(counts: Sequence[TensorCounts], grown: Sequence[RewriteTime] = ()) -> dict[str, Any]:
    """Return the counts and times as data of JSON types."""
    return {
        "tensor": [{**asdict(one), "fewer": one.fewer, "ratio": one.ratio} for one in counts],
        "growth": [{**asdict(one), "ratio": one.ratio} for one in grown],
    }
