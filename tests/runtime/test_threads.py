"""The threads of the kernels: whichever run them, results are the same, and no call hangs."""

import ctypes
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from explorer.backend import TorchCircuit
from explorer.runtime import FastCircuit, fast
from explorer.runtime.native import comparing, threads as native_threads
from explorer.runtime.native.build import find_compiler
from explorer.runtime.native.structures import NativeShare
from explorer.runtime.native.threads import CALLERS, call_in_threads, find_start_team
from explorer.runtime.snapshots import Copies, take_snapshot
from explorer.templates import load_named
from tests.levels.modes import compile_circuit
from tests.runtime.circuits import has_compiler

pytestmark = has_compiler

needs_team = pytest.mark.skipif(find_start_team() is None, reason="needs the OpenMP of PyTorch on Linux")
needs_fork = pytest.mark.skipif(sys.platform != "linux", reason="needs fork")

X = torch.randint(17, (700, 64), generator=torch.Generator().manual_seed(0))


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    CALLERS.clear()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """As where PyTorch has no OpenMP."""
    return lambda: monkeypatch.setattr(native_threads, "find_start_team", lambda: None)


@pytest.fixture(scope="module")
def digits() -> TorchCircuit:
    return compile_circuit(load_named("digits")).float()


@pytest.mark.parametrize("where", ["team", "pool"])
@pytest.mark.parametrize("threads", [2, 3])
def test_each_changed_byte_is_noticed_whichever_thread_compares_it(threads, where, pool, monkeypatch):
    """Changed by `.data`, which leaves no trace."""
    monkeypatch.setattr(comparing, "THREAD_BYTES", 1000)
    torch.set_num_threads(threads)
    if where == "pool":
        pool()
    asked: list[int] = []
    call = comparing.call_in_threads
    monkeypatch.setattr(comparing, "call_in_threads", lambda *given: (asked.append(given[2]), call(*given)))
    circuit = compile_circuit(load_named("digits")).float()
    sizes = [one.nbytes for one in circuit.parameters()]
    snapshot = take_snapshot(circuit, comparing.have_bytes_by_threads)
    assert snapshot.is_current()
    assert asked == [threads]
    for one in circuit.parameters():
        numbers = one.data.view(-1).view(torch.uint8)
        for at in {0, len(numbers) // threads - 1, len(numbers) // threads, len(numbers) // 2, len(numbers) - 1}:
            numbers[at] ^= 1
            assert not snapshot.is_current(), (tuple(one.shape), at)
            numbers[at] ^= 1
    assert snapshot.is_current()
    assert asked == [threads] * (len(asked))
    assert len(asked) > 4 * len(sizes)


SMALL_TEAM = """
import torch
from explorer.runtime.native import comparing
from explorer.runtime.snapshots import take_snapshot
from explorer.templates import load_named
from tests.levels.modes import compile_circuit

comparing.THREAD_BYTES = 1000
torch.set_num_threads(4)
circuit = compile_circuit(load_named("digits")).float()
snapshot = take_snapshot(circuit, comparing.have_bytes_by_threads)
found = [snapshot.is_current()]
for one in circuit.parameters():
    for part in (0, 1, 2, 3):
        number = one.data.view(-1).view(torch.uint8)[part * one.nbytes // 4 :][:1]
        number ^= 1
        found.append(not snapshot.is_current())
        number ^= 1
print(all(found), len(found))
"""


@pytest.mark.parametrize("limit", [{"OMP_THREAD_LIMIT": "1"}, {"OMP_THREAD_LIMIT": "2"}, {"OMP_DYNAMIC": "true"}])
def test_changes_are_noticed_by_a_team_that_is_smaller_than_asked(limit: dict[str, str]):
    command = [sys.executable, "-W", "ignore", "-c", SMALL_TEAM]
    found = subprocess.run(command, env={**os.environ, **limit}, capture_output=True, text=True, check=True)
    assert found.stdout.split()[0] == "True"


def test_parameters_of_another_type_or_shape_are_not_those_of_a_snapshot(monkeypatch):
    monkeypatch.setattr(comparing, "THREAD_BYTES", 1000)
    circuit = compile_circuit(load_named("digits")).float()
    snapshot = take_snapshot(circuit, comparing.have_bytes_by_threads)
    assert isinstance(snapshot, Copies)
    assert snapshot.on_cpu is not None
    first = next(circuit.parameters())
    kept = first.data
    for other in (kept.double(), kept.view(-1), kept.view(torch.int32)):
        with torch.no_grad():
            found = [other if one is first else one for one in circuit.present_parameters()]
        assert not comparing.have_bytes_by_threads(found, snapshot.on_cpu)
    strided = torch.empty(*kept.shape, 2)[..., 0].copy_(kept)
    found = [strided if one is first else one for one in circuit.present_parameters()]
    assert comparing.have_bytes_by_threads(found, snapshot.on_cpu)


def names_of_threads(threads: int = 2) -> list[str]:
    """The names of the threads that run a call: each waits until all have begun."""
    names: list[str] = []
    all_began = threading.Barrier(threads, timeout=20)

    def run(address: int) -> None:
        names.append(threading.current_thread().name)
        all_began.wait()

    call_in_threads(ctypes.CFUNCTYPE(None, ctypes.c_void_p)(run), NativeShare(), threads)
    return names


def step(made: FastCircuit) -> tuple[Tensor, ...]:
    """The outputs and all gradients."""
    outputs = made(X)
    return outputs, *torch.autograd.grad(outputs.mean(), list(made.parameters()))


@needs_team
def test_the_caller_and_openmp_run_a_call():
    first, second = names_of_threads()
    assert threading.current_thread().name in (first, second)
    assert first != second
    assert not any(name.startswith("circuit-") for name in (first, second))


def test_team_and_pool_give_the_same_bits(digits: TorchCircuit, pool: Callable[[], None]):
    made = fast(digits, backend="native")
    with torch.no_grad():
        in_team = made(X)
    trained = step(made)
    pool()
    with torch.no_grad():
        assert torch.equal(made(X), in_team)
    assert all(map(torch.equal, step(made), trained))
    torch.set_num_threads(1)
    with torch.no_grad():
        assert torch.equal(made(X), in_team)


@needs_team
def test_several_callers_share_the_pool():
    names_of_threads()
    names: list[str] = []
    with ThreadPoolExecutor(1) as other:
        assert all(name.startswith("circuit-") for name in other.submit(names_of_threads).result())
        for _ in range(CALLERS.maxlen or 0):
            names = other.submit(names_of_threads).result()
        assert not any(name.startswith("circuit-") for name in names)


def test_callers_at_once_have_the_same_values(digits: TorchCircuit):
    made = fast(digits.freeze(), backend="native")
    expected = made(X)

    def work(_: int) -> bool:
        return all(torch.equal(made(X), expected) for _ in range(30))

    with ThreadPoolExecutor(4) as callers:
        assert all(callers.map(work, range(4)))


class Evaluated(Dataset[Tensor]):
    """Batches of the outputs of a circuit, computed where they are asked for with two threads."""

    def __init__(self, made: FastCircuit) -> None:
        self.made = made

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Tensor:
        torch.set_num_threads(2)
        with torch.no_grad():
            return self.made(X)


@needs_fork
def test_a_worker_that_was_forked_from_a_process_with_a_team_evaluates(digits: TorchCircuit):
    made = fast(digits.freeze(), backend="native")
    with torch.no_grad():
        expected = made(X)
    loader = DataLoader(
        Evaluated(made), None, num_workers=1, multiprocessing_context=multiprocessing.get_context("fork")
    )
    for found in loader:
        assert torch.equal(found, expected)


@needs_team
def test_a_second_openmp_in_the_process_is_not_used(tmp_path: Path):
    """`LD_PRELOAD` makes PyTorch use that one, and the process find it first."""
    source, other = tmp_path / "other.cpp", tmp_path / "libother.so"
    source.write_text('extern "C" void GOMP_parallel(void (*f)(void*), void* data, unsigned, unsigned) { f(data); }')
    subprocess.run([*find_compiler(), "-shared", "-fPIC", str(source), "-o", str(other)], check=True)
    found = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import runpy; print(runpy.run_path({native_threads.__file__!r})['find_start_team']())",
        ],
        env={**os.environ, "LD_PRELOAD": str(other)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == "None"
