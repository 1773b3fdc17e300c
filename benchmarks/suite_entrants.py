"""What takes part in the benchmark suite: our backends, the peer, the peer under torch.compile, a hand-written circuit.

All have equal values. Outputs, and gradients of ours, are compared with double precision before anything is timed.
On CUDA there are more of them: what `torch.compile` makes with CUDA graphs, and our layers.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from time import sleep
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks import peer as peers
from benchmarks.allocations import cuda_kept_bytes, cuda_peak_bytes, kept_bytes, peak_bytes
from benchmarks.cases import Case
from benchmarks.device_times import device_seconds
from benchmarks.opponent import HandWrittenCircuit
from explorer.backend import TorchCircuit
from explorer.bench import Job
from explorer.compiler import TorchCompiler
from explorer.errors import LoweringError
from explorer.runtime import fast
from explorer.runtime.backends import BACKENDS
from explorer.symbolic import Circuit
from explorer.timings import CPU, CUDA

LAYERS, LAYERS_COMPILED, COMPARED = "layers", "layers, torch.compile", "parameters compared"
PEER, PEER_COMPILED, PEER_GRAPHS = "libcirkit", "libcirkit, torch.compile", "libcirkit, reduce-overhead"
HAND_WRITTEN, WRITTEN_GRAPHS = "hand-written, Inductor", "hand-written, reduce-overhead"

PEER_MODES = (PEER, PEER_COMPILED, PEER_GRAPHS)
OPPONENTS = (*PEER_MODES, HAND_WRITTEN, WRITTEN_GRAPHS)

NAMES = (*BACKENDS, COMPARED, LAYERS, LAYERS_COMPILED, *OPPONENTS)
"""The names of all entrants."""

CUDA_ONLY = (LAYERS_COMPILED, PEER_GRAPHS, WRITTEN_GRAPHS)
"""Entrants that take part on CUDA only. On the CPU there are no CUDA graphs."""

GRAPHS_MODE = "reduce-overhead"
"""The mode of `torch.compile` that captures CUDA graphs."""

CUDA_TRIALS = 3
"""Runs before anything is compared on CUDA: `torch.compile` compiles in the first, captures in the second, replays."""

TOLERANCE = 1e-4
"""The relative tolerance of outputs and gradients: at a log-likelihood of -4400 no absolute bound holds in float32."""


SETTLED_S = 0.03
"""How long threads of OpenMP may spin after the entrant that used them, on the processors of the next one."""


CLAMP = -708.0
"""Where a release of the peer clamps logarithms: exp of less is not a normal number in double precision."""


@dataclass(frozen=True, eq=False)
class Entrant:
    """A module with its input, whose forward pass or training step is measured.

    `kept_bytes` are temporaries that are kept for the next run, so that it does not allocate them: those of native
    kernels, and of CUDA graphs. With `in_shared_pool` these are unknown: the graphs of all programs that
    `torch.compile` makes share one pool of memory.
    """

    module: nn.Module
    x: Tensor
    training: bool
    ours: bool = False
    kept_bytes: int = 0
    in_shared_pool: bool = False

    def job(self) -> Job:
        """The forward pass without gradients; or forward and backward of the mean, without an optimizer.

        On the CPU with several threads, the run is the second one after a pause: a program that runs in a loop does not
        wait for threads to wake up.
        """
        module, x = self.module, self.x

        def begin() -> None:
            module.train(self.training)
            if self.training:
                module.zero_grad(set_to_none=True)

        def step(_: object) -> None:
            (-module(x).mean()).backward()

        def infer(_: object) -> None:
            self._infer()

        run = step if self.training else infer

        def prepare() -> None:
            begin()
            if x.is_cuda:
                torch.compiler.cudagraph_mark_step_begin()  # the outputs of the run before are not needed any more
            elif torch.get_num_threads() > 1:
                sleep(SETTLED_S)
                run(None)
                begin()

        return Job(run, prepare)

    def run(self) -> None:
        """Run the job once."""
        job = self.job()
        job.run(job.prepare())

    def output(self) -> Tensor:
        """The outputs (B, 1, 1), computed as the job does: in training, gradients are recorded."""
        self.job().prepare()
        with torch.set_grad_enabled(self.training):
            return self.module(self.x).detach()

    def gradient(self) -> Tensor:
        """The gradients of all parameters after a step, as one vector."""
        self.run()
        found = [torch.zeros_like(p) if p.grad is None else p.grad for p in self.module.parameters()]
        return torch.cat([one.reshape(-1) for one in found])

    def temporary_bytes(self) -> int | None:
        """What a run allocates at most at a time, and what it kept of the run before; None if that is unknown."""
        if self.in_shared_pool:
            return None
        self.run()
        job = self.job()
        job.prepare()
        peak = cuda_peak_bytes if self.x.is_cuda else peak_bytes
        return self.kept_bytes + peak(lambda: job.run(None))

    def device_seconds(self) -> float | None:
        """How long the device computes in a run; None on the CPU, or if it is unknown."""
        job = self.job()

        def run() -> None:
            job.run(job.prepare())

        return device_seconds(run) if self.x.is_cuda else None

    @torch.no_grad()
    def _infer(self) -> Tensor:
        return self.module(self.x)


@dataclass(frozen=True, eq=False)
class Field:
    """The entrants of a case by name, ours first, and why others are absent or run otherwise; why there is no race.

    `difference` is the largest relative one from double precision. `peer_clamps` says whether the peer's outputs are
    compared where log-likelihoods are near zero only, since they differ below; None without the peer, or if no
    log-likelihood is below `CLAMP`.
    """

    entrants: Mapping[str, Entrant]
    absent: Mapping[str, str]
    difference: float
    peer_clamps: bool | None
    refused: str


@dataclass(frozen=True, eq=False)
class _Entries:
    """The entrants so far, and why others are absent or run otherwise.

    An entrant that fails is absent, and the others go on.
    """

    entrants: dict[str, Entrant] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, make: Callable[[], Entrant]) -> None:
        """Make an entrant and run it, which compiles what is compiled."""
        skipped = _skipped_graphs()
        try:
            made = make()
            for _ in range(CUDA_TRIALS if made.x.is_cuda else 1):
                made.run()
            if made.x.is_cuda:
                torch.cuda.synchronize()  # so that an error of a kernel is raised here
        except LoweringError as error:
            self.absent[name] = str(error)
            return
        except Exception as error:  # noqa: BLE001 - of dynamo, Inductor, Triton, CUDA
            self.absent[name] = f"{type(error).__name__}: {error}".strip().splitlines()[0]
            return
        self.entrants[name] = made
        if made.in_shared_pool and _skipped_graphs() > skipped:
            self.absent[name] = "runs, but torch.compile made no CUDA graphs of some of its parts"


def names_for(device: str, training: bool) -> Sequence[str]:
    """The names of the entrants that may take part on a device in forward passes, or in training."""
    left_out = {COMPARED, HAND_WRITTEN, WRITTEN_GRAPHS} if training else {LAYERS_COMPILED}
    if device == CPU:
        left_out.update(CUDA_ONLY, () if training else (LAYERS,))
    return tuple(name for name in NAMES if name not in left_out)


def enter(case: Case, *, training: bool, only: Collection[str], device: str = CPU) -> Field:
    """Build the entrants of a case that have these names, and compare what they compute.

    A difference refuses all of them; on CUDA, where runs are rare, the entrant that differs is absent.
    """
    source = case.circuit()
    circuit = TorchCompiler().compile(source)
    entries = _Entries()
    other, order, refused, clamps = None, None, "", None
    if not peers.peer_is_installed():
        entries.absent[PEER] = "not installed"
    elif any(name in only for name in PEER_MODES):
        other = peers.compile_symbolic(peers.build_symbolic(case))
        order, calm_difference = _calm_difference(case, source, circuit, other)
        if not calm_difference <= TOLERANCE:
            refused = f"the outputs of {PEER} differ from ours by {calm_difference:.1g}"
    circuit = circuit.to(device)
    x = case.batch().to(device)
    _add_ours(entries, circuit, x, training, only)
    if other is not None:
        theirs = case.batch()[:, order].contiguous().to(device)
        _add_modes(entries, other.module.to(device), theirs, training, only, PEER_MODES)
    if not training and (HAND_WRITTEN in only or WRITTEN_GRAPHS in only):
        written = HandWrittenCircuit(circuit.freeze()).to(device)
        _add_modes(entries, written, x, training, only, ("", HAND_WRITTEN, WRITTEN_GRAPHS))
    entrants, absent = entries.entrants, entries.absent
    differences, lowest = _differences(circuit, x, entrants)
    for name in differences.keys() & set(PEER_MODES) if lowest < CLAMP else ():
        clamps = bool(clamps) or differences.pop(name) > TOLERANCE
    for name, difference in list(differences.items()):
        if not difference <= TOLERANCE:
            wrong = f"differs from double precision by {difference:.1g}"
            if device == CUDA:
                absent[name] = wrong
                del entrants[name], differences[name]
            else:
                refused = f"{name} {wrong}"
    if not entrants:
        refused = "none of these entrants can take part"
    return Field(entrants, absent, max(differences.values(), default=0.0), clamps, refused)


def calm_values(values: Mapping[str, Tensor], case: Case) -> tuple[dict[str, Tensor], Tensor]:
    """Return values and inputs with log-likelihoods near zero.

    A release of the peer that clamps logarithms at -708 can be compared only while every layer stays above: every pixel
    is likely to be 0 and nearly always is, and every mean is near 0.
    """
    calm: dict[str, Tensor] = {}
    for name, value in values.items():
        new = value.clone()
        if name.endswith((".probs", ".logits")):
            new[..., 0] += 12.0
        elif name.endswith(".mean"):
            new *= 0.1
        calm[name] = new
    x = case.batch(seed=1)
    if case.input_layer == "gaussian":
        return calm, x * 0.1
    keep = torch.rand(x.shape, generator=torch.Generator().manual_seed(2)) < 0.02
    return calm, torch.where(keep, x, torch.zeros_like(x))


def _add_ours(entries: _Entries, circuit: TorchCircuit, x: Tensor, training: bool, only: Collection[str]) -> None:
    """Add our entrants, fastest backend first, and say why a backend is absent, or why the layers run instead.

    At inference the parameters are evaluated before, but for `COMPARED`, which looks whether they have changed.
    """
    given = circuit if training else circuit.freeze()

    def on_backend(name: str) -> Entrant:
        made = fast(given, backend=name)
        with torch.set_grad_enabled(training):
            reason = made.why_not(_fewer(x))
        if reason and training:
            raise LoweringError(f"the layers run, as {reason}")
        found = _first_runs(Entrant(made, x, training, ours=True))
        if reason:
            entries.absent[name] = f"the layers run, as {reason}"
        elif remark := made.backend.remark():  # such as: not compiled, but run eagerly
            entries.absent[name] = remark
        return found

    for name in (name for name in BACKENDS if name in only):
        entries.add(name, partial(on_backend, name))
    if LAYERS in only:
        entries.add(LAYERS, lambda: Entrant(given, x, training, ours=True))
    if LAYERS_COMPILED in only:
        entries.add(LAYERS_COMPILED, lambda: Entrant(_compile(given), x, training, ours=True))
    if not training and COMPARED in only:
        entries.add(COMPARED, lambda: _first_runs(Entrant(fast(circuit), x, training, ours=True)))


def _add_modes(
    entries: _Entries, module: nn.Module, x: Tensor, training: bool, only: Collection[str], names: Sequence[str]
) -> None:
    """Add an opponent by the names of its modes: as it is, under `torch.compile`, and compiled with CUDA graphs."""
    eager, compiled, graphs = names
    if eager in only:
        entries.add(eager, lambda: Entrant(module, x, training))
    if compiled in only:
        entries.add(compiled, lambda: Entrant(_compile(module), x, training))
    if graphs in only:
        made = partial(_compile, module, GRAPHS_MODE)
        entries.add(graphs, lambda: Entrant(made(), x, training, in_shared_pool=x.is_cuda))


def _first_runs(entrant: Entrant) -> Entrant:
    """Run fewer rows, which packs, compiles and plans, and then all, which allocates the memory that is kept."""
    replace(entrant, x=_fewer(entrant.x)).run()
    kept = cuda_kept_bytes if entrant.x.is_cuda else kept_bytes
    return replace(entrant, kept_bytes=kept(entrant.run))


def _fewer(x: Tensor) -> Tensor:
    """Fewer rows, so that what is kept for them is too small for all.

    That is so if each thread has one tile, and as many threads take part: for 64 or 256 rows on up to two threads.
    """
    return x[: max(len(x) - torch.get_num_threads(), 1)]


def _differences(circuit: TorchCircuit, x: Tensor, entrants: Mapping[str, Entrant]) -> tuple[dict[str, float], float]:
    """How much outputs, or gradients of ours, differ from double precision; and the lowest output."""
    training = any(one.training for one in entrants.values())
    precise = Entrant(deepcopy(circuit).double(), x.double() if x.is_floating_point() else x, training)
    wanted = precise.output()
    found = {name: relative_difference(one.output(), wanted) for name, one in entrants.items()}
    if training:
        gradient = precise.gradient()
        for name, one in entrants.items():
            if one.ours:
                found[name] = max(found[name], relative_difference(one.gradient(), gradient))
    return found, float(wanted.min())


def relative_difference(found: Tensor, wanted: Tensor) -> float:
    """The largest relative difference of outputs, absolute for logarithms near zero; of vectors that of their norms."""
    found, wanted = found.double(), wanted.double()
    if found.dim() == 1:
        return float((found - wanted).norm() / wanted.norm())
    return float(((found - wanted).abs() / wanted.abs().clamp(min=1.0)).max())


def _calm_difference(
    case: Case, source: Circuit, circuit: TorchCircuit, other: peers.PeerCircuit
) -> tuple[Tensor, float]:
    """The peer's order of variables, and how much it differs from ours on calm values; both have initial ones then."""
    initial = circuit.leaf_state()
    calm, x = calm_values(initial, case)
    circuit.load_leaf_state(calm)
    order = peers.carry_values(source, calm, other)
    found, wanted = Entrant(other.module, x[:, order], False).output(), Entrant(circuit, x, False).output()
    circuit.load_leaf_state(initial)
    peers.carry_values(source, initial, other)
    return order, relative_difference(found, wanted)


def _compile(module: nn.Module, mode: str | None = None) -> Any:
    """The module under torch.compile, for as many threads as torch has now."""
    return torch.compile(module, dynamic=False, mode=mode)


def _skipped_graphs() -> int:
    """How many programs `torch.compile` made no CUDA graph of, though its mode asks for one."""
    return torch._dynamo.utils.counters["inductor"]["cudagraph_skips"]


def names_of_ours(entrants: Mapping[str, Entrant]) -> Sequence[str]:
    """Our entrants, fastest backend first."""
    return [name for name, one in entrants.items() if one.ours]
