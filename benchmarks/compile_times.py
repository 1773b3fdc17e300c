"""Compile times: ours without listeners and with the recorder, the peer's, and the growth of ours with the circuit."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch

from benchmarks import peer as peers
from benchmarks.cases import Case, get_case
from explorer.bench import Job, clock_for, estimate, ratio, time_interleaved
from explorer.compiler import TorchCompiler, record

PEER_CASES: Sequence[str] = ("mnist", "poon-domingos")
GROWTH_CASES: Sequence[str] = ("qg-cp-12", "qg-cp-28", "qg-cp-53")
"""One structure at about 1,000, 5,700 and 20,300 layers, with little work in each."""

PLAIN, RECORDED, PEER = "ours", "ours, recorded", "peer"
RECORDING_RUNS = 3
"""Runs with and without the recorder, per run of the peer: their difference is small, and they are cheap."""

Seconds = tuple[float, ...]
"""The seconds of each run of a job, in the order of measurement."""


@dataclass(frozen=True)
class CompileTimes:
    """The compile times of one case: layers of the symbolic and of the compiled circuit, seconds by job.

    `samples` are ours, with and without the recorder, interleaved; `beside_peer` are ours and the peer's, interleaved.
    """

    case: str
    symbolic_layers: int
    num_layers: int
    samples: Mapping[str, Seconds]
    peer_layers: int | None = None
    beside_peer: Mapping[str, Seconds] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """Our time over the peer's; None without the peer."""
        return ratio(self.beside_peer[PLAIN], self.beside_peer[PEER]) if self.beside_peer else None

    @property
    def recording_overhead(self) -> float | None:
        """The overhead of recording, as a share of the time without; None if it was not timed."""
        return ratio(self.samples[RECORDED], self.samples[PLAIN]) - 1 if RECORDED in self.samples else None

    @property
    def seconds_per_1000_layers(self) -> float:
        """Our time per thousand symbolic layers."""
        return estimate(self.samples[PLAIN]).median / self.symbolic_layers


def measure_compile(case: Case, *, repeats: int, on_run: Callable[[str], None] = lambda name: None) -> CompileTimes:
    """Time ours, ours with the recorder, and the peer if it is installed.

    Each run compiles a freshly built circuit with a fresh compiler, so that nothing is reused on either side.
    """
    torch.set_num_threads(1)
    jobs = {PLAIN: _our_job(case), RECORDED: Job(record, case.circuit)}
    samples = _time(jobs, RECORDING_RUNS * repeats, on_run)
    symbolic_layers, num_layers = _layer_counts(case)
    if not peers.peer_is_installed():
        return CompileTimes(case.name, symbolic_layers, num_layers, samples)
    jobs = {PLAIN: _our_job(case), PEER: Job(peers.compile_symbolic, lambda: peers.build_symbolic(case))}
    beside_peer = _time(jobs, repeats, on_run, freeze_heap=True)  # the peer does not pay for our objects
    peer_layers = peers.compile_symbolic(peers.build_symbolic(case)).num_layers
    return CompileTimes(case.name, symbolic_layers, num_layers, samples, peer_layers, beside_peer)


def measure_recording(case: Case, *, repeats: int) -> float:
    """Measure the overhead of recording, as a share of the time to compile without it."""
    torch.set_num_threads(1)
    samples = _time({PLAIN: _our_job(case), RECORDED: Job(record, case.circuit)}, repeats, lambda name: None)
    return ratio(samples[RECORDED], samples[PLAIN]) - 1


def measure_growth(
    cases: Sequence[str] = GROWTH_CASES, *, repeats: int, on_run: Callable[[str], None] = lambda name: None
) -> tuple[CompileTimes, ...]:
    """Time ours on one structure of growing size, the sizes interleaved."""
    torch.set_num_threads(1)
    chosen = [get_case(name) for name in cases]
    samples = _time({case.name: _our_job(case) for case in chosen}, repeats, on_run)
    return tuple(CompileTimes(case.name, *_layer_counts(case), {PLAIN: samples[case.name]}) for case in chosen)


def deviations_from_proportional(times: Sequence[CompileTimes]) -> tuple[float, ...]:
    """Relative deviation of each case's time per 1,000 layers from the middle between the extremes."""
    rates = [entry.seconds_per_1000_layers for entry in times]
    if not rates:
        return ()
    middle = (max(rates) + min(rates)) / 2
    return tuple(rate / middle - 1 for rate in rates)


def num_compile_runs(repeats: int, with_peer: bool) -> int:
    """The number of runs of `measure_compile` for one case, including warm-ups."""
    return 2 * (RECORDING_RUNS * repeats + 1) + 2 * (repeats + 1) * with_peer


def _our_job(case: Case) -> Job:
    return Job(lambda circuit: TorchCompiler().compile(circuit), case.circuit)


def _time(
    jobs: Mapping[str, Job], repeats: int, on_run: Callable[[str], None], freeze_heap: bool = False
) -> dict[str, Seconds]:
    """Time ours in a heap as a user has it: a compiler hides what it makes from the collector, unless it is frozen."""
    return time_interleaved(jobs, repeats, clock=clock_for(1), on_run=on_run, freeze_heap=freeze_heap)


def _layer_counts(case: Case) -> tuple[int, int]:
    """Layers of the symbolic circuit, and of the compiled one."""
    circuit = case.circuit()
    return len(circuit.graph), len(TorchCompiler().compile(circuit).layers)
