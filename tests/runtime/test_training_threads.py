"""Training on several threads: all tiles add to the same gradients, each in its turn."""

import ctypes
import gc
import time
from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from explorer.backend import TorchCircuit
from explorer.runtime import fast, memory
from explorer.runtime.memory import allocate
from explorer.runtime.native import threads as native_threads, training
from explorer.runtime.native.library import load_library
from explorer.runtime.native.structures import NativeBackwardCall, NativeForwardCall
from explorer.runtime.native.threads import CALLERS, call_in_threads, find_start_team
from explorer.runtime.native.training_plan import plan_training
from explorer.runtime.plan import Kind, lower_to_plan, run_training_passes
from explorer.symbolic import CircuitBuilder, GaussianLayer
from tests.levels.modes import compile_circuit
from tests.runtime.circuits import gradients, has_compiler, image_circuit, leaf
from tests.runtime.test_training import assert_trains
from tests.waiting import PATIENCE

pytestmark = has_compiler

needs_team = pytest.mark.skipif(find_start_team() is None, reason="needs the OpenMP of PyTorch on Linux")


@pytest.fixture(params=[pytest.param("team", marks=needs_team), "pool"])
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Sets the number of threads: those of PyTorch's OpenMP team, or of a pool."""
    before = torch.get_num_threads()
    CALLERS.clear()
    if request.param == "pool":
        monkeypatch.setattr(native_threads, "find_start_team", lambda: None)
    yield torch.set_num_threads
    torch.set_num_threads(before)


def images(inputs: str, rows: int) -> tuple[TorchCircuit, Tensor]:
    """A circuit and images for it; with Gaussian inputs, the densities of a pixel are read by several kernel calls."""
    layer = "cp-t" if inputs == "gaussian" else "cp"
    circuit = compile_circuit(
        image_circuit(4, 4, layer=layer, units=4, inputs=inputs, states=32), fold=True, optimize=True
    )
    random = torch.Generator().manual_seed(0)
    if inputs == "gaussian":
        return circuit, torch.randn(rows, 16, generator=random)
    return circuit, torch.randint(32, (rows, 16), generator=random)


@pytest.mark.parametrize("inputs", ["categorical", "gaussian"])
@pytest.mark.parametrize(("count", "rows"), [(2, 600), (8, 130)])
def test_gradients_are_right_and_the_same_bits_in_each_run(
    inputs: str, count: int, rows: int, threads: Callable[[int], None]
):
    threads(count)
    circuit, x = images(inputs, rows)
    made = assert_trains(circuit, x)
    _, first = gradients(made, x)
    for _ in range(3):
        _, again = gradients(made, x)
        assert all(map(torch.equal, again, first))


def test_a_tile_waits_for_all_users_of_a_density_in_the_previous_tile():
    """The gradient of a density is a sum over kernel calls: in the tile before, none of them may add to it any more."""
    b = CircuitBuilder()
    x, y, z = (
        b.add(GaussianLayer(scope=(v,), num_output_units=1, mean=leaf([float(v)]), stddev=leaf([1.0])))
        for v in range(3)
    )
    shared, other = b.hadamard(x, y), b.hadamard(x, z)
    near, far = b.hadamard(b.sum(shared, num_units=1), z), b.hadamard(b.sum(other, num_units=1), y)
    circuit = compile_circuit(b.build(b.sum(near, far, num_units=1)), fold=False, optimize=True)
    calls = list(run_training_passes(lower_to_plan(circuit)).calls.values())
    turns = plan_training(circuit, 4).turns
    readers = [
        [at for at, call in enumerate(calls) if call.kind is Kind.GAUSSIAN and density in call.sources]
        for density in {source for call in calls if call.kind is Kind.GAUSSIAN for source in call.sources}
    ]
    assert sorted(map(len, readers)) == [2, 2, 2]
    for first, second in readers:  # the pass begins with the second
        assert turns[second] >= len(calls) - first
    sums = [at for at, call in enumerate(calls) if call.kind is Kind.SUM]
    assert [turns[at] for at in sums] == [len(calls) - at for at in sums]


