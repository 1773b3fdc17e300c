"""The circuit as a module: memory, copies, states, devices and types, training."""

import copy
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.func import functional_call, grad, vmap

from explorer.backend import TorchCircuit, TorchSumLayer
from explorer.symbolic import (
    BinomialLayer,
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    ConstantInitializer,
    ConstantValueLayer,
    EmbeddingLayer,
    EvidenceLayer,
    GaussianLayer,
    Layer,
    MixingWeightParameter,
    PolynomialLayer,
    SoftmaxParameter,
    TensorParameter,
    constant,
)
from explorer.templates import fully_factorized, load_named, sum_chain
from tests.levels.modes import MODE_IDS, MODES, Mode, compile_circuit, layer_types, output, some_input
from tests.oracle import SEMIRINGS, assert_equals_oracle, constant_leaf_values

EACH_MODE = pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
LEARNED = {"blackboard": (2,), "levels": (2,), "hmm": (4,)}


def data(name: str, batch: int = 16) -> Tensor:
    x = some_input(load_named(name), batch)
    assert x is not None
    return x


# ---- memory


def test_evaluation_frees_each_activation_after_its_last_reader(monkeypatch: pytest.MonkeyPatch):
    circuit = compile_circuit(sum_chain(30, num_units=3), optimize=False, fold=False)
    x = torch.zeros((4, 1), dtype=torch.long)
    made: list[weakref.ref[Tensor]] = []
    alive: list[int] = []
    original = TorchSumLayer.forward  # reference counting frees at once, so nothing is collected here

    def watching(self: TorchSumLayer, *args: Any) -> Tensor:
        alive.append(sum(ref() is not None for ref in made))
        made.append(weakref.ref(found := original(self, *args)))
        return found

    monkeypatch.setattr(TorchSumLayer, "forward", watching)
    with torch.no_grad():
        circuit(x)
    assert len(alive) == 30
    assert max(alive) == 1  # the one that is read


def test_an_activation_that_is_read_later_or_is_an_output_is_kept():
    b = CircuitBuilder()
    first = b.add(ConstantValueLayer(num_output_units=2, value=constant([1.0, 2.0])))
    low = b.sum(first, num_units=2, weight=constant([[1.0, 0.0], [1.0, 1.0]]))
    high = b.sum(low, num_units=2, weight=constant([[2.0, 0.0], [0.0, 2.0]]))
    circuit = b.build(b.hadamard(high, low, first), low, low)
    for mode in MODES:
        found = output(compile_circuit(circuit, "sum-product", **mode), None)
        np.testing.assert_array_equal(found, [[2.0, 36.0], [1.0, 3.0], [1.0, 3.0]])


@EACH_MODE
def test_the_activations_of_all_layers_can_be_seen(mode: Mode):
    circuit, x = compile_circuit(load_named("blackboard"), **mode), data("blackboard")
    seen = dict(circuit.activations(x))
    assert list(seen) == list(circuit.graph.nodes)
    for node, value in seen.items():
        layer = circuit.graph.nodes[node]
        assert value.shape == (layer.num_folds, len(x), layer.num_output_units)
    assert torch.equal(seen[circuit.graph.outputs[0]].transpose(0, 1), circuit(x))
    outputs, activations = circuit.evaluate(x)
    assert torch.equal(outputs, circuit(x))
    assert all(torch.equal(activations[node], value) for node, value in seen.items())


# ---- outputs


def _alone(layer: Layer) -> Circuit:
    b = CircuitBuilder()
    return b.build(b.add(layer))


def _under_products(layer: Layer) -> Circuit:
    b = CircuitBuilder()
    return b.build(b.kronecker(b.hadamard(b.add(layer))))


@EACH_MODE
@pytest.mark.parametrize("semiring", SEMIRINGS)
@pytest.mark.parametrize("build", [_alone, _under_products])
def test_an_output_is_never_a_view_of_stored_data(build: Callable[[Layer], Circuit], semiring: str, mode: Mode):
    value = TensorParameter((2,), initializer=ConstantInitializer([1.0, 2.0]))
    seen = CategoricalLayer(scope=(0,), num_output_units=2, num_categories=2, logits=constant([[0.5, 1.0], [2.0, 3.0]]))
    for layer in (
        PolynomialLayer(scope=(0,), num_output_units=2, degree=0, coeff=constant([[1.0], [2.0]])),
        ConstantValueLayer(num_output_units=2, value=value),
        ConstantValueLayer(num_output_units=2, value=value, log_space=True),
        EvidenceLayer(num_output_units=2, layer=seen, observation=constant([1])),
    ):
        circuit = compile_circuit(build(layer), semiring, **mode).eval()
        for module in (circuit, circuit.freeze()):
            one, three = (torch.zeros((rows, module.num_variables)) for rows in (1, 3))
            with torch.no_grad():
                before = module(one).clone()
                module(one).mul_(10)
                module(three).mul_(10)
                if not module.num_variables:
                    module().mul_(10)
                    circuit.integral().mul_(10)
                for _, activation in module.activations(one):
                    activation.mul_(10)
                assert torch.equal(module(one), before)


