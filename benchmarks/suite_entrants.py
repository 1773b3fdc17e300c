"""What takes part in the benchmark suite: our backends, the peer, the peer under torch.compile, a hand-written circuit.

All have equal values. Outputs, and gradients of ours, are compared with double precision before anything is timed.
"""

from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from time import sleep
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks import peer as peers
from benchmarks.allocations import kept_bytes, peak_bytes
from benchmarks.cases import Case
from benchmarks.opponent import HandWrittenCircuit
from explorer.backend import TorchCircuit
from explorer.bench import Job
from explorer.compiler import TorchCompiler
from explorer.errors import LoweringError
from explorer.runtime import fast
from explorer.runtime.backends import BACKENDS
from explorer.symbolic import Circuit

LAYERS, COMPARED = "layers", "parameters compared"
PEER, PEER_COMPILED, HAND_WRITTEN = "libcirkit", "libcirkit, torch.compile", "hand-written, Inductor"

NAMES = (*BACKENDS, COMPARED, LAYERS, PEER, PEER_COMPILED, HAND_WRITTEN)
"""Of all entrants."""

TOLERANCE = 1e-4
"""Of outputs and gradients, relative: at a log-likelihood of -4400 no absolute bound holds in float32."""


SETTLED_S = 0.03
"""How long threads of OpenMP may spin after the entrant that used them, on the processors of the next one."""


CLAMP = -708.0
"""Where a release of the peer clamps logarithms: exp of less is not a normal number in double precision."""


@dataclass(frozen=True, eq=False)
class Entrant:
    """A module with its input, whose forward pass or training step is measured.

    `kept_bytes` are temporaries of native kernels, which they keep for the next run, so that it does not allocate them.
    """

    module: nn.Module
    x: Tensor
    training: bool
    ours: bool = False
    kept_bytes: int = 0

    def job(self) -> Job:
        """The forward pass without gradients; or forward and backward of the mean, without an optimizer."""
        module, x = self.module, self.x

        def prepare() -> None:
            module.train(self.training)
            if self.training:
                module.zero_grad(set_to_none=True)
            if torch.get_num_threads() > 1:
                sleep(SETTLED_S)

        def step(_: object) -> None:
            (-module(x).mean()).backward()

        return Job(step if self.training else lambda _: self.output(), prepare)

    def run(self) -> None:
        """Run the job once."""
        job = self.job()
        job.run(job.prepare())

    @torch.no_grad()
    def output(self) -> Tensor:
        """The outputs (B, 1, 1)."""
        return self.module(self.x)

    def gradient(self) -> Tensor:
        """The gradients of all parameters after a step, as one vector."""
        self.run()
        found = [torch.zeros_like(p) if p.grad is None else p.grad for p in self.module.parameters()]
        return torch.cat([one.reshape(-1) for one in found])

    def temporary_bytes(self) -> int:
        """What a run allocates at most at a time, and what it kept of the run before."""
        self.run()
        job = self.job()
        job.prepare()
        return self.kept_bytes + peak_bytes(lambda: job.run(None))


@dataclass(frozen=True, eq=False)
class Field:
    """The entrants of a case by name, ours first, and why others are absent or run the layers; why there is no race.

    `difference` is the largest relative one from double precision. `peer_clamps` says whether the peer's outputs are
    compared where log-likelihoods are near zero only, since they differ below; None without the peer, or if no
    log-likelihood is below `CLAMP`.
    """

    entrants: Mapping[str, Entrant]
    absent: Mapping[str, str]
    difference: float
    peer_clamps: bool | None
    refused: str


def enter(case: Case, *, training: bool, only: Collection[str] = NAMES) -> Field:
    """Build the entrants of a case that have these names, and compare what they compute."""
    source = case.circuit()
    circuit = TorchCompiler().compile(source)
    x = case.batch()
    entrants, absent = _ours(circuit, x, training, only)
    refused, clamps = "", None
    if not peers.peer_is_installed():
        absent[PEER] = "not installed"
    elif PEER in only or PEER_COMPILED in only:
        other = peers.compile_symbolic(peers.build_symbolic(case))
        order, calm_difference = _calm_difference(case, source, circuit, other)
        if not calm_difference <= TOLERANCE:
            refused = f"the outputs of {PEER} differ from ours by {calm_difference:.1g}"
        theirs = x[:, order].contiguous()
        if PEER in only:
            entrants[PEER] = Entrant(other.module, theirs, training)
        if PEER_COMPILED in only:
            entrants[PEER_COMPILED] = Entrant(_compile(other.module), theirs, training)
    if HAND_WRITTEN in only and not training:
        entrants[HAND_WRITTEN] = Entrant(_compile(HandWrittenCircuit(circuit.freeze())), x, training)
    differences, lowest = _differences(circuit, x, entrants)
    for name in differences.keys() & {PEER, PEER_COMPILED} if lowest < CLAMP else ():
        clamps = bool(clamps) or differences.pop(name) > TOLERANCE
    if not entrants:
        refused = "none of these entrants can take part"
    for name, difference in differences.items():
        if not difference <= TOLERANCE:
            refused = f"{name} differs from double precision by {difference:.1g}"
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


def _ours(
    circuit: TorchCircuit, x: Tensor, training: bool, only: Collection[str]
) -> tuple[dict[str, Entrant], dict[str, str]]:
    """Our entrants, fastest backend first, and why a backend is absent, or why the layers run instead.

    At inference the parameters are evaluated before, but for `COMPARED`, which looks whether they have changed.
    """
    found: dict[str, Entrant] = {}
    absent: dict[str, str] = {}
    given = circuit if training else circuit.freeze()
    for name in (name for name in BACKENDS if name in only):
        try:
            made = fast(given, backend=name)
            with torch.set_grad_enabled(training):
                reason = made.why_not(_fewer(x))
        except LoweringError as error:
            absent[name] = str(error)
            continue
        if reason:
            absent[name] = f"the layers run, as {reason}"
        if not (reason and training):
            found[name] = _first_runs(Entrant(made, x, training, ours=True))
    if training and LAYERS in only:
        found[LAYERS] = Entrant(circuit, x, training, ours=True)
    if not training and COMPARED in only:
        found[COMPARED] = _first_runs(Entrant(fast(circuit), x, training, ours=True))
    return found, absent


def _first_runs(entrant: Entrant) -> Entrant:
    """Run fewer rows, which packs, compiles and plans, and then all, which allocates the memory that is kept."""
    replace(entrant, x=_fewer(entrant.x)).run()
    return replace(entrant, kept_bytes=kept_bytes(entrant.run))


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


def _compile(module: nn.Module) -> Any:
    """The module under torch.compile, for as many threads as torch has now."""
    return torch.compile(module, dynamic=False)


def names_of_ours(entrants: Mapping[str, Entrant]) -> Sequence[str]:
    """Our entrants, fastest backend first."""
    return [name for name, one in entrants.items() if one.ours]
