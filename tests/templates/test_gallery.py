"""The gallery: names, descriptions, structure, and what each circuit demonstrates."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from explorer.compiler import TorchCompiler, record
from explorer.errors import CircuitError, DuplicateNameError, UnknownNameError
from explorer.graph import config_of, group_levels, heights, levels, parameters_of
from explorer.symbolic import Circuit, HadamardLayer, KroneckerParameter, SumLayer
from explorer.templates import Gallery, gallery, load_named
from tests.templates.evaluate import Evaluator, all_states

LAYERS = {
    "digits": 170,
    "hclt": 167,
    "blackboard": 13,
    "hmm": 35,
    "conflict": 12,
    "near-misses": 14,
    "levels": 26,
    "sum-chain": 41,
    "kronecker": 6,
    "logic": 75,
    "squared": 12,
    "sos": 10,
    "evidence": 13,
    "mnist": 5725,
    "poon-domingos": 19342,
}


def test_the_gallery_lists_its_circuits():
    assert gallery.names() == tuple(LAYERS)


@pytest.mark.parametrize("name", LAYERS)
def test_a_gallery_circuit_has_its_structure(name):
    circuit = load_named(name)
    assert len(circuit.layers) == LAYERS[name]
    assert circuit.is_smooth, circuit.is_smooth.reason
    assert circuit.is_decomposable, circuit.is_decomposable.reason
    description = gallery.describe(name)
    assert 20 < len(description) < 120
    assert description.endswith(".")


@pytest.mark.parametrize("name", [name for name in LAYERS if name not in ("mnist", "poon-domingos")])
def test_a_gallery_circuit_has_a_stable_text_and_survives_its_file(name, tmp_path):
    circuit = load_named(name)
    circuit.save(tmp_path / "circuit.json")
    loaded = Circuit.load(tmp_path / "circuit.json")
    assert str(circuit) == str(load_named(name)) == str(loaded)
    assert loaded.names == circuit.names


def test_the_text_does_not_depend_on_the_hash_seed():
    code = "from explorer.templates import load_named as l; print(l('digits'), l('near-misses'), l('levels'))"
    texts = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(UnknownNameError, match="blackboard"):
        load_named("whiteboard")
    with pytest.raises(UnknownNameError, match="digits"):
        gallery.describe("whiteboard")


def test_custom_circuits_can_be_added_once():
    own = Gallery()

    @own.add("mine")
    def mine():
        """It teaches something."""
        return load_named("blackboard")

    assert own.names() == ("mine",)
    assert own.describe("mine") == "It teaches something."
    assert len(own.load_named("mine").layers) == 13
    with pytest.raises(DuplicateNameError, match="mine"):
        own.add("mine")(mine)
    with pytest.raises(CircuitError, match="docstring"):
        own.add("other")(lambda: load_named("blackboard"))


def test_every_layer_of_the_circuits_made_by_hand_has_a_name():
    for name in ("blackboard", "conflict", "near-misses", "levels", "kronecker"):
        circuit = load_named(name)
        assert len(circuit.names) == len(circuit.layers)


def test_the_blackboard_has_its_known_values():
    evaluate = Evaluator(load_named("blackboard"))
    x = np.array([[0, 0, 0, 0, 0], [1, 0, 1, 1, 0]])
    np.testing.assert_allclose(evaluate(x)[:, 0], [0.7626, 3.2266], rtol=1e-12)
    np.testing.assert_allclose(evaluate(all_states(*[2] * 5)).sum(), 318, rtol=1e-12)


@pytest.mark.parametrize("name", ["conflict", "kronecker", "levels", "sum-chain"])
def test_small_circuits_are_distributions(name):
    circuit = load_named(name)
    states = all_states(*[3 if name == "sum-chain" else 2] * circuit.num_variables)
    np.testing.assert_allclose(Evaluator(circuit)(states).sum(), 1.0, rtol=1e-9)


def test_near_misses_has_each_situation():
    circuit = load_named("near-misses")
    graph = circuit.graph
    below = {name: [circuit.names[i] for i in graph.inputs[circuit.layer_id(name)]] for name in circuit.names.values()}
    assert below["over-input"] == ["x0"]
    assert below["mixture"] == ["reader-1", "reader-2"]
    assert [circuit.names[user] for user in graph.users[circuit.layer_id("shared-product")]] == ["reader-1", "reader-2"]
    assert (below["upper"], below["middle"]) == (["middle"], ["lower-product"])
    assert below["root"] == ["seen-product"]
    assert circuit.layer_id("seen-product") in circuit.outputs
    assert not any(isinstance(s.weight, KroneckerParameter) for s in circuit.layers if isinstance(s, SumLayer))


def test_the_middle_of_a_conflict_is_read_once():
    circuit = load_named("conflict")
    for half in ("left", "right"):
        upper, middle, product = (circuit.layer_id(f"{part}-{half}") for part in ("upper", "middle", "product"))
        assert circuit.graph.inputs[upper] == (middle,)
        assert circuit.graph.inputs[middle] == (product,)
        assert isinstance(circuit.graph.nodes[product], HadamardLayer)
        assert circuit.graph.users[middle] == (upper,)


def fold_key(layer):
    shapes = [parameter.shape for parameter in parameters_of(layer).values()]
    return (type(layer).__name__, str(config_of(layer)), str(shapes))


def test_waiting_finds_folds_that_levels_by_longest_distance_miss():
    graph = load_named("levels").graph
    by_level = sum(len({fold_key(graph.nodes[node]) for node in level}) for level in group_levels(levels(graph)))
    height = heights(graph)
    done: set[int] = set()
    by_agenda = 0
    while len(done) < len(graph):
        ready = [n for n in graph.nodes if n not in done and done.issuperset(graph.inputs[n])]
        first = fold_key(graph.nodes[max(ready, key=lambda n: height[n])])
        done.update(n for n in ready if fold_key(graph.nodes[n]) == first)
        by_agenda += 1
    assert (by_level, by_agenda) == (11, 9)


def test_the_square_is_shattered_where_it_is_wide_only():
    trace = record(load_named("squared"))
    wide, narrow = (load_named("squared").layer_id(name) for name in ("wide", "narrow"))
    shattered = [
        rewrite.removed for step in trace.steps for rewrite in step.rewrites if rewrite.rule == "DenseKronecker"
    ]
    assert shattered == [(wide,)]
    assert "it does not pay" in str(trace.why_not("DenseKronecker", narrow))


def test_a_sum_of_squares_is_that_of_the_outputs():
    circuit = load_named("sos")
    derivation = circuit.derivation
    assert derivation is not None
    (square,) = derivation.operands
    assert square.derivation is not None
    one = square.derivation.operands[0]
    states = all_states(3, 3, 3)
    with_which = np.concatenate([np.repeat(states, 3, axis=0), np.tile(np.arange(3), len(states))[:, None]], axis=1)
    parts = _values(one, with_which).reshape(len(states), 3)
    assert (parts < 0).any()
    found = _values(circuit, with_which[::3])
    np.testing.assert_allclose(found, (parts**2).sum(axis=1), rtol=1e-4)


def test_evidence_is_the_blackboard_with_two_coins_seen():
    states = all_states(*[2] * 5)
    seen = states[(states[:, 1] == 0) & (states[:, 4] == 1)]
    np.testing.assert_allclose(
        _values(load_named("evidence"), seen), _values(load_named("blackboard"), seen), rtol=1e-5
    )
    assert load_named("evidence").scope == (0, 2, 3)


def _values(circuit: Circuit, x: np.ndarray) -> np.ndarray:
    compiled = TorchCompiler(semiring="sum-product").compile(circuit)
    return compiled(torch.from_numpy(x[:, : circuit.num_variables])).detach().numpy()[:, 0, 0]
