"""Rows that are not certified in single precision are evaluated in double precision: by the kernels, else by layers."""

import pytest
import torch

from explorer.backend import TorchCircuit
from explorer.compiler import TorchCompiler
from explorer.runtime.native import native_program
from explorer.runtime.native.build import BuildError
from explorer.runtime.native.native_program import NativeProgram
from explorer.symbolic import CircuitBuilder
from tests.runtime.circuits import assert_equal, doubled, has_compiler, leaf
from tests.runtime.test_bounds import logits, product

pytestmark = has_compiler

X = torch.zeros(3, 3)


def circuit_with(low: float) -> TorchCircuit:
    """A sum of exp(low), which it reads next to numbers near 1."""
    b = CircuitBuilder()
    far = b.sum(product(b, [0, low], [0, 0]), num_units=2, weight=leaf([[1, 0], [0, 1]]))
    last = b.hadamard(far, logits(b, 2, [0, 0]))
    return TorchCompiler(optimize=False).compile(b.build(b.sum(last, num_units=1, weight=leaf([[0, 1]]))))


@pytest.mark.parametrize(
    ("low", "single", "double"),
    [(-10.0, True, True), (-100.0, False, True), (-690.0, False, True), (-1000.0, False, False)],
)
@torch.no_grad()
def test_the_kernels_in_double_precision_certify_what_they_can(low: float, single: bool, double: bool):
    compiled = circuit_with(low)
    native = NativeProgram(compiled)
    numbers = native.packed().numbers
    assert numbers.double is not None
    for kernels, certain in ((numbers.single, single), (numbers.double, double)):
        found = native.run(kernels, X)
        assert found is not None
        result, certified = found
        assert certified.tolist() == [certain] * 3
        if certain:
            assert_equal(result, doubled(compiled)(X))
    found = native.evaluate(X)
    assert found is not None
    assert found[1] == (0 if single else 3)
    assert_equal(found[0], doubled(compiled)(X))


@torch.no_grad()
def test_layers_evaluate_where_the_kernels_in_double_precision_cannot_be_compiled(monkeypatch: pytest.MonkeyPatch):
    def fail() -> None:
        raise BuildError("no compiler")

    monkeypatch.setattr(native_program, "load_doubles", fail)
    compiled = circuit_with(-100.0)
    native = NativeProgram(compiled)
    assert native.packed().numbers.double is None
    found = native.evaluate(X)
    assert found is not None
    assert found[1] == 3
    assert_equal(found[0], doubled(compiled)(X))
