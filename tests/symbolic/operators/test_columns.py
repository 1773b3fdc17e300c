"""The rows of a circuit are rows of every circuit that operators make of it, whichever variables are left."""

from itertools import product

import pytest
import torch

import explorer
from explorer import TorchCompiler, gallery
from explorer.backend import queries
from explorer.errors import ShapeError
from explorer.symbolic import Circuit
from explorer.symbolic.operators import concatenate, conjugate, evidence, integrate, multiply
from tests.runtime.circuits import without_certificate

ROWS = torch.tensor([[0, 1, 1, 0, 1], [1, 0, 1, 1, 0]])
CIRCUIT = gallery.load_named("blackboard")

DERIVED = {
    "integrate the last": lambda c: integrate(c, (4,)),
    "integrate one in the middle": lambda c: integrate(c, (3,)),
    "integrate all but the first": lambda c: integrate(c, (1, 2, 3, 4)),
    "integrate all": lambda c: integrate(c),
    "observe the last": lambda c: evidence(c, {4: 1}),
    "observe all": lambda c: evidence(c, dict.fromkeys(range(5), 1)),
    "observe, then integrate": lambda c: integrate(evidence(c, {4: 1}), (3,)),
    "square of an integral": lambda c: multiply(integrate(c, (4,)), integrate(c, (4,))),
    "conjugate of an integral": lambda c: conjugate(integrate(c, (4,))),
    "an integral and itself": lambda c: concatenate(integrate(c, (4,)), evidence(c, {4: 0})),
}


@pytest.fixture(params=DERIVED)
def derived(request):
    assert CIRCUIT.num_variables == 5
    return DERIVED[request.param](CIRCUIT)


@without_certificate  # of doubles
@torch.no_grad()
def test_a_derived_circuit_accepts_the_rows_of_the_original(derived, tmp_path):
    compiled = TorchCompiler().compile(derived)
    wanted = compiled(ROWS)
    assert derived.num_variables == compiled.num_variables == 5
    for other in (compiled.freeze(), compiled.fast(), compiled.freeze().fast()):
        torch.testing.assert_close(other(ROWS), wanted)
    derived.save(tmp_path / "derived.json")
    loaded = Circuit.load(tmp_path / "derived.json")
    assert loaded.num_variables == 5
    again = TorchCompiler().compile(loaded)
    again.load_leaf_state(compiled.leaf_state())
    torch.testing.assert_close(again(ROWS), wanted)
    with pytest.raises(ShapeError, match=r"x must have shape \(B, 5\)"):
        compiled(ROWS[:, :4])


@torch.no_grad()
@pytest.mark.parametrize("backend", ["native", "auto"])
def test_kernels_accept_the_rows_of_the_original(derived, backend):
    compiled = TorchCompiler().compile(derived).float()
    torch.testing.assert_close(compiled.fast(backend=backend)(ROWS), compiled(ROWS))


def test_every_step_of_a_trace_accepts_the_rows_of_the_original(derived):
    trace = explorer.record(derived)
    assert [str(check) for check in trace.check(ROWS) if not check.ok and not check.unknown] == []
    for step in range(len(trace.steps)):
        assert len(trace.circuit_at(step)(ROWS)) == 2


QUICK = (
    ("integrate all but the first", "program"),
    ("observe all", "program"),
    ("observe, then integrate", "tensor"),
    ("an integral and itself", "program"),
)
"""A variable is read, none is, or several outputs read different ones; `make fuzz` tests all."""


@pytest.mark.parametrize(
    ("name", "level"),
    [
        pytest.param(*case, marks=() if case in QUICK else pytest.mark.fuzz)
        for case in product(DERIVED, ("tensor", "program"))
    ],
)
def test_levels_below_accept_the_rows_of_the_original(name, level):
    compiled = TorchCompiler().compile(DERIVED[name](CIRCUIT))
    trace = explorer.record(compiled, (ROWS,), level=level)
    torch.testing.assert_close(trace.compiled(ROWS), compiled(ROWS))


@without_certificate  # of doubles
@torch.no_grad()
@pytest.mark.parametrize("name", ["integrate all", "observe all"])
def test_a_circuit_that_reads_no_variable_needs_no_rows(name):
    compiled = TorchCompiler().compile(DERIVED[name](CIRCUIT))
    for one in (compiled, compiled.freeze(), compiled.fast()):
        torch.testing.assert_close(one(), compiled(ROWS)[0])


def test_queries_accept_the_rows_of_the_original():
    compiled, whole = (TorchCompiler().compile(circuit) for circuit in (integrate(CIRCUIT, (4,)), CIRCUIT))
    whole.load_leaf_state(compiled.leaf_state())
    left = torch.arange(5) == 4
    torch.testing.assert_close(queries.log_likelihood(compiled, ROWS), queries.marginal(whole, ROWS, ~left))
    samples = queries.sample(compiled, 3, generator=torch.Generator().manual_seed(0))
    assert samples.shape[1] == 5
