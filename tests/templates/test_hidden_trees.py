"""The hidden tree sums over the states of its latent variables, and it has the structure of the tree."""

from itertools import product

import numpy as np
import pytest

from explorer.errors import CycleError, DataTypeError, ShapeError, ValueRangeError
from explorer.symbolic import ConstantInitializer, TensorParameter
from explorer.templates import CategoricalInput, GaussianInput, chow_liu_parents, gallery, hidden_tree, load_named
from explorer.templates.gallery.named_circuits import DIGITS_TREE
from tests.templates.evaluate import Evaluator

PARENTS = (1, -1, 1, 2)
K = 2


def rows_summing_to_one(random, shape):
    values = random.random(shape)
    return values / values.sum(-1, keepdims=True)


def test_a_hidden_tree_sums_over_the_states_of_all_latent_variables():
    random = np.random.default_rng(0)
    made: list[np.ndarray] = []

    def leaf(shape):
        made.append(rows_summing_to_one(random, shape))
        return TensorParameter(shape, initializer=ConstantInitializer(made[-1]))

    circuit = hidden_tree(PARENTS, CategoricalInput(3, probs=leaf), num_latent_states=K, weight_param=leaf)
    # From the leaves to the root, each variable makes its emission and then its transition.
    order = [3, 2, 0, 1]
    emission = dict(zip(order, made[0::2], strict=True))
    transition = dict(zip(order, made[1::2], strict=True))
    for x in ((0, 1, 2, 0), (2, 2, 1, 1)):
        total = 0.0
        for z in product(range(K), repeat=4):
            term = transition[1][0, z[1]]
            for v in range(4):
                term *= emission[v][z[v], x[v]]
                if PARENTS[v] >= 0:
                    term *= transition[v][z[PARENTS[v]], z[v]]
            total += term
        assert Evaluator(circuit)(np.array([x])).item() == pytest.approx(total)


def test_a_hidden_tree_is_structured_decomposable():
    circuit = hidden_tree(PARENTS, [CategoricalInput(2), GaussianInput()] * 2, num_latent_states=3)
    assert circuit.is_smooth
    assert circuit.is_structured_decomposable


def test_the_tree_of_the_gallery_is_that_of_the_digits():
    datasets = pytest.importorskip("sklearn.datasets")
    images = datasets.load_digits().data.astype(int)
    training = images[np.arange(len(images)) % 5 != 4]
    assert chow_liu_parents(training, "categorical", num_categories=17) == DIGITS_TREE
    assert len(load_named("hclt").layers) == 167
    assert "tree" in gallery.describe("hclt")


def test_a_hidden_tree_refuses_what_is_no_tree():
    with pytest.raises(ShapeError, match="one root, with the parent -1; found 2"):
        hidden_tree((-1, -1), CategoricalInput(2), num_latent_states=2)
    with pytest.raises(CycleError):
        hidden_tree((-1, 2, 1), CategoricalInput(2), num_latent_states=2)
    with pytest.raises(ShapeError, match="one input spec for each of 2 variables; found 1"):
        hidden_tree((-1, 0), [CategoricalInput(2)], num_latent_states=2)
    with pytest.raises(ValueRangeError):
        hidden_tree((-1, 0), CategoricalInput(2), num_latent_states=0)
    with pytest.raises(DataTypeError, match="num_latent_states must be an integer; found '2'"):
        hidden_tree((-1, 0), CategoricalInput(2), num_latent_states="2")  # pyright: ignore[reportArgumentType]
    with pytest.raises(DataTypeError, match=r"the parent of variable 1 must be a variable, or -1; found 0\.5"):
        hidden_tree((-1, 0.5), CategoricalInput(2), num_latent_states=2)  # pyright: ignore[reportArgumentType]
    with pytest.raises(DataTypeError, match="the input spec of variable 0 must be of type InputSpec; found int"):
        hidden_tree((-1, 0), (2, 2), num_latent_states=2)  # pyright: ignore[reportArgumentType]
