"""Compile time: ours without listeners and with the recorder, the peer's, and how ours grows with the circuit."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch

from explorer.bench import peer as peers
from explorer.bench.cases import Case, case_named
from explorer.bench.timing import Job, Samples, clock_for, ratio, time_interleaved
from explorer.compiler import TorchCompiler, record

PEER_CASES: Sequence[str] = ("mnist", "poon-domingos")
GROWTH_CASES: Sequence[str] = ("qg-cp-12", "qg-cp-28", "qg-cp-53")
"""One structure at about 1,000, 5,700 and 20,300 layers, with little work in each."""

PLAIN, RECORDED, PEER = "ours", "ours, recorded", "peer"


@dataclass(frozen=True)
class CompileTimes:
    """The compile times of one case: layers of the symbolic circuit, layers that result, samples by what was timed."""

    case: str
    symbolic_layers: int
    num_layers: int
    peer_layers: int | None
    samples: Mapping[str, Samples]

    @property
    def ratio(self) -> float | None:
        """Our time over the peer's; None without the peer."""
        return ratio(self.samples[PLAIN], self.samples[PEER]) if PEER in self.samples else None

    @property
    def recording_overhead(self) -> float | None:
        """What recording adds, as a share of the time without; None if it was not timed."""
        return ratio(self.samples[RECORDED], self.samples[PLAIN]) - 1 if RECORDED in self.samples else None

    @property
    def seconds_per_1000_layers(self) -> float:
        """Our time for each thousand symbolic layers."""
        return 1000 * self.samples[PLAIN].median / self.symbolic_layers


def measure_compile(case: Case, *, repeats: int, on_run: Callable[[str], None] = lambda name: None) -> CompileTimes:
    """Time ours, ours recorded, and the peer where it is installed.

    Each run compiles a circuit that was just built, in a compiler of its own, so that nothing is reused on either side.
    """
    torch.set_num_threads(1)
    jobs = {
        PLAIN: Job(lambda circuit: TorchCompiler().compile(circuit), case.circuit),
        RECORDED: Job(record, case.circuit),
    }
    peer_layers = None
    if peers.peer_is_installed():
        jobs[PEER] = Job(peers.compile_symbolic, lambda: peers.build_symbolic(case))
        peer_layers = peers.compile_symbolic(peers.build_symbolic(case)).num_layers
    samples = time_interleaved(jobs, repeats, clock=clock_for(1), on_run=on_run)
    circuit = case.circuit()
    return CompileTimes(
        case.name, len(circuit.graph), len(TorchCompiler().compile(circuit).layers), peer_layers, samples
    )


def measure_growth(
    cases: Sequence[str] = GROWTH_CASES, *, repeats: int, on_run: Callable[[str], None] = lambda name: None
) -> tuple[CompileTimes, ...]:
    """Time ours on one structure of growing size, the sizes in turns."""
    torch.set_num_threads(1)
    chosen = [case_named(name) for name in cases]
    jobs = {case.name: Job(lambda circuit: TorchCompiler().compile(circuit), case.circuit) for case in chosen}
    samples = time_interleaved(jobs, repeats, clock=clock_for(1), on_run=on_run)
    found: list[CompileTimes] = []
    for case in chosen:
        circuit = case.circuit()
        layers = len(TorchCompiler().compile(circuit).layers)
        found.append(CompileTimes(case.name, len(circuit.graph), layers, None, {PLAIN: samples[case.name]}))
    return tuple(found)


def deviations_from_proportional(times: Sequence[CompileTimes]) -> tuple[float, ...]:
    """How far the time for 1,000 layers of each case lies from that of all cases together, as a share of it."""
    rates = [entry.seconds_per_1000_layers for entry in times]
    middle = (max(rates) + min(rates)) / 2
    return tuple(rate / middle - 1 for rate in rates)
