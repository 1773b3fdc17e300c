"""A fast circuit that is made fast again or frozen is made of the circuit that it was made of."""

import copy

import pytest
import torch
from torch import Tensor

from explorer.backend import FrozenCircuit, TorchCircuit
from explorer.compiler import TorchCompiler
from explorer.errors import DataTypeError
from explorer.runtime import fast
from explorer.templates import load_named
from tests.runtime.circuits import assert_equal, has_compiler

pytestmark = has_compiler


@pytest.fixture(scope="module")
def digits() -> TorchCircuit:
    return TorchCompiler().compile(load_named("digits"))


def pixels() -> Tensor:
    return torch.randint(17, (5, 64), generator=torch.Generator().manual_seed(5))


@torch.no_grad()
def test_a_fast_circuit_that_is_made_fast_chooses_the_backend_of_its_circuit_again(digits):
    made, x = fast(digits, backend="torch"), pixels()
    for again in (made.fast(), fast(made), fast(fast(made), batch_size=4)):
        assert again.circuit is digits
        assert again.backend.name == fast(digits).backend.name
        assert_equal(again(x), made(x).double())
    assert fast(digits).fast(backend="torch").backend.name == "torch"


@torch.no_grad()
@pytest.mark.parametrize("backend", ["native", "torch"])
def test_a_fast_circuit_is_frozen_on_its_backend(digits, backend):
    circuit = copy.deepcopy(digits)
    made, x = fast(circuit, backend=backend), pixels()
    frozen, before = made.freeze(), made(x)
    assert isinstance(frozen.circuit, FrozenCircuit)
    assert frozen.backend.name == backend
    for parameter in circuit.parameters():
        parameter.add_(torch.rand(parameter.shape, generator=torch.Generator().manual_seed(0)))
    assert not torch.allclose(made(x), before)
    assert_equal(frozen(x), before.double())
    with pytest.raises(DataTypeError, match="only a circuit with parameters can be frozen; this is a fast Frozen"):
        frozen.freeze()


@pytest.mark.parametrize("backend", ["auto", "torch"])
def test_a_frozen_fast_circuit_explains_its_backend_by_the_circuit_that_was_frozen(digits, backend):
    made = fast(digits, backend=backend)
    frozen = made.freeze()
    (*_, reason) = next(one.reason for one in made.choices if one.name == made.backend.name).partition(": ")
    wanted = f"{made.backend.name}: used, kept from the circuit that was frozen: {reason}"
    before = made.explain().splitlines()
    assert [line for line in before if line.startswith(f"{made.backend.name}: used")] == before[:1]
    assert frozen.explain().splitlines()[: len(made.choices)] == [wanted, *before[1 : len(made.choices)]]
    assert [choice.name for choice in frozen.choices] == [choice.name for choice in made.choices]
