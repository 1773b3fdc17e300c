"""The threads of the kernels: whichever run them, results are the same, errors are raised, and no call hangs."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType

import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from explorer.backend import TorchCircuit
from explorer.errors import UserCodeError
from explorer.runtime import FastCircuit, fast
from explorer.runtime.native import openmp, threads as native_threads
from explorer.runtime.native.build import find_compiler
from explorer.runtime.native.openmp import find_start_team
from explorer.runtime.native.threads import CALL, CALLERS, run_in_threads
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


def thread_of(item: int) -> str:
    """The name of the thread, after the other one had time to begin."""
    threading.Event().wait(0.02)
    return threading.current_thread().name


def step(made: FastCircuit) -> tuple[Tensor, ...]:
    """The outputs and all gradients."""
    outputs = made(X)
    return outputs, *torch.autograd.grad(outputs.mean(), list(made.parameters()))


@needs_team
def test_the_caller_and_openmp_run_the_items():
    first, second = run_in_threads(thread_of, range(2), 2)
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


@pytest.mark.parametrize("items", [1, 2, 3, 100])
@pytest.mark.parametrize("torch_threads", [1, 2, 5])
def test_results_are_in_order_for_any_number_of_items_and_threads(items: int, torch_threads: int):
    torch.set_num_threads(torch_threads)
    assert run_in_threads(lambda item: item * item, range(items), 2) == [item * item for item in range(items)]


@needs_team
def test_several_callers_share_the_pool():
    run_in_threads(thread_of, range(2), 2)
    with ThreadPoolExecutor(1) as other:
        names = other.submit(run_in_threads, thread_of, range(2), 2).result()
        assert all(name.startswith("circuit-") for name in names)
        for _ in range(CALLERS.maxlen or 0):
            names = other.submit(run_in_threads, thread_of, range(2), 2).result()
        assert not any(name.startswith("circuit-") for name in names)


def test_callers_at_once_have_the_same_values(digits: TorchCircuit):
    made = fast(digits.freeze(), backend="native")
    expected = made(X)

    def work(_: int) -> bool:
        return all(torch.equal(made(X), expected) for _ in range(30))

    with ThreadPoolExecutor(4) as callers:
        assert all(callers.map(work, range(4)))


def test_an_error_of_any_item_is_raised():
    def fail(item: int) -> int:
        if item == 1:
            raise ZeroDivisionError(str(item))
        return item

    for _ in range(5):
        with pytest.raises(ZeroDivisionError, match="1"):
            run_in_threads(fail, range(2), 2)
    assert run_in_threads(abs, range(2), 2) == [0, 1]


def test_an_item_may_run_items_itself():
    assert run_in_threads(lambda a: sum(run_in_threads(lambda b: a + b, range(3), 2)), range(3), 2) == [3, 6, 9]


@needs_fork
def test_ctrl_c_in_a_call_is_raised_after_it():
    def interrupt(item: int) -> int:
        if threading.current_thread() is threading.main_thread():
            os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(0.02)
        return item

    with pytest.raises(KeyboardInterrupt):
        run_in_threads(interrupt, range(2), 2)


@needs_team
def test_no_result_is_missing_where_an_error_is_raised_before_a_call(monkeypatch: pytest.MonkeyPatch):
    """As a signal handler of the program may raise one. OpenMP cannot pass errors on."""
    monkeypatch.setattr(signal, "getsignal", lambda number: trace)
    ignored: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)

    def trace(frame: FrameType, event: str, argument: object) -> None:
        if frame.f_code.co_name == "run":
            raise ZeroDivisionError

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with pytest.raises(UserCodeError, match="before a kernel began"):
            run_in_threads(thread_of, range(2), 2)
    finally:
        sys.settrace(before)
    assert len(ignored) == 1


@needs_team
def test_ctrl_c_before_a_function_begins_is_raised(monkeypatch: pytest.MonkeyPatch):
    """As it may come in the first line of a callback, where ctypes ignores it."""

    def interrupt(number: int) -> None:
        raise KeyboardInterrupt

    ignored: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    monkeypatch.setattr(native_threads, "CALL", lambda run: CALL(interrupt))
    with pytest.raises(KeyboardInterrupt):
        run_in_threads(thread_of, range(2), 2)
    assert len(ignored) == 2


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
        [sys.executable, "-c", f"import runpy; print(runpy.run_path({openmp.__file__!r})['find_start_team']())"],
        env={**os.environ, "LD_PRELOAD": str(other)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == "None"