@EACH_MODE
def test_an_output_that_is_listed_twice_can_be_changed_in_place(mode: Mode):
    b = CircuitBuilder()
    units = b.add(CategoricalLayer(scope=(0,), num_output_units=2, num_categories=2, probs=constant([[0.5, 0.5]] * 2)))
    circuit = compile_circuit(b.build(units, units), "sum-product", **mode).eval()
    with torch.no_grad():
        assert (circuit(torch.zeros((3, 1))).add_(1.0) == 1.5).all()


# ---- vmap


@EACH_MODE
@pytest.mark.parametrize("semiring", SEMIRINGS)
def test_vmap_over_rows_and_per_sample_gradients_work(semiring: str, mode: Mode):
    circuit, x = compile_circuit(load_named("levels"), semiring, **mode).eval(), data("levels", 4)
    with torch.no_grad():
        wanted = circuit(x)
        torch.testing.assert_close(vmap(lambda row: circuit(row[None])[0])(x), wanted)
        torch.testing.assert_close(vmap(lambda row: circuit.freeze()(row[None])[0])(x), wanted)
    parameters: dict[str, Tensor] = dict(circuit.named_parameters())

    def value(parameters: Mapping[str, Tensor], row: Tensor) -> Tensor:
        return functional_call(circuit, dict(parameters), (row[None],)).real.sum()

    found = vmap(grad(value), in_dims=(None, 0))(parameters, x)
    for i, row in enumerate(x):
        circuit.zero_grad()
        value(parameters, row).backward()
        for name, tensor in circuit.named_parameters():
            torch.testing.assert_close(found[name][i], tensor.grad)


def test_an_illegal_value_results_in_nan_under_vmap():
    circuit = compile_circuit(load_named("levels")).eval()
    x = data("levels", 3).double()
    x[1, 0], x[2, 1] = 100, 0.5
    with torch.no_grad():
        found = vmap(lambda row: circuit(row[None])[0])(x)
        assert torch.equal(found[0], circuit(x[:1])[0])
    assert torch.isnan(found[1:]).all()


# ---- copies and states


@EACH_MODE
def test_a_copy_is_an_independent_circuit(mode: Mode):
    circuit, x = compile_circuit(load_named("hmm"), **mode).eval(), data("hmm")
    with torch.no_grad():
        before = circuit(x)
        twin = copy.deepcopy(circuit)
        assert torch.equal(twin(x), before)
        for tensor in twin.parameters():
            tensor.mul_(1.5)
        changed = twin(x)
        assert not torch.equal(changed, before)
        assert torch.equal(circuit(x), before)
        assert not any(
            torch.equal(a, b) for a, b in zip(*(c.leaf_state().values() for c in (circuit, twin)), strict=True)
        )
        circuit.load_leaf_state(twin.leaf_state())
        assert torch.equal(circuit(x), changed)


@EACH_MODE
@pytest.mark.parametrize("name", LEARNED)
def test_a_state_dict_loads_into_a_newly_compiled_circuit(mode: Mode, name: str):
    trained, x = compile_circuit(load_named(name), seed=1, **mode), data(name)
    _train(trained, x, steps=2)
    fresh = compile_circuit(load_named(name), seed=2, **mode)
    assert fresh.state_dict().keys() == trained.state_dict().keys()
    fresh.load_state_dict(trained.state_dict())
    assert torch.equal(fresh(x), trained(x))


def test_a_state_dict_contains_only_the_leaves():
    circuit = compile_circuit(load_named("levels"))
    numbers = sum(value.numel() for value in circuit.leaf_state().values())
    assert sum(value.numel() for value in circuit.state_dict().values()) == numbers


@EACH_MODE
def test_a_circuit_moves_to_a_different_type(mode: Mode):
    circuit, x = compile_circuit(load_named("levels"), **mode), data("levels")
    wanted = circuit(x)
    single = circuit.to(torch.float32)
    assert single is circuit
    found = circuit(x)
    assert found.dtype == torch.float32
    np.testing.assert_allclose(found.detach(), wanted.detach(), rtol=1e-4)


def test_a_circuit_moves_to_a_different_device():
    circuit = compile_circuit(load_named("levels")).to("meta")
    assert {tensor.device.type for tensor in (*circuit.parameters(), *circuit.buffers())} == {"meta"}
    assert {tensor.device.type for tensor in circuit.freeze().buffers()} == {"meta"}


# ---- training


def _train(circuit: TorchCircuit, x: Tensor, steps: int) -> list[float]:
    optimizer = torch.optim.SGD(circuit.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = -circuit.train()(x).real.mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    circuit.eval()
    return losses


@EACH_MODE
@pytest.mark.parametrize("name", ["levels", "hmm"])
def test_training_lowers_the_loss(mode: Mode, name: str):
    losses = _train(compile_circuit(load_named(name), **mode), data(name), steps=4)
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]


