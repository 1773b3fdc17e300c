"""The time of the fallback alone: what evaluates the rows that are not certified in single precision."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from rich.table import Table
from torch import Tensor, nn

from benchmarks import peer as peers
from benchmarks.cases import Case
from benchmarks.suite import Samples, faster_median, spread
from benchmarks.suite_entrants import PEER, Entrant
from explorer.bench import clock_for, time_interleaved
from explorer.compiler import TorchCompiler
from explorer.runtime.native.native_program import NativeProgram

FALLBACK = "fallback"


class Fallback(nn.Module):
    """The fallback of a program, for all rows."""

    def __init__(self, program: NativeProgram) -> None:
        super().__init__()
        self.program = program

    def forward(self, x: Tensor) -> Tensor:
        """X (B, D) -> (B, outputs, classes)."""
        found = self.program.evaluate_precisely(x)
        assert found is not None
        return found[0]


@dataclass(frozen=True, slots=True)
class FallbackTime:
    """Seconds of the fallback for all rows of a case, and of the peer, folded and optimized, in float32."""

    case: str
    samples: Mapping[str, Samples]

    @property
    def speedup(self) -> float:
        """How many times as fast as the peer; at least 1 is wanted."""
        return faster_median(self.samples[PEER]) / faster_median(self.samples[FALLBACK])


def measure_fallback(
    case: Case, num_threads: int, repeats: int, on_run: Callable[[str], None] = lambda name: None
) -> FallbackTime:
    """Time both on the same rows, interleaved; the peer has to be installed."""
    torch.set_num_threads(num_threads)
    source = case.circuit()
    circuit, x = TorchCompiler().compile(source), case.batch()
    other = peers.compile_symbolic(peers.build_symbolic(case))
    order = peers.carry_values(source, circuit.leaf_state(), other)
    entrants = {
        FALLBACK: Entrant(Fallback(NativeProgram(circuit.freeze())), x, training=False, ours=True),
        PEER: Entrant(other.module, x[:, order].contiguous(), training=False),
    }
    jobs = {name: one.job() for name, one in entrants.items()}
    clock = clock_for(num_threads)
    return FallbackTime(case.name, time_interleaved(jobs, repeats, warmups=2, clock=clock, on_run=on_run))


def fallback_table(times: Sequence[FallbackTime]) -> Table:
    """One row per case."""
    table = Table(title="The fallback alone, for all rows: kernels in double precision, parameters evaluated before")
    table.add_column("case", overflow="fold")
    for name in ("fallback ms", f"{PEER} ms", "times as fast", "wanted", "met"):
        table.add_column(name, justify="right", overflow="fold")
    for one in times:
        both = (one.samples[FALLBACK], one.samples[PEER])
        cells = [f"{1000 * faster_median(samples):.2f} ±{spread(samples):.0%}" for samples in both]
        table.add_row(one.case, *cells, f"{one.speedup:.2f}", "1", "yes" if one.speedup >= 1 else "no")
    return table


def fallback_to_json(times: Sequence[FallbackTime]) -> list[dict[str, object]]:
    """All samples as plain data."""
    return [{"case": one.case, "speedup": one.speedup, "seconds": dict(one.samples)} for one in times]
