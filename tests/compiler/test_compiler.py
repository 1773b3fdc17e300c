"""The compiler: each circuit once, shared leaves, options, and events."""

import gc
from typing import Any

import numpy as np
import pytest
import torch

from explorer.backend import TorchCategoricalLayer
from explorer.compiler import TorchCompiler, record
from explorer.errors import CircuitError, DataTypeError, RuleError, ShapeError, UnknownNameError
from explorer.symbolic import (
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    ConstantInitializer,
    EmbeddingLayer,
    Parameterization,
    ParameterNode,
    SoftmaxParameter,
    TensorParameter,
    constant,
)
from explorer.templates import load_named
from explorer.trace import RunStarted, StepEnded, StepStarted
from tests.levels.modes import MODE_IDS, MODES, Mode, Watcher, compile_circuit, layer_types, only, output
from tests.oracle import assert_equals_oracle

EACH_MODE = pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)


def coin(scope: int, logits: ParameterNode) -> CategoricalLayer:
    return CategoricalLayer(scope=(scope,), num_output_units=2, num_categories=2, probs=SoftmaxParameter((logits,)))


def sharing() -> tuple[Circuit, Circuit]:
    """Two circuits that share the leaves of their inputs, in a different order, but not their weights."""
    leaves = [TensorParameter((2, 2), name=f"coin {v}") for v in range(3)]
    found = []
    for order in ((0, 1, 2), (2, 0)):
        b = CircuitBuilder()
        product = b.hadamard(*(b.add(coin(v, leaves[v])) for v in order))
        found.append(b.build(b.sum(product, num_units=1, weights=Parameterization())))
    return found[0], found[1]


# ---- one circuit, one compiled circuit


def test_compiling_a_circuit_twice_returns_the_same_object():
    compiler, circuit = TorchCompiler(), load_named("levels")
    assert compiler.compile(circuit) is compiler.compile(circuit)
    assert circuit in compiler.circuits
    assert compiler.circuits[circuit] is compiler.compile(circuit)
    assert TorchCompiler().compile(circuit) is not compiler.compile(circuit)


def test_each_compiler_has_its_own_leaves():
    circuit = load_named("levels")
    one, other = TorchCompiler().compile(circuit), TorchCompiler().compile(circuit)
    with torch.no_grad():
        for tensor in one.parameters():
            tensor.zero_()
    assert all(value.abs().sum() > 0 for value in other.leaf_state().values())


# ---- shared leaves


@EACH_MODE
def test_circuits_that_share_leaves_share_their_tensors(mode: Mode):
    compiler = TorchCompiler(**mode)
    first, second = (compiler.compile(circuit) for circuit in sharing())
    shared = {id(t) for t in first.parameters()} & {id(t) for t in second.parameters()}
    assert len(shared) == (1 if mode["fold"] else 2)
    assert list(first.leaf_state()) == ["coin 0", "coin 1", "coin 2", "4.weight"]
    assert list(second.leaf_state()) == ["coin 2", "coin 0", "3.weight"]


@EACH_MODE
def test_training_one_circuit_changes_the_other(mode: Mode):
    circuits = sharing()
    compiler = TorchCompiler(**mode)
    first, second = (compiler.compile(circuit).eval() for circuit in circuits)
    x = torch.tensor([[0, 0, 1]] * 4)
    with torch.no_grad():
        before = second(x)
    optimizer = torch.optim.SGD(first.parameters(), lr=0.5)
    first(x).mean().neg().backward()
    optimizer.step()
    with torch.no_grad():
        assert not torch.allclose(second(x), before)  # and what it had kept of its parameters is dropped
    for circuit, module in zip(circuits, (first, second), strict=True):
        state = module.leaf_state()
        values = {leaf: state[name].numpy() for leaf, name in circuit.leaf_names.items()}
        assert_equals_oracle(output(module, x.numpy()), "lse-sum", circuit, values, x.numpy())
    assert torch.equal(first.leaf_state()["coin 2"], second.leaf_state()["coin 2"])


@EACH_MODE
def test_the_order_of_compilation_does_not_change_values_of_named_leaves(mode: Mode):
    a, b = sharing()
    one, other = TorchCompiler(**mode), TorchCompiler(**mode)
    values = []
    for compiler, order in ((one, (a, b)), (other, (b, a))):
        modules = {circuit: compiler.compile(circuit) for circuit in order}
        values.append([output(modules[circuit], np.array([[1, 0, 1]])) for circuit in (a, b)])
    np.testing.assert_array_equal(values[0], values[1])


