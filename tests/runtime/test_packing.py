"""When parameters are packed: once after a change, however many threads call the circuit."""

import copy
from concurrent.futures import ThreadPoolExecutor
from threading import Semaphore
from typing import Any

import pytest
import torch

from explorer.backend import TorchCircuit
from explorer.compiler import TorchCompiler
from explorer.runtime import fast, packed
from explorer.runtime.doubles import DoubleCopy
from explorer.runtime.native import native_program
from explorer.runtime.snapshots import Copies
from explorer.templates import load_named
from tests.runtime.circuits import assert_equal, doubled, has_compiler
from tests.runtime.test_fallback import circuit_with
from tests.waiting import PATIENCE

pytestmark = has_compiler

THREADS = 8


@pytest.fixture
def digits() -> TorchCircuit:
    return copy.deepcopy(TorchCompiler().compile(load_named("digits")))


@pytest.mark.parametrize("backend", ["native", "torch"])
@torch.no_grad()
def test_threads_pack_changed_parameters_once(digits: TorchCircuit, backend: str, monkeypatch: pytest.MonkeyPatch):
    """All of them have found the change before the first one packs."""
    made, x = fast(digits, backend=backend), torch.zeros(3, 64, dtype=torch.int64)
    before, looked, packs = made(x), Semaphore(0), list[int]()
    is_current, pack_constants = Copies.is_current, packed.pack_constants

    def look(snapshot: Copies) -> bool:
        found = is_current(snapshot)
        looked.release()
        return found

    def pack(*given: Any) -> Any:
        packs.append(1)
        if len(packs) == 1:
            assert all(looked.acquire(timeout=PATIENCE) for _ in range(THREADS))
        return pack_constants(*given)

    for parameter in digits.parameters():
        parameter.add_(torch.rand(parameter.shape, generator=torch.Generator().manual_seed(0)))
    expected = doubled(digits)(x)
    monkeypatch.setattr(Copies, "is_current", look)
    monkeypatch.setattr(packed, "pack_constants", pack)
    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(torch.no_grad()(made), [x] * THREADS))
    assert len(packs) == 1
    assert not torch.allclose(before, found[0])
    for one in found:
        assert_equal(one, expected)


@pytest.mark.parametrize("backend", ["native", "torch"])
@torch.no_grad()
def test_threads_make_what_double_precision_needs_once(backend: str, monkeypatch: pytest.MonkeyPatch):
    circuit, x = circuit_with(-1000.0), torch.zeros(3, 3)
    made, frozen, packs = fast(circuit, backend=backend), list[int](), list[int]()
    make_copy, pack_constants = DoubleCopy.frozen, native_program.pack_constants

    def copy_once(*given: Any) -> Any:
        frozen.append(1)
        return make_copy(*given)

    def pack(*given: Any) -> Any:
        packs.append(1)
        return pack_constants(*given)

    monkeypatch.setattr(DoubleCopy, "frozen", copy_once)
    monkeypatch.setattr(native_program, "pack_constants", pack)
    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(torch.no_grad()(made), [x] * THREADS))
    assert (len(frozen), len(packs)) == (1, int(backend == "native"))
    for one in found:
        assert_equal(one, doubled(circuit)(x))