@EACH_MODE
def test_training_steps_are_the_same_in_every_mode(mode: Mode):
    x = data("levels")
    plain = compile_circuit(load_named("levels"), optimize=False, fold=False)
    other = compile_circuit(load_named("levels"), **mode)
    np.testing.assert_allclose(_train(other, x, steps=3), _train(plain, x, steps=3), rtol=1e-9)
    for name, value in plain.leaf_state().items():
        np.testing.assert_allclose(other.leaf_state()[name], value, rtol=1e-7, atol=1e-10)


@EACH_MODE
def test_a_circuit_under_the_complex_semiring_can_be_trained(mode: Mode):
    losses = _train(compile_circuit(load_named("levels"), "complex-lse-sum", **mode), data("levels"), steps=3)
    assert losses == sorted(losses, reverse=True)


def test_fixed_leaves_get_no_gradient():
    b = CircuitBuilder()
    layer = b.add(EmbeddingLayer(scope=(0,), num_output_units=2, num_states=2, weight=constant(np.ones((2, 2)))))
    circuit = compile_circuit(b.build(b.sum(layer, num_units=1)))
    assert [tensor.requires_grad for tensor in circuit.parameters()].count(False) == 1


# ---- integers as parameters


def integer_leaves() -> dict[str, Circuit]:
    """Circuits with integer leaves wherever a user may write `constant([[1, 2]])`."""

    def built(make: Callable[[CircuitBuilder, int, int], int]) -> Circuit:
        b = CircuitBuilder()
        weight = constant([[1.0, 2.0], [3.0, 0.5]])
        return b.build(
            make(
                b, *(b.add(EmbeddingLayer(scope=(v,), num_output_units=2, num_states=2, weight=weight)) for v in (0, 1))
            )
        )

    given = {"scope": (0,), "num_output_units": 1}
    logits = SoftmaxParameter((constant([[1, 2]]),))
    return {
        "sum": built(lambda b, x, y: b.sum(x, num_units=1, weight=constant([[1, 2]]))),
        "two sums": built(
            lambda b, x, y: b.sum(
                b.sum(x, num_units=2, weight=constant([[1, 2], [3, 4]])), num_units=1, weight=constant([[0.5, 1.5]])
            )
        ),
        "mixing": built(
            lambda b, x, y: b.sum(x, x, num_units=2, weight=MixingWeightParameter((constant([[1, 2], [3, 4]]),)))
        ),
        "CPT": built(lambda b, x, y: b.sum(b.hadamard(x, y), num_units=1, weight=constant([[1, 2]]))),
        "Tucker": built(lambda b, x, y: b.sum(b.kronecker(x, y), num_units=1, weight=constant([[1, 2, 3, 4]]))),
        "softmax": built(lambda b, x, y: b.sum(x, num_units=1, weight=logits)),
        "constant": built(
            lambda b, x, y: b.hadamard(x, b.add(ConstantValueLayer(num_output_units=2, value=constant([1, 2]))))
        ),
        "embedding": built(lambda b, x, y: b.add(EmbeddingLayer(num_states=2, weight=constant([[1, 3]]), **given))),
        "polynomial": built(lambda b, x, y: b.add(PolynomialLayer(degree=1, coeff=constant([[1, 2]]), **given))),
        "gaussian": built(lambda b, x, y: b.add(GaussianLayer(mean=constant([1]), stddev=constant([2]), **given))),
        "binomial": built(lambda b, x, y: b.add(BinomialLayer(total_count=3, logits=constant([1]), **given))),
    }


@pytest.mark.parametrize("semiring", SEMIRINGS)
@pytest.mark.parametrize("name", integer_leaves())
def test_integers_may_be_used_wherever_numbers_may(semiring: str, name: str):
    circuit = integer_leaves()[name]
    x = np.array([[0, 1], [1, 1]])[:, : circuit.num_variables]
    for mode in MODES:
        found = output(compile_circuit(circuit, semiring, **mode), x)
        assert_equals_oracle(found, semiring, circuit, constant_leaf_values(circuit), x)


def test_integers_follow_the_circuit_to_a_different_type():
    circuit = compile_circuit(integer_leaves()["CPT"]).to(torch.float32)
    assert circuit(torch.tensor([[0, 1]])).dtype == torch.float32


# ---- text


def test_the_printed_circuit_names_semiring_layers_and_folds():
    text = repr(compile_circuit(fully_factorized(3, num_categories=2)))
    assert text.startswith("TorchCircuit(lse-sum, 2 layers, 4 folds)\n")
    assert text.endswith("outputs: %3")


def test_layers_and_graph_show_the_same():
    circuit = compile_circuit(load_named("levels"))
    assert circuit.layers == tuple(circuit.graph.nodes.values())
    assert circuit.num_folds == sum(layer.num_folds for layer in circuit.layers)
    assert layer_types(circuit)[0] == "Categorical"
