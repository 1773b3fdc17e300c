"""Kernels read no memory that they have not written: results are the same whatever it contained."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from ctypes import memset

import numpy as np
import pytest
import torch
from torch import Tensor

from explorer.backend import TorchCircuit
from explorer.compiler import TorchCompiler
from explorer.runtime import fast, memory
from explorer.templates import load_named
from tests.runtime.circuits import QUICK_CIRCUITS, has_compiler
from tests.strategies import random_inputs

pytestmark = has_compiler


@contextmanager
def poisoned(byte: int) -> Generator[None]:
    """Fill all memory with a byte before kernels get it; 255 is NaN as a float, and -1 as a number."""
    allocate, borrow = memory.allocate, memory.Workspaces.borrow

    def filled(size: int) -> memory.Memory:
        found = allocate(size)
        found.fill(byte)
        return found

    def borrowed(self: memory.Workspaces, size: int) -> memory.Memory:
        found = borrow(self, size)
        found.fill(byte)
        return found

    def filling(make: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def made(*args: object, **kwargs: object) -> Tensor:
            found = make(*args, **kwargs)
            storage = found.untyped_storage()
            memset(storage.data_ptr(), byte, storage.nbytes())
            return found

        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "allocate", filled)
        patch.setattr(memory.Workspaces, "borrow", borrowed)
        patch.setattr(torch, "empty", filling(torch.empty))
        patch.setattr(torch, "empty_like", filling(torch.empty_like))
        yield


def results(circuit: TorchCircuit, x: Tensor) -> Sequence[Tensor]:
    """Outputs without gradients, then outputs and gradients of a training step, of a new fast circuit; twice."""
    made = fast(circuit, backend="native")
    found: list[Tensor] = []
    for _ in range(2):  # the second time with what the first one left
        with torch.no_grad():
            found.append(made(x))
        if made.why_not(x):
            continue
        circuit.zero_grad()
        output = made(x)
        output.sum().backward()
        found += [output.detach(), *(one.grad.clone() for one in circuit.parameters() if one.grad is not None)]
    return found


@pytest.mark.parametrize("rows", [1, 33])
@pytest.mark.parametrize("name", QUICK_CIRCUITS)
@pytest.mark.filterwarnings("ignore::explorer.errors.CertificateWarning")
def test_outputs_and_gradients_do_not_depend_on_what_memory_contained(name: str, rows: int) -> None:
    symbolic = load_named(name)
    drawn = random_inputs(symbolic, rows)
    assert drawn is not None
    x = torch.from_numpy(np.ascontiguousarray(drawn))
    circuit = TorchCompiler().compile(symbolic)
    every: list[Sequence[Tensor]] = []
    for byte in (255, 0, 127):
        with poisoned(byte):
            every.append(results(circuit, x))
    first, *others = every
    assert len(first) > 2
    for other in others:
        for one, same in zip(first, other, strict=True):
            torch.testing.assert_close(one, same, rtol=0, atol=0, equal_nan=True)