@pytest.fixture
def calls(
    monkeypatch: pytest.MonkeyPatch, threads: Callable[[int], None]
) -> tuple[NativeForwardCall, NativeBackwardCall]:
    """The calls of a step for two tiles of a circuit with shared densities: only the first one is made."""
    threads(2)
    found: list[Any] = []

    def make(function: Any, call: Any, count: int) -> None:
        found.append(call)
        if isinstance(call, NativeForwardCall):
            call_in_threads(function, call, count)

    circuit, x = images("gaussian", 64)
    made = fast(circuit, backend="native")
    monkeypatch.setattr(training, "call_in_threads", make)
    made(x).sum().backward()
    gc.collect()
    forward, backward = found
    return forward, backward


def test_a_tile_goes_back_as_far_as_the_one_before_allows(calls: tuple[NativeForwardCall, NativeBackwardCall]):
    """The second tile, next to one that goes back one kernel call at a time."""
    call = calls[1]
    kept: Any = call.kept  # type: ignore[attr-defined]
    program, done = kept[0], kept[-1][:, 0]
    turns = program.plan.turns[::-1]  # in the order of the backward pass
    assert call.num_tiles == 2
    assert any(turns > np.arange(1, len(turns) + 1))
    call.next_tile = 1
    thread = Thread(target=load_library().take_tiles, args=(ctypes.byref(call),))
    thread.start()
    for count in range(len(turns) + 1):
        allowed = next((at for at, turn in enumerate(turns) if turn > count), len(turns))
        done[0] = count
        end = time.monotonic() + 20
        while done[1] < allowed and time.monotonic() < end:
            time.sleep(0)
        assert done[1] == allowed
    thread.join(PATIENCE)
    assert not thread.is_alive()


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_an_interrupted_call_keeps_what_its_threads_read_and_write(
    direction: str, calls: tuple[NativeForwardCall, NativeBackwardCall]
):
    call = calls[direction == "backward"]
    spans = [span for one in reachable(call) for span in spans_of(one)]
    kept: Any = call.kept  # type: ignore[attr-defined]
    structures: list[Any] = [call, *kept[1:4]]
    addresses = [
        getattr(structure, name)
        for structure in structures
        for name, kind in structure._fields_
        if kind is ctypes.c_void_p and getattr(structure, name)
    ]
    arrays = (kept[2].written[0], kept[-2]) if direction == "backward" else (kept[-1],)
    addresses += [int(one) for array in arrays for one in array]
    assert len(addresses) > 20
    for address in addresses:
        assert any(start <= address < stop for start, stop in spans)


def reachable(root: object) -> list[Any]:
    """Return the attributes of an object of ctypes, and theirs in turn."""
    found: dict[int, object] = {}
    waiting = [root]
    while waiting:
        one = waiting.pop()
        if id(one) in found or isinstance(one, int | str | float | type | torch.nn.Module):
            continue
        found[id(one)] = one
        if isinstance(one, list | tuple):
            waiting.extend(one)
        elif isinstance(one, dict):
            waiting.extend(one.values())
        else:
            waiting.extend(getattr(one, "__dict__", {}).values())
            waiting.extend(getattr(one, name) for name in getattr(type(one), "__slots__", ()) if hasattr(one, name))
    return list(found.values())


def spans_of(one: object) -> list[tuple[int, int]]:
    """The addresses of its numbers."""
    if isinstance(one, Tensor):
        return [(one.data_ptr(), one.data_ptr() + max(one.numel() * one.element_size(), 1))]
    if isinstance(one, np.ndarray):
        return [(one.ctypes.data, one.ctypes.data + max(one.nbytes, 1))]
    if isinstance(one, ctypes.Structure | ctypes.Array):
        return [(ctypes.addressof(one), ctypes.addressof(one) + ctypes.sizeof(one))]
    return []


@pytest.mark.parametrize("threads", [pytest.param("team", marks=needs_team)], indirect=True)
def test_a_step_computes_in_the_memory_of_the_one_before(
    threads: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
):
    """Without a collection of garbage in between: nothing that a call makes refers to itself."""
    threads(2)
    circuit, x = images("categorical", 300)
    made = fast(circuit, backend="native")
    sizes: list[int] = []
    gc.disable()
    try:
        for _ in range(2):
            gradients(made, x)
        monkeypatch.setattr(memory, "allocate", lambda size: sizes.append(size) or allocate(size))
        gradients(made, x)
    finally:
        gc.enable()
    assert sizes == []
