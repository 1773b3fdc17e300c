"""Threads that divide the kernel calls of a small batch: who computes which, and the same values as with one thread."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain

import numpy as np
import pytest
import torch

from explorer.backend import TorchCircuit
from explorer.bench.programs import random_inputs
from explorer.compiler import TorchCompiler
from explorer.errors import ValueRangeError
from explorer.runtime import fast
from explorer.runtime.backends import NativeBackend
from explorer.runtime.native import evaluating
from explorer.runtime.native.evaluating import CallShares, SharedCalls, share_calls
from explorer.runtime.plan import Kind, Plan, lower_to_plan, run_passes
from explorer.symbolic import CircuitBuilder, ConstantInitializer, PolynomialLayer, TensorParameter
from explorer.templates import hmm, load_named
from tests.runtime.circuits import QUICK_CIRCUITS, assert_equal, doubled, has_compiler

THREADS = (2, 3, 5)


@pytest.fixture(autouse=True)
def threads_of_torch() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def small_circuits_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("MIN_NS", 0), ("MAX_SLOWDOWN", 100), ("PARTS", 1)):  # few kernel calls do not divide well
        monkeypatch.setattr(evaluating, name, value)


@cache
def compiled(name: str) -> TorchCircuit:
    return TorchCompiler().compile(load_named(name))


@cache
def planned(circuit: TorchCircuit) -> Plan:
    return run_passes(lower_to_plan(circuit))


def shares_of(shared: SharedCalls) -> list[list[int]]:
    """The kernel calls of each thread, and in the end the rest."""
    order = [number for number, _ in shared.plan.computed()]
    return [[order.pop(0) for _ in range(count)] for count in shared.counts]


@pytest.mark.parametrize("threads", THREADS)
def test_threads_read_nothing_of_each_other(small_circuits_are_shared: None, threads: int):
    circuit = compiled("digits")
    plan = planned(circuit)
    shared = share_calls(plan, circuit, 256, threads)
    assert shared is not None
    *own, rest = shares_of(shared)
    assert len(own) == threads
    assert sorted(chain(*own, rest)) == sorted(number for number, _ in plan.computed())
    for share in own:
        read = {one for number in share for one in plan.calls[number].inputs}
        assert {one for one in read if plan.calls[one].kind is not Kind.TABLE} <= set(share)
        assert [number for number in plan.calls if number in set(share)] == share
    taken = [{shared.plan.slots[number] for number in share} for share in own]
    assert sum(map(len, taken)) == len(set().union(*taken))


@pytest.mark.parametrize("name", ["digits", "mnist"])
@pytest.mark.parametrize("threads", THREADS)
def test_rows_of_a_slot_keep_their_places_while_threads_compute_some_of_them_each(
    small_circuits_are_shared: None, name: str, threads: int
):
    """In the end each thread has its own rows: it may write them where another thread still reads others."""
    circuit = compiled(name)
    shared = share_calls(planned(circuit), circuit, 256, threads)
    assert shared is not None
    calls, slots, (*own, rest) = shared.plan.calls, shared.plan.slots, shares_of(shared)
    widths, holds = dict[int, int](), dict[int, int]()
    for number in shared.plan.slots:
        for one in calls[number].inputs:
            assert one not in slots or holds[slots[one]] == one
        holds[slots[number]] = number
    for number in rest:
        for one in (*calls[number].inputs, number):
            if one in slots:
                assert widths.setdefault(slots[one], calls[one].width) == calls[one].width
    if name == "mnist":
        assert shared.plan.num_slots < sum(len({slots[one] for one in share}) for share in own) + len(rest)


@pytest.mark.parametrize("threads", [2, 8, 16])
def test_threads_have_equal_work(threads: int):
    """The regions of an image are divided more than once, for more threads than it has quarters."""
    circuit = compiled("mnist")
    plan = planned(circuit)
    shared = share_calls(plan, circuit, 256, threads)
    assert shared is not None
    costs = evaluating._costs(plan, circuit, 256)
    *own, rest = [sum(costs[number] for number in share) for share in shares_of(shared)]
    assert len(own) == threads
    assert max(own) + rest / threads < 1.15 * sum(costs.values()) / threads


def test_a_chain_is_not_divided():
    circuit = TorchCompiler().compile(hmm(range(100), num_latent_states=16))
    assert share_calls(planned(circuit), circuit, 256, 2) is None


@pytest.mark.parametrize(
    ("name", "rows", "threads", "is_shared"),
    [
        ("mnist", 256, 2, True),
        ("mnist", 16, 2, True),
        ("mnist", 15, 2, False),
        ("mnist", 257, 2, False),
        ("mnist", 256, 16, True),
        ("mnist", 16, 16, False),
        ("digits", 16, 2, False),
    ],
)
def test_kernel_calls_are_divided_where_they_take_long_enough(name: str, rows: int, threads: int, is_shared: bool):
    """Two threads would read all tables of mnist for 128 rows each; of 257 rows, each has a tile."""
    circuit = compiled(name)
    found = CallShares(planned(circuit), circuit).for_threads(threads, rows)
    assert (found is not None) == is_shared


@has_compiler
@pytest.mark.parametrize("name", QUICK_CIRCUITS)
@torch.no_grad()
def test_values_do_not_depend_on_who_computes_calls(small_circuits_are_shared: None, name: str):
    circuit = compiled(name)
    x = random_inputs(circuit, 100)
    torch.set_num_threads(1)
    made = fast(circuit.freeze(), backend="native")
    expected = made(x)
    for threads in THREADS:
        torch.set_num_threads(threads)
        for rows in (100, 37, 16):
            torch.testing.assert_close(made(x[:rows]), expected[:rows], rtol=1e-6, atol=1e-6)
    assert isinstance(made.backend, NativeBackend)
    if name == "digits":
        assert list(made.backend.program.packed().numbers.single.shared) == list(THREADS)


def polynomial(coefficients: Sequence[Sequence[float]]) -> PolynomialLayer:
    array = np.asarray(coefficients)
    value = TensorParameter(array.shape, initializer=ConstantInitializer(array))
    return PolynomialLayer(scope=(0,), num_output_units=len(array), degree=1, coeff=value)


@has_compiler
@torch.no_grad()
def test_densities_of_several_layers_keep_apart_where_shares_change_their_order(small_circuits_are_shared: None):
    """Their logarithms are computed by PyTorch, in an order that the kernels must know."""
    b = CircuitBuilder()
    left = b.sum(b.add(polynomial([[3, 0.5]])), num_units=2)
    right = b.add(polynomial([[1, 2], [4, 1]]))
    circuit = TorchCompiler().compile(b.build(right, left))
    x = torch.rand(20, 1)
    expected = doubled(circuit)(x.double())
    for threads in (1, 2):
        torch.set_num_threads(threads)
        assert_equal(fast(circuit, backend="native")(x), expected)


@has_compiler
@torch.no_grad()
def test_a_bad_value_in_any_share_is_an_error(small_circuits_are_shared: None):
    torch.set_num_threads(2)
    circuit = compiled("digits")
    made, x = fast(circuit.freeze(), backend="native"), random_inputs(circuit, 64)
    made(x)
    for row in (0, 40, 63):
        bad = x.clone()
        bad[row, 5] = 1000
        with pytest.raises(ValueRangeError):
            made(bad)
    assert made(x).isfinite().all()