# ---- what it needs


def test_outputs_of_different_widths_are_refused_at_construction():
    b = CircuitBuilder()
    x = b.add(EmbeddingLayer(scope=(0,), num_output_units=2, num_states=2, weight=constant([[1.0, 2.0]] * 2)))
    wide = b.sum(x, num_units=3)
    with pytest.raises(ShapeError, match=r"the same number of units; found: layer 0 has 2, layer 1 has 3; add a sum"):
        b.build(x, wide)
    same = b.build(x, b.sum(x, num_units=2))
    assert compile_circuit(same)(torch.tensor([[0], [1]])).shape == (2, 2, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"semiring": "min-sum"},
            "no semiring named 'min-sum'; known are: sum-product, lse-sum",
        ),
        ({"semi": "x"}, "no option named 'semi'; known are: preset, semiring"),
        ({"preset": "best"}, "no preset named 'best'; known are: default, handbook"),
        ({"strategy": "luck"}, "no strategy named 'luck'; known are: largest-match, first-match, lowest-cost"),
        ({"levels": "deep"}, "no scheduling of levels named 'deep'; known are: longest-distance, fewest-groups"),
        ({"disable": ("Nothing",)}, "no rule named 'Nothing'; known are: LogSoftmax"),
    ],
)
def test_an_unknown_name_among_the_options_is_refused_with_those_that_are_known(options: Any, message: str):
    with pytest.raises(UnknownNameError, match=message):
        TorchCompiler(**options)


def test_the_options_are_plain_values():
    compiler = TorchCompiler(
        semiring="sum-product", preset="handbook", disable=("Tucker",), seed=7, strategy="FIRST_MATCH"
    )
    assert compiler.options.to_json() == {
        "preset": "handbook",
        "semiring": "sum-product",
        "optimize": True,
        "fold": True,
        "order_slices": False,
        "strategy": "first-match",
        "disable": ["Tucker"],
        "skip": [],
        "max_rounds": 5,
        "levels": "longest-distance",
        "seed": 7,
    }


def test_explicit_options_override_the_preset():
    compiler = TorchCompiler(preset="handbook", max_rounds=2, levels="fewest-groups")
    assert (compiler.options.max_rounds, compiler.options.levels) == (2, "fewest-groups")


def test_a_compiled_layer_keeps_the_config_of_its_symbolic_layer():
    layer = TorchCompiler().compile_layer(coin(5, TensorParameter((2, 2))))
    assert isinstance(layer, TorchCategoricalLayer)
    assert (layer.scope_idx, layer.num_categories, layer.num_output_units) == (((5,),), 2, 2)
    assert repr(layer.probs) == "Tensor>Softmax(2, 2)"


def test_real_and_complex_leaves_have_the_default_precision_of_their_time():
    b = CircuitBuilder()
    circuit = b.build(b.add(coin(0, TensorParameter((2, 2)))))
    assert {t.dtype for t in compile_circuit(circuit).parameters()} == {torch.float64}
    torch.set_default_dtype(torch.float32)  # the fixture restores it
    assert {t.dtype for t in compile_circuit(circuit).parameters()} == {torch.float32}


# ---- steps


def test_the_steps_are_reported_in_order():
    watcher = Watcher()
    circuit = load_named("blackboard")
    compiler = TorchCompiler(preset="handbook", listeners=(watcher,))
    compiler.compile(circuit)
    started = only(watcher.of(RunStarted))
    assert watcher.events[0] is started
    assert started.subject is circuit
    assert started.options == compiler.options.to_json()
    assert [rule.name for rule in started.rules] == list(compiler.rules.names)
    assert {rule.kind for rule in started.rules} == {"parameter", "shatter", "fuse"}
    rounds = [f"optimize/round {n}/{part}" for n in (1, 2) for part in ("parameters", "shatter", "fuse")]
    assert watcher.paths == ["compile", *rounds, *(f"fold/level {n}" for n in range(4))]
    changed = [path for path, event in zip(watcher.paths, watcher.of(StepEnded), strict=True) if event.changed]
    assert changed == ["compile", "optimize/round 1/fuse", "fold/level 0", "fold/level 1"]
    compiler.compile(circuit)
    assert len(watcher.of(RunStarted)) == 1


