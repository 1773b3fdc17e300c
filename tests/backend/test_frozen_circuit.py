"""The frozen circuit: parameters evaluated once, a snapshot that nothing can train."""

import copy
import io
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call

from explorer.backend import FrozenCircuit, TorchCategoricalLayer
from explorer.backend.parameters import TorchSoftmaxParameter
from explorer.symbolic import (
    CategoricalLayer,
    CircuitBuilder,
    ConstantInitializer,
    DataType,
    EmbeddingLayer,
    GaussianLayer,
    TensorParameter,
    constant,
)
from explorer.templates import BinomialInput, GaussianInput, fully_factorized, load_named
from tests.fuzzing import covering
from tests.levels.modes import MODE_IDS, MODES, Mode, compile_circuit, some_input
from tests.oracle import SEMIRINGS

EACH_MODE = pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)


def data(name: str) -> Tensor:
    x = some_input(load_named(name), 16)
    assert x is not None
    return x


def count_calls(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> Callable[[], int]:
    """The number of calls of a method so far."""
    calls: list[int] = []
    original = getattr(owner, name)

    def counted(self: Any, *args: Any) -> Any:
        calls.append(1)
        return original(self, *args)

    monkeypatch.setattr(owner, name, counted)
    return lambda: len(calls)


@pytest.mark.parametrize(("name", "semiring", "mode"), covering(("levels", "hmm", "blackboard"), SEMIRINGS, MODES))
def test_a_frozen_circuit_computes_the_values_of_the_circuit(name: str, semiring: str, mode: Mode):
    circuit, x = compile_circuit(load_named(name), semiring, **mode).eval(), data(name)
    with torch.no_grad():
        wanted = circuit(x)
    frozen = circuit.freeze()
    assert torch.equal(frozen(x), wanted)
    assert list(dict(frozen.activations(x))) == list(circuit.graph.nodes)
    assert (frozen.num_variables, frozen.num_folds) == (circuit.num_variables, circuit.num_folds)


def test_parameters_are_evaluated_once(monkeypatch: pytest.MonkeyPatch):
    circuit, x = compile_circuit(load_named("levels")), data("levels")
    calls = count_calls(monkeypatch, TorchSoftmaxParameter, "forward")
    prepared = count_calls(monkeypatch, TorchCategoricalLayer, "prepare")
    frozen = circuit.freeze()
    once = calls()
    assert once > 0
    for _ in range(3):
        frozen(x)
    assert (calls(), prepared()) == (once, 1)
    circuit.eval()
    with torch.no_grad():
        circuit(x)
    assert (calls(), prepared()) == (2 * once, 2)


def test_later_changes_of_the_circuit_do_not_reach_it():
    circuit, x = compile_circuit(load_named("levels")).eval(), data("levels")
    frozen = circuit.freeze()
    with torch.no_grad():
        before = circuit(x)
        for tensor in circuit.parameters():
            tensor.data.mul_(1.5)
        assert torch.equal(frozen(x), before)
        assert torch.equal(circuit.freeze()(x), circuit(x))
        assert not torch.equal(circuit(x), before)


def test_it_has_nothing_to_train():
    circuit = compile_circuit(load_named("levels"))
    frozen = circuit.freeze().train()
    assert list(frozen.parameters()) == []
    with pytest.raises(ValueError, match="empty parameter list"):
        torch.optim.Adam(frozen.parameters())
    with pytest.raises(RuntimeError, match="does not require grad"):
        frozen(data("levels")).sum().backward()


def test_parameters_of_the_circuit_are_refused():
    circuit = compile_circuit(load_named("levels"))
    frozen = circuit.freeze()
    with pytest.raises(RuntimeError, match="Missing key"):
        frozen.load_state_dict(circuit.state_dict())
    with pytest.raises((KeyError, AttributeError, RuntimeError)):
        functional_call(frozen, dict(circuit.named_parameters()), (data("levels"),))


def test_its_state_moves_to_another_frozen_circuit():
    one, other, x = *(compile_circuit(load_named("levels"), seed=seed).freeze() for seed in (1, 2)), data("levels")
    assert not torch.equal(one(x), other(x))
    other.load_state_dict(one.state_dict())
    assert torch.equal(one(x), other(x))


def test_a_state_that_has_probabilities_in_place_of_logits_is_refused():
    """As saved by earlier versions, in which a binomial layer kept the sigmoid of its logits. Other states load."""
    circuit = compile_circuit(fully_factorized(2, [BinomialInput(4), GaussianInput()]))
    frozen, x = circuit.freeze(), torch.tensor([[1.0, 0.5], [4.0, -0.5]])
    old = {name.removesuffix("_logits"): value for name, value in frozen.state_dict().items()}
    assert len(old.keys() - frozen.state_dict().keys()) == 1
    with pytest.raises(RuntimeError, match=r"Missing key.*_logits"):
        frozen.load_state_dict(old)
    frozen.load_state_dict(circuit.freeze().state_dict())
    with torch.no_grad():
        torch.testing.assert_close(frozen(x), circuit.eval()(x))


@pytest.mark.parametrize("name", ["levels", "hmm"])
def test_names_of_other_values_are_numbers(name: str):
    state = compile_circuit(load_named(name)).freeze().state_dict()
    assert list(state) == [f"value_{i}" for i in range(len(state))]


def test_it_can_be_copied_saved_and_moved():
    frozen, x = compile_circuit(load_named("levels")).freeze(), data("levels")
    wanted = frozen(x)
    assert torch.equal(copy.deepcopy(frozen)(x), wanted)
    file = io.BytesIO()
    torch.save(frozen, file)
    file.seek(0)
    assert torch.equal(torch.load(file, weights_only=False)(x), wanted)
    single = frozen.to(torch.float32)(x)
    assert single.dtype == torch.float32
    torch.testing.assert_close(single, wanted.float(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("move", [torch.nn.Module.double, lambda module: module.to(torch.float64)])
@pytest.mark.parametrize("semiring", ["sum-product", "complex-lse-sum"])
def test_a_change_of_precision_keeps_complex_numbers(semiring: str, move: Callable[[nn.Module], nn.Module]):
    b = CircuitBuilder()
    weight = TensorParameter((2, 2), DataType.COMPLEX, initializer=ConstantInitializer([[0.3j, 0.5], [0.2, -0.9j]]))
    layers = [b.add(EmbeddingLayer(scope=(v,), num_output_units=2, num_states=2, weight=weight)) for v in (0, 1)]
    circuit = compile_circuit(
        b.build(b.sum(b.hadamard(*layers), num_units=1, weight=constant([[0.4, -0.6]]))), semiring
    )
    x = torch.tensor([[0, 1], [1, 0], [1, 1]])
    wanted = circuit(x)
    single = circuit.to(torch.float32)
    assert single(x).dtype == torch.complex64
    for module in (single.freeze(), single):
        found = move(module)(x)
        assert found.dtype == torch.complex128
        torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("context", [torch.inference_mode, torch.no_grad, torch.enable_grad])
def test_a_frozen_circuit_works_in_every_gradient_mode(context: Callable[[], Any]):
    b = CircuitBuilder()
    x0 = b.add(GaussianLayer(scope=(0,), num_output_units=2, mean=TensorParameter((2,)), stddev=constant([1.0, 2.0])))
    circuit = compile_circuit(b.build(b.sum(x0, num_units=1)))
    with context():
        frozen = circuit.freeze()
    x = torch.tensor([[0.3], [1.0]], dtype=torch.float64, requires_grad=True)
    frozen(x).sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, torch.autograd.grad(circuit(x).sum(), x)[0])
    with torch.inference_mode():
        assert torch.equal(frozen(x), circuit(x))


def test_freezing_under_autocast_keeps_the_precision():
    circuit, x = compile_circuit(load_named("hmm")).float().eval(), data("hmm")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        frozen = circuit.freeze()
    assert {value.dtype for value in frozen.buffers()} <= {torch.float32, torch.int64}
    with torch.no_grad():
        torch.testing.assert_close(frozen(x), circuit(x), rtol=1e-6, atol=0.0)


def test_an_in_place_change_of_the_output_changes_nothing():
    probs = constant([[0.2, 0.8]])
    b = CircuitBuilder()
    layer = CategoricalLayer(scope=(0,), num_output_units=1, num_categories=2, probs=probs)
    circuit = compile_circuit(b.build(b.add(layer)))
    frozen, x = circuit.freeze(), torch.tensor([[1]])
    frozen(x).add_(1)
    assert torch.equal(frozen(x), circuit(x))


def test_it_is_an_ordinary_module_and_prints_its_layers():
    frozen = compile_circuit(load_named("levels")).freeze()
    assert isinstance(frozen, nn.Module)
    assert isinstance(frozen, FrozenCircuit)
    assert repr(frozen).startswith("FrozenCircuit(lse-sum, ")
