"""Steps of expectation-maximization next to PyJuice: `bench pyjuice --em`.

Ours is the one of `explorer.learning`, which evaluates the layers. The gradients of the fast circuit, from which an
E-step could be computed, are timed too: a forward and a backward pass without an M-step.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from time import perf_counter

import torch
from torch import Tensor, nn

from benchmarks.cases import Case
from benchmarks.pyjuice_cases import HiddenTreeCase, random_rows
from benchmarks.pyjuice_peer import COMPARED_ROWS, Call, PyJuiceRow, compile_peers, first_lines, settle, timed
from benchmarks.suite_entrants import relative_difference
from explorer.backend import TorchCircuit
from explorer.bench import Job, time_interleaved
from explorer.compiler import TorchCompiler
from explorer.errors import LoweringError
from explorer.learning import ExpectationMaximization
from explorer.runtime import fast
from explorer.timings import CPU, CUDA

EM = "layers, EM step"
GRADIENTS = {CUDA: "triton", CPU: "native"}
"""The backend whose gradients are timed, by device."""


@dataclass(frozen=True)
class Learner:
    """A step on x (B, D), log-likelihoods of x, and what sets the parameters to their first values."""

    step: Call
    evaluate: Call
    reset: Callable[[], object]
    ours: bool = True


def measure_em(
    case: Case | HiddenTreeCase,
    batch_sizes: Sequence[int],
    repeats: int,
    *,
    device: str = CUDA,
    on_run: Callable[[str], None] = lambda name: None,
) -> list[PyJuiceRow]:
    """Measure steps on one case, a row for each batch size. All start from equal values; each timed step goes on.

    How log-likelihoods after the first step differ from ours in double precision is told, and refuses nothing: where
    PyJuice has one sum for several of ours, it learns other parameters; gradients learn nothing.
    """
    on_run("compiling")
    source = case.circuit()
    circuit = TorchCompiler().compile(source)
    absent: dict[str, str] = {}
    peers = compile_peers(source, circuit, absent, on_run) if device == CUDA else {}
    circuit = circuit.to(device)
    learners = _ours(circuit, device)
    for name, (one, mode) in peers.items():
        if "_no_buffer_reset" not in mode.arguments:
            learners[name] = partial(Learner, one.em_step(mode), one.call(mode), one.reset, ours=False)
    rows: list[PyJuiceRow] = []
    for batch_size in batch_sizes:
        x = random_rows(case, source, batch_size).to(device)
        missing = dict(absent)
        on_run(f"B={batch_size}: double precision")
        wanted = _after_step(_em_learner(deepcopy(circuit).double()), x)
        found: dict[str, Learner] = {}
        differences: dict[str, tuple[float, float]] = {}
        for name, make in learners.items():
            on_run(f"B={batch_size}: first step of {name}")
            try:
                learner = make()
                learner.step(x)  # which compiles and captures
                values = _after_step(learner, x)
            except Exception as error:  # noqa: BLE001 - one that fails on this machine must not end the comparison
                missing[name] = first_lines(error)
                continue
            found[name] = learner
            differences[name] = relative_difference(values, wanted), float((values - wanted).abs().max())
        jobs = {name: Job(timed(learner.step, x), settle) for name, learner in found.items()}
        samples = time_interleaved(jobs, repeats, warmups=2, clock=perf_counter, on_run=on_run) if jobs else {}
        ours = tuple(name for name, learner in found.items() if learner.ours)
        rows.append(PyJuiceRow(case.name, batch_size, ours, samples, differences, missing, (), is_em=True))
    return rows


def _after_step(learner: Learner, x: Tensor) -> Tensor:
    """The log-likelihoods of some rows in double precision (B, 1) after a step from the first values."""
    learner.reset()
    learner.step(x)
    with torch.no_grad():
        return learner.evaluate(x)[:COMPARED_ROWS].double().reshape(-1, 1)


def _ours(circuit: TorchCircuit, device: str) -> dict[str, Callable[[], Learner]]:
    """What makes each of our learners, with parameters of its own, by name."""
    backend = GRADIENTS[device]
    return {
        EM: lambda: _em_learner(deepcopy(circuit)),
        f"{backend}, gradients": lambda: _gradient_learner(deepcopy(circuit), backend),
    }


def _em_learner(circuit: TorchCircuit) -> Learner:
    em, initial = ExpectationMaximization(circuit), circuit.leaf_state()

    def step(x: Tensor) -> Tensor:
        counts, _ = em.expect(x)
        em.maximize(counts)
        return x

    return Learner(step, circuit, partial(circuit.load_leaf_state, initial))


def _gradient_learner(circuit: TorchCircuit, backend: str) -> Learner:
    made: nn.Module = fast(circuit, backend=backend)

    def step(x: Tensor) -> Tensor:
        if reason := made.why_not(x):
            raise LoweringError(f"the layers would run, as {reason}")
        made.zero_grad(set_to_none=True)
        values = made(x)
        (-values.mean()).backward()
        return values

    return Learner(step, made, lambda: None)