def test_each_mode_omits_its_steps():
    def paths(**mode: Any) -> set[str]:
        watcher = Watcher()
        TorchCompiler(listeners=(watcher,), **mode).compile(load_named("blackboard"))
        return {event.path.split("/")[0] for event in watcher.of(StepStarted)}

    assert paths(optimize=False, fold=False) == {"compile"}
    assert paths(optimize=False) == {"compile", "fold"}
    assert paths(fold=False) == {"compile", "optimize"}


def test_a_failed_compilation_does_not_affect_the_next():
    compiler = TorchCompiler()
    shared = TensorParameter((2, 2), initializer=ConstantInitializer([[1.0, 2.0], [3.0, 4.0]]))

    @compiler.rules.fuse.rule(_any_hadamard())
    def broken(compiler: Any, match: Any) -> Any:
        raise ZeroDivisionError

    b = CircuitBuilder()
    bad = b.build(b.hadamard(b.add(coin(0, shared)), b.add(coin(1, shared))))
    with pytest.raises(RuleError, match="Broken"):
        compiler.compile(bad)
    b = CircuitBuilder()
    module = compiler.compile(b.build(b.add(coin(0, shared))))
    assert module.leaf_state()["0.probs"].tolist() == [[1.0, 2.0], [3.0, 4.0]]
    np.testing.assert_allclose(output(module, np.array([[0], [1]])).ravel()[:2], np.log([1 / (1 + np.e)] * 2))
    with pytest.raises(CircuitError):
        compiler.compile(bad)


def _any_hadamard() -> Any:
    from explorer.backend import TorchHadamardLayer
    from explorer.rewrite import LayerOptPattern

    return LayerOptPattern("Broken", (TorchHadamardLayer,))


def test_without_optimization_and_folding_every_layer_is_compiled_once_in_order():
    circuit = load_named("near-misses")
    module = compile_circuit(circuit, optimize=False, fold=False)
    assert list(module.graph.nodes) == list(circuit.graph.nodes)
    assert dict(module.graph.inputs) == dict(circuit.graph.inputs)
    assert module.graph.outputs == circuit.outputs
    names = [type(layer).__name__.removesuffix("Layer") for layer in circuit.layers]
    assert layer_types(module) == names


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("fold", "false", "fold: expected a bool, got 'false' of type str"),
        ("optimize", 1, "optimize: expected a bool"),
        ("max_rounds", 2.5, "max_rounds: expected an int, got 2.5"),
        ("seed", "a", "seed: expected an int"),
        ("rules", 3, "rules must be of type RuleSet; found int"),
        ("listeners", [None], "listeners: expected callables that accept an event, got None"),
    ],
)
def test_an_option_of_the_wrong_type_is_refused(option: str, value: object, message: str):
    with pytest.raises(DataTypeError, match=message):
        TorchCompiler(**{option: value})  # pyright: ignore[reportArgumentType]


def test_only_circuits_are_compiled():
    with pytest.raises(DataTypeError, match="circuit must be of type Circuit; found str"):
        TorchCompiler().compile("digits")  # pyright: ignore[reportArgumentType]


def test_a_compilation_and_its_trace_leave_no_cycles_for_the_garbage_collector():
    """Hence they may count as old at once; a cycle would stay in memory until the next full collection."""
    circuit = load_named("digits")
    for make in (lambda: TorchCompiler().compile(circuit), lambda: record(circuit), lambda: record(circuit).stats(-1)):
        make()
        gc.collect()
        gc.disable()
        try:
            make()
            assert gc.collect() == 0
        finally:
            gc.enable()


def test_compiling_a_small_circuit_counts_no_frozen_objects(monkeypatch: pytest.MonkeyPatch):
    """Counting a million of them takes 50 ms, whatever was allocated before."""
    counted: list[int] = []
    monkeypatch.setattr(gc, "get_freeze_count", lambda: counted.append(1) or 0)
    monkeypatch.setattr("explorer.levels.states.MANY_OBJECTS", 10_000)
    thresholds = gc.get_threshold()
    gc.set_threshold(1_000_000)
    try:
        others = [[] for _ in range(20_000)]
        TorchCompiler().compile(load_named("blackboard"))
    finally:
        gc.set_threshold(*thresholds)
    assert len(others) == 20_000
    assert not counted


def test_frozen_objects_of_the_user_stay_frozen(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("explorer.levels.states.MANY_OBJECTS", 0)
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        TorchCompiler().compile(load_named("blackboard"))
        assert 0 < gc.get_freeze_count() <= frozen
    finally:
        gc.unfreeze()
