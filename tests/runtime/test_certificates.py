"""A call that has no certificate says so: a warning with the reason and what to do, once."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor

from explorer.backend import TorchCircuit
from explorer.compiler import TorchCompiler
from explorer.errors import CertificateWarning, ShapeError, ValueRangeError
from explorer.runtime import Certificate, FastCircuit, fast
from explorer.symbolic import CategoricalLayer, CircuitBuilder, constant
from explorer.templates import load_named
from tests.runtime.circuits import has_compiler, leaf

pytestmark = has_compiler

X = torch.zeros(2, 2, dtype=torch.int64)

ADVICE = "; call circuit.double() where seven digits are too few"
LINEAR_ADVICE = f"{ADVICE} or values may underflow"


def coins(weight: float = 0.5, semiring: str = "lse-sum") -> TorchCircuit:
    b = CircuitBuilder()
    probs = constant([[0.25, 0.75], [0.5, 0.5]])
    sides = [b.add(CategoricalLayer(scope=(v,), num_output_units=2, num_categories=2, probs=probs)) for v in (0, 1)]
    top = b.sum(b.hadamard(*sides), num_units=1, weight=leaf([[weight, 1.0]]))
    return TorchCompiler(semiring=semiring).compile(b.build(top))


def with_hook(circuit: TorchCircuit) -> TorchCircuit:
    circuit.register_forward_hook(lambda *_: None)
    return circuit


def without_gradients(circuit: TorchCircuit) -> TorchCircuit:
    return circuit.requires_grad_(False)


CALLS: dict[str, tuple[Callable[[], FastCircuit], Callable[[], AbstractContextManager[Any]], str]] = {
    "autocast": (
        lambda: fast(coins(), backend="native"),
        lambda: torch.autocast("cpu"),
        "autocast is active" + ADVICE,
    ),
    "hooks": (
        lambda: fast(with_hook(coins()), backend="native"),
        nullcontext,
        "the circuit has hooks, which only it calls; register them on the fast circuit" + ADVICE,
    ),
    "gradients on torch": (
        lambda: fast(coins(), backend="torch"),
        nullcontext,
        "gradients are recorded, and torch has none; call it under torch.no_grad()" + ADVICE,
    ),
    "negative weights, chosen": (
        lambda: fast(without_gradients(coins(-0.1))),
        nullcontext,
        "is negative or NaN: bounds hold for others only" + ADVICE,
    ),
    "another semiring, chosen": (
        lambda: fast(without_gradients(coins(semiring="sum-product"))),
        nullcontext,
        "the semiring is sum-product" + LINEAR_ADVICE,
    ),
    "double precision, chosen": (
        lambda: fast(without_gradients(coins()).double()),
        nullcontext,
        "parameters are torch.float64, and the kernels compute with float32",
    ),
    "frozen in another semiring": (
        lambda: fast(coins(semiring="sum-product").freeze(), backend="torch"),
        nullcontext,
        "the semiring is sum-product" + LINEAR_ADVICE,
    ),
}
"""A fast circuit, the context of a call that the circuit itself answers, and how the warning ends."""


@pytest.mark.parametrize("name", CALLS)
def test_a_call_without_a_certificate_warns_once(name: str):
    make, context, reason = CALLS[name]
    made = make()
    with context():
        with pytest.warns(CertificateWarning) as found:
            made(X)
        message = str(found[0].message)
        assert message.startswith("a call of a fast circuit has no certificate, as the circuit itself answered it in")
        assert message.endswith(reason)
        assert len(found) == 1
        assert found[0].filename == __file__, "the location of the call, not of PyTorch"
        assert made.certificate is None
        made(X)  # a second warning would be an error


def test_each_reason_of_a_fast_circuit_is_said():
    made = fast(coins(), backend="torch")
    with pytest.warns(CertificateWarning, match="gradients are recorded"):
        made(X)
    with torch.no_grad():
        made(X)
        assert made.certificate == Certificate(2, 0)
        with torch.autocast("cpu"), pytest.warns(CertificateWarning, match="autocast is active"):
            made(X)
    made(X)


@pytest.mark.parametrize("backend", ["native", "torch"])
@torch.no_grad()
def test_calls_that_raise_an_error_or_have_no_rows_need_no_certificate(backend: str):
    made = fast(coins(), backend=backend)
    with pytest.raises(ValueRangeError):
        made(X + 5)
    with pytest.raises(ShapeError):
        made(torch.zeros(2, 3))
    assert made(X[:0]).shape == (0, 1, 1)


@torch.no_grad()
def test_a_certified_call_says_nothing():
    circuit = TorchCompiler().compile(load_named("digits"))
    x: Tensor = torch.zeros(3, 64, dtype=torch.int64)
    for made in (fast(circuit), fast(circuit.freeze()), fast(circuit, backend="torch").freeze()):
        made(x)
        assert made.certificate == Certificate(3, 0)
