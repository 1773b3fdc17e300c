"""A fast circuit is right after its users have changed the circuit: its tensors, its methods, its modules, hooks."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations, parametrize, prune

from explorer.backend import TorchCircuit
from explorer.compiler import TorchCompiler
from explorer.errors import DataTypeError, ValueRangeError
from explorer.runtime import Certificate, fast
from explorer.runtime.native import native_program
from explorer.runtime.native.build import BuildError
from explorer.symbolic import (
    BinomialLayer,
    CategoricalLayer,
    CircuitBuilder,
    ParameterNode,
    PolynomialLayer,
    constant,
)
from explorer.templates import load_named
from tests.runtime.circuits import assert_equal, gradients, has_compiler, leaf, without_certificate
from tests.runtime.lossy import softmax

X = torch.arange(4)[:, None]
BACKENDS = [pytest.param("native", marks=has_compiler), "torch"]


@pytest.fixture
def circuit() -> TorchCircuit:
    """Sums that all have tensors of one shape: to confuse two of them is no error of shapes."""
    random = torch.Generator().manual_seed(0)

    def weights() -> ParameterNode:
        return softmax(leaf(2 * torch.randn((4, 4), generator=random).numpy()))

    b = CircuitBuilder()
    top = b.add(CategoricalLayer(scope=(0,), num_output_units=4, num_categories=4, probs=weights()))
    for _ in range(3):
        top = b.sum(top, num_units=4, weight=weights())
    return TorchCompiler(optimize=False).compile(b.build(top))


class Twice(nn.Module):
    def forward(self, tensor: Tensor) -> Tensor:
        return 2 * tensor


def pruned(circuit: TorchCircuit) -> None:
    prune.l1_unstructured(circuit.tensors, "1", 0.5)


def pruned_for_good(circuit: TorchCircuit) -> None:
    pruned(circuit)
    prune.remove(circuit.tensors, "1")


def parametrized(circuit: TorchCircuit) -> None:
    parametrize.register_parametrization(circuit.tensors, "1", Twice())


def parametrized_for_good(circuit: TorchCircuit) -> None:
    parametrized(circuit)
    parametrize.remove_parametrizations(circuit.tensors, "1")


def normalized(circuit: TorchCircuit) -> None:
    parametrizations.weight_norm(circuit.tensors, "1")
    with torch.no_grad():
        circuit.tensors.get_parameter("parametrizations.1.original0").mul_(3)


def registered_again(circuit: TorchCircuit) -> None:
    tensor = circuit.tensors[0]
    delattr(circuit.tensors, "0")
    circuit.tensors.register_parameter("0", nn.Parameter(tensor.detach() / 2))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "change", [pruned, pruned_for_good, parametrized, parametrized_for_good, normalized, registered_again]
)
@pytest.mark.parametrize("is_made_before", [True, False])
@without_certificate
def test_tensors_that_were_replaced_are_those_of_the_circuit(
    circuit: TorchCircuit, backend: str, change: Callable[[TorchCircuit], None], is_made_before: bool
):
    made = fast(circuit, backend=backend) if is_made_before else None
    if made is not None:
        with torch.no_grad():
            made(X)
    change(circuit)
    made = made or fast(circuit, backend=backend)
    with torch.no_grad():
        assert_equal(made(X), circuit(X).double())
    assert made.certificate is not None
    if change is not pruned:  # its product of mask and tensor has one graph, for one backward pass
        found, expected = gradients(made, X), gradients(circuit, X)
        for one, other in zip((found[0], *found[1]), (expected[0], *expected[1]), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


class Tempered(TorchCircuit):
    def forward(self, x: Tensor | None = None) -> Tensor:
        return super().forward(x) / 2


class Flat(TorchCircuit):
    def evaluate_layer(self, *given: Any, **named: Any) -> Tensor:
        return super().evaluate_layer(*given, **named) / 2


@pytest.mark.parametrize(("kind", "method"), [(Tempered, "forward"), (Flat, "evaluate_layer")])
@without_certificate
def test_a_method_of_a_subclass_is_called(circuit: TorchCircuit, kind: type[TorchCircuit], method: str):
    made, before = circuit.fast(), circuit(X)
    circuit.__class__ = kind
    assert made.why_not(X) == f"the circuit has a custom `{method}`"  # type: ignore[operator]
    torch.testing.assert_close(made(X), circuit(X))
    assert not torch.equal(made(X), before)


def test_a_probed_circuit_is_not_made_fast(circuit: TorchCircuit):
    with pytest.raises(DataTypeError, match="found ProbedCircuit"):
        circuit.probe().fast()


def uncertified() -> tuple[TorchCircuit, Tensor]:
    """A circuit and all its rows: in one of them, products are so small that its value has no bound."""
    tables = torch.rand((2, 3, 4), generator=torch.Generator().manual_seed(0))
    tables[0, 1:, 2] = tables[1, :2, 1] = -80
    b = CircuitBuilder()
    inputs = [
        b.add(CategoricalLayer(scope=(v,), num_output_units=3, num_categories=4, logits=leaf(tables[v].numpy())))
        for v in (0, 1)
    ]
    top = b.sum(b.hadamard(*inputs), num_units=2, weight=softmax(leaf([[0.0, 0.1, 0.5], [1.0, 0.0, -1.0]])))
    return TorchCompiler().compile(b.build(top)), torch.cartesian_prod(torch.arange(4), torch.arange(4))


def no_library() -> None:
    raise BuildError("none here")


@has_compiler
def test_circuit_with_a_custom_module_trains_with_rows_that_are_not_certified():
    circuit, x = uncertified()
    made = circuit.fast()
    wanted = gradients(copy.deepcopy(circuit).double(), x)
    circuit.extra = nn.Linear(2, 2)
    circuit.register_parameter("temperature", nn.Parameter(torch.ones(1)))
    found = made(x)
    assert made.certificate == Certificate(16, 1)
    assert_equal(found.detach(), wanted[0])
    found.sum().backward()
    assert circuit.tensors[0].grad is not None


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("is_trained", [False, True])
@without_certificate
def test_a_hook_of_all_modules_sees_each_row_once(backend: str, is_trained: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(native_program, "load_doubles", no_library)  # the layers evaluate what is not certified
    circuit, x = uncertified()
    wanted = circuit(x)
    made = fast(circuit, backend=backend)
    calls: list[str] = []

    def hook(module: nn.Module, given: object, output: object) -> None:
        calls.append(type(module).__name__)

    with nn.modules.module.register_module_forward_hook(hook), torch.set_grad_enabled(is_trained):
        torch.testing.assert_close(made(x), wanted, rtol=1e-4, atol=1e-4)
    expected = ["FastCircuit"] if made.certificate is not None else ["TorchCircuit", "FastCircuit"]
    assert calls == expected


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("rows", [1, 7, 200])
@torch.no_grad()
def test_a_number_that_rounding_would_make_a_state_is_refused(backend: str, rows: int):
    x = torch.zeros(rows, 64, dtype=torch.float64)
    x[0, 5] = 0.999999999
    with pytest.raises(
        ValueRangeError, match=r"variable 5 must be an integer from 0 to 16; found 0\.999999999 in row 0"
    ):
        fast(TorchCompiler().compile(load_named("digits")), backend=backend)(x)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_large_count_keeps_its_digits(backend: str):
    b = CircuitBuilder()
    layer = BinomialLayer(scope=(0,), num_output_units=1, total_count=2**25, probs=constant([0.49]))
    circuit = TorchCompiler().compile(b.build(b.add(layer)))
    x = torch.tensor([[2.0**24 + 1], [3.0]], dtype=torch.float64)
    assert_equal(fast(circuit, backend=backend)(x), copy.deepcopy(circuit).double()(x))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("is_trained", [False, True])
@without_certificate
def test_continuous_variables_are_rounded_and_rows_stay_what_they_are(backend: str, is_trained: bool):
    b = CircuitBuilder()
    line = b.add(PolynomialLayer(scope=(0,), num_output_units=1, degree=1, coeff=leaf([[-1.0, 1.0]])))
    coin = b.add(BinomialLayer(scope=(1,), num_output_units=1, total_count=3, probs=constant([0.49])))
    circuit = TorchCompiler().compile(b.build(b.sum(b.hadamard(line, coin), num_units=1, weight=constant([[1.0]]))))
    x = torch.tensor([[1 + 3e-6, 2.0]], dtype=torch.float64)
    before, rounded = x.clone(), torch.stack([x[:, 0].float().double(), x[:, 1]], dim=1)
    made = fast(circuit, backend=backend)
    with torch.set_grad_enabled(is_trained):
        found = made(x)
    if made.certificate is not None:
        assert_equal(found.detach(), copy.deepcopy(circuit).double()(rounded).detach())
    assert torch.equal(x, before)
