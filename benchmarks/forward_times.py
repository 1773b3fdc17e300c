"""Times of the forward pass and a training step of the folded circuit, ours and the peer's, with equal values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks import peer as peers
from benchmarks.cases import Case
from benchmarks.compile_times import Seconds
from explorer.backend import TorchCircuit
from explorer.bench import Job, clock_for, estimate, ratio, time_interleaved
from explorer.compiler import TorchCompiler
from explorer.errors import CircuitError
from explorer.runtime import fast
from explorer.symbolic import Circuit

DEFAULT_CASES: Sequence[str] = ("digits", "L1", "L2", "L4")
RELATIVE_TOLERANCE = 1e-4
"""The tolerance of outputs, required for a time (relative, since in float32 no absolute bound holds at |LL| = 4400)."""

FORWARD, FRESH, TRAINING = "forward", "forward, fresh parameters", "training step"
FAST, FAST_FRESH = "forward, fast", "forward, fast, fresh parameters"
COMPILED = "forward, torch.compile"
MEASURED = (FAST, FAST_FRESH, FORWARD, FRESH, COMPILED, TRAINING)
"""What is timed. All forward passes are compared with the one of the peer, which evaluates its parameters each time."""


@dataclass(frozen=True)
class ForwardTimes:
    """The times of one case. `ours`, `peers` and `peers_alone` map the name of a job to its seconds.

    `peers_alone` was measured without our jobs in between, as interleaving can slow the peer down. `difference` is the
    largest relative difference of the compared outputs.
    """

    case: str
    batch_size: int
    num_layers: int
    peer_layers: int | None
    difference: float | None
    ours: Mapping[str, Seconds]
    peers: Mapping[str, Seconds]
    peers_alone: Mapping[str, Seconds]

    def ratio(self, what: str) -> float | None:
        """Our time over the peer's, the faster of its times alone and interleaved; None without the peer."""
        if what not in self.peers:
            return None
        in_turns = ratio(self.ours[what], self.peers[what])
        return max(in_turns, estimate(self.ours[what]).median / estimate(self.peers_alone[what]).median)

    def ratio_to_compiled(self, what: str) -> float | None:
        """Our time over that of the peer under torch.compile; None for a training step, or if it was not measured."""
        if what == TRAINING or COMPILED not in self.peers:
            return None
        alone = estimate(self.ours[what]).median / estimate(self.peers_alone[COMPILED]).median
        return max(ratio(self.ours[what], self.peers[COMPILED]), alone)


def measure_forward(
    case: Case,
    *,
    num_threads: int,
    repeats: int,
    compiled: bool = False,
    on_run: Callable[[str], None] = lambda name: None,
) -> ForwardTimes:
    """Time one case; if `compiled`, also under torch.compile. Raises: CircuitError if the outputs differ."""
    torch.set_num_threads(num_threads)
    source = case.circuit()
    ours = TorchCompiler().compile(source)
    x = case.batch()
    jobs = {f"ours, {name}": job for name, job in _jobs(ours, x).items()}
    frozen = ours.freeze()
    jobs[f"ours, {FORWARD}"] = Job(lambda _: _forward(frozen, x))
    for name, module in ((FAST, fast(frozen)), (FAST_FRESH, fast(ours))):
        jobs[f"ours, {name}"] = Job(lambda _, module=module: _forward(module, x))
    jobs[f"ours, {FRESH}"] = Job(lambda _: _forward(ours, x))
    if compiled:
        jobs[f"ours, {COMPILED}"] = _compiled(frozen, x)
    other: peers.PeerCircuit | None = None
    difference: float | None = None
    alone: Mapping[str, Seconds] = {}
    clock = clock_for(num_threads)
    if peers.peer_is_installed():
        other = peers.compile_symbolic(peers.build_symbolic(case))
        order, difference = _agree(case, source, ours, other)
        others = {f"peer, {name}": job for name, job in _jobs(other.module, x[:, order].contiguous()).items()}
        if compiled:
            others[f"peer, {COMPILED}"] = _compiled(other.module, x[:, order].contiguous())
        alone = time_interleaved(others, repeats, warmups=2, clock=clock, on_run=on_run)
        jobs |= others
    samples = time_interleaved(jobs, repeats, warmups=2, clock=clock, on_run=on_run)
    return ForwardTimes(
        case.name,
        len(x),
        len(ours.layers),
        other.num_layers if other is not None else None,
        difference,
        _of("ours, ", samples),
        _with_fresh(_of("peer, ", samples)),
        _with_fresh(_of("peer, ", alone)),
    )


def calm_values(values: Mapping[str, Tensor], case: Case) -> tuple[dict[str, Tensor], Tensor]:
    """Return values and inputs with log-likelihoods near zero.

    The released peer clamps logarithms at -708, so both sides can be compared only while every layer stays above:
    every pixel is likely to be 0 and nearly always is, and every mean is near 0.
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


def _agree(case: Case, source: Circuit, ours: TorchCircuit, other: peers.PeerCircuit) -> tuple[Tensor, float]:
    """Compare both sides on calm values, then restore the initial ones; returns the peer's order of variables."""
    initial = ours.leaf_state()
    calm, x = calm_values(initial, case)
    ours.load_leaf_state(calm)
    order = peers.carry_values(source, calm, other)
    expected = _forward(other.module, x[:, order])
    found = torch.stack([_forward(ours, x), _forward(fast(ours), x)])
    difference = float(((found - expected).abs() / expected.abs()).max())
    if not difference <= RELATIVE_TOLERANCE:
        raise CircuitError(
            f"{case.name}: our outputs differ from the peer's by {difference:.2g} relative, more than "
            f"{RELATIVE_TOLERANCE}; no time is reported"
        )
    ours.load_leaf_state(initial)
    peers.carry_values(source, initial, other)
    return order, difference


def _jobs(module: nn.Module, x: Tensor) -> dict[str, Job]:
    """The forward pass in eval mode without gradients; forward plus backward of the mean negative log-likelihood."""

    def prepare_step() -> None:
        module.train()
        module.zero_grad(set_to_none=True)

    def step(_: object) -> None:
        (-module(x).mean()).backward()

    return {FORWARD: Job(lambda _: _forward(module, x), module.eval), TRAINING: Job(step, prepare_step)}


def _compiled(module: nn.Module, x: Tensor) -> Job:
    """The forward pass under torch.compile, which compiles in the first run that is not timed."""
    made: Any = torch.compile(module, dynamic=False)
    return Job(lambda _: _forward(made, x), module.eval)


@torch.no_grad()
def _forward(module: nn.Module, x: Tensor) -> Tensor:
    module.eval()
    return module(x)


def _of(side: str, samples: Mapping[str, Seconds]) -> dict[str, Seconds]:
    return {name.removeprefix(side): taken for name, taken in samples.items() if name.startswith(side)}


def _with_fresh(samples: dict[str, Seconds]) -> dict[str, Seconds]:
    """Use the peer's forward time for all of ours, since it evaluates its parameters on every call."""
    return samples | dict.fromkeys((FAST, FAST_FRESH, FRESH), samples[FORWARD]) if samples else samples
