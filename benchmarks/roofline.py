"""How near the native kernels come to what the machine can do: the share of the roof of each case."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from rich.table import Table

from benchmarks.cases import Case
from benchmarks.suite import QUIET, Samples, faster_median, spread
from benchmarks.suite_entrants import Entrant
from explorer.bench import clock_for, time_interleaved
from explorer.bench.roofs import HardwareLimits
from explorer.compiler import TorchCompiler
from explorer.runtime import fast
from explorer.runtime.plan import lower_to_plan, run_passes
from explorer.runtime.work import Work, measure_work, total_work

WANTED_SHARES: Mapping[str, float] = {"L3": 0.6, "L5": 0.6, "L7": 0.6}
"""Where matrix products take nearly all of the time."""
WANTED_SHARE = 0.3
"""Everywhere else: exponentials, look-ups in tables and short rows are not in the roof."""


@dataclass(frozen=True, slots=True)
class Roofline:
    """The work of a case, the time that it takes at least on a machine with these limits, and the time it took."""

    case: str
    work: Work
    limits: HardwareLimits
    samples: Samples

    @property
    def roof_seconds(self) -> float:
        """The time that no program can undercut."""
        return self.work.seconds(self.limits.flops_per_second, self.limits.bytes_per_second)

    @property
    def share(self) -> float:
        """The share of the roof that was reached."""
        return self.roof_seconds / faster_median(self.samples)

    @property
    def wanted(self) -> float:
        """The share that is wanted."""
        return WANTED_SHARES.get(self.case, WANTED_SHARE)

    @property
    def is_quiet(self) -> bool:
        """Whether the samples are quiet enough to be believed."""
        return spread(self.samples) <= QUIET


def measure_roofline(
    case: Case, limits: HardwareLimits, repeats: int, on_run: Callable[[str], None] = lambda name: None
) -> Roofline:
    """Time a case on the native backend with evaluated parameters. Raises: LoweringError without a C++ compiler."""
    torch.set_num_threads(limits.num_threads)
    circuit, x = TorchCompiler().compile(case.circuit()).freeze(), case.batch()
    plan = run_passes(lower_to_plan(circuit))
    work = total_work(list(measure_work(plan, circuit, len(x)).values())) + Work(num_bytes=x.nbytes)
    job = Entrant(fast(circuit, backend="native"), x, training=False).job()
    clock = clock_for(limits.num_threads)
    samples = time_interleaved({case.name: job}, repeats, warmups=2, clock=clock, on_run=on_run)
    return Roofline(case.name, work, limits, samples[case.name])


def roofline_table(found: Sequence[Roofline]) -> Table:
    """One row per case."""
    table = Table(title="Share of the roof: forward pass on the native backend, parameters evaluated before")
    table.add_column("case")
    for name in ("GFLOP", "MiB to read", "roof ms", "bound by", "ms", "share of the roof", "wanted", "met"):
        table.add_column(name, justify="right", overflow="fold")
    for one in found:
        computing = one.work.flops / one.limits.flops_per_second
        table.add_row(
            one.case,
            f"{one.work.flops / 1e9:.3f}",
            f"{one.work.num_bytes / 2**20:.1f}",
            f"{1000 * one.roof_seconds:.2f}",
            "operations" if computing >= one.roof_seconds else "memory",
            f"{1000 * faster_median(one.samples):.2f} ±{spread(one.samples):.0%}",
            f"{one.share:.0%}",
            f"{one.wanted:.0%}",
            ("yes" if one.share >= one.wanted else "no") if one.is_quiet else "not quiet",
        )
    return table


def limits_text(limits: HardwareLimits) -> str:
    """The limits of the machine, and how they were measured."""
    return (
        f"The roof: {limits.flops_per_second / 1e9:.0f} GFLOP/s and {limits.bytes_per_second / 1e9:.0f} GB/s on "
        f"{limits.num_threads} thread(s), measured by kernels of ours that do nothing but multiply and add, or read "
        "256 MiB. Exponentials and logarithms are not in it."
    )


def roofline_to_json(found: Sequence[Roofline]) -> list[dict[str, Any]]:
    """All figures as data of JSON types."""
    return [
        {
            "case": one.case,
            "flops": one.work.flops,
            "bytes": one.work.num_bytes,
            "flops_per_second": one.limits.flops_per_second,
            "bytes_per_second": one.limits.bytes_per_second,
            "roof_s": one.roof_seconds,
            "seconds": list(one.samples),
            "share": one.share,
            "wanted": one.wanted,
            "is_quiet": one.is_quiet,
        }
        for one in found
    ]
