"""Chow-Liu trees: mutual information is right, and a chain in the data is recovered."""

from collections import defaultdict
from itertools import combinations, pairwise, product

import numpy as np
import pytest

from explorer.errors import DataTypeError, ShapeError, UnknownNameError, ValueRangeError
from explorer.templates import (
    CategoricalInput,
    GaussianInput,
    build_circuit,
    categorical_mutual_information,
    chow_liu_parents,
    chow_liu_tree,
    gaussian_mutual_information,
    mixed_mutual_information,
)

CHAIN = (3, 0, 4, 1, 2)  # the order of the variables along the chain


def categorical_chain(rows: int = 4000) -> np.ndarray:
    """A chain of 5 variables of 3 categories, each equal to the one before in four cases of five."""
    generator = np.random.default_rng(7)
    table = np.zeros((rows, 5), dtype=np.int64)
    value = generator.integers(3, size=rows)
    for variable in CHAIN:
        table[:, variable] = value
        value = np.where(generator.random(rows) < 0.8, value, generator.integers(3, size=rows))
    return table


def gaussian_chain(rows: int = 4000) -> np.ndarray:
    generator = np.random.default_rng(7)
    table = np.zeros((rows, 5))
    value = generator.normal(size=rows)
    for variable in CHAIN:
        table[:, variable] = value
        value = 0.8 * value + 0.6 * generator.normal(size=rows)
    return table


def edges(parents):
    return {frozenset(edge) for edge in enumerate(parents) if -1 not in edge}


CHAIN_EDGES = {frozenset(pair) for pair in pairwise(CHAIN)}


@pytest.mark.parametrize(("data", "kind"), [(categorical_chain(), "categorical"), (gaussian_chain(), "gaussian")])
def test_a_chain_is_recovered_and_rooted_in_the_middle(data, kind):
    parents = chow_liu_parents(data, kind)
    assert edges(parents) == CHAIN_EDGES
    assert parents[4] == -1
    assert edges(chow_liu_parents(data, kind, root=2)) == CHAIN_EDGES
    assert chow_liu_parents(data, kind, root=2)[2] == -1


def test_the_region_graph_of_a_chain_rooted_at_its_end():
    graph = chow_liu_tree(categorical_chain(), "categorical", root=3)
    assert [graph.regions[p.region] for p in graph.partitions] == [(1, 2), (1, 2, 4), (0, 1, 2, 4), (0, 1, 2, 3, 4)]
    assert graph.is_structured_decomposable


def test_categorical_mutual_information_by_counting():
    table = np.array([[0, 0, 1], [0, 0, 0], [1, 1, 1], [1, 1, 0]] * 500)
    found = categorical_mutual_information(table)
    assert found[0, 1] == pytest.approx(np.log(2), rel=1e-3)  # smoothing adds 0.01 to each count
    assert found[0, 2] == pytest.approx(0, abs=1e-12)
    assert (found == found.T).all()
    assert (np.diag(found) == 0).all()


def counted(table: np.ndarray, i: int, j: int) -> float:
    """The mutual information of two columns by its definition, with 0.01 more in each pair of values that occur."""
    cells = dict.fromkeys(product(set(table[:, i].tolist()), set(table[:, j].tolist())), 0.01)
    for row in table.tolist():
        cells[row[i], row[j]] += 1
    total = sum(cells.values())
    first, second = defaultdict(float), defaultdict(float)
    for (x, y), count in cells.items():
        first[x] += count
        second[y] += count
    return sum(n / total * np.log(n * total / (first[x] * second[y])) for (x, y), n in cells.items())


def test_categorical_mutual_information_of_columns_of_different_sizes_by_definition():
    generator = np.random.default_rng(3)
    table = np.stack([generator.integers(size, size=300) for size in (2, 9, 1, 40, 3)], axis=1)
    table[:, 4] = (table[:, 1] + table[:, 4]) % 3 * 7  # dependent, and with gaps
    found = categorical_mutual_information(table)
    for i, j in combinations(range(5), 2):
        assert found[i, j] == pytest.approx(counted(table, i, j), abs=1e-12)
    assert (found[2] == 0).all()  # a constant column


@pytest.mark.parametrize("size", [100, 250])
def test_mutual_information_of_two_columns_does_not_depend_on_others(size):
    generator = np.random.default_rng(0)
    table = generator.integers(0, [2, 2, size], size=(1000, 3))
    table[:, 1] ^= generator.random(1000) < 0.1  # still independent
    found = categorical_mutual_information(table)
    assert found[0, 1] == pytest.approx(categorical_mutual_information(table[:, :2])[0, 1], abs=1e-12)
    assert found[0, 1] < 0.01
    assert mixed_mutual_information(table, [True] * 3) == pytest.approx(found)
    table[:, 1] = table[:, 0]
    assert categorical_mutual_information(table[:100])[0, 1] <= np.log(2)


@pytest.mark.parametrize(("rows", "size"), [(100, 100), (300, 100), (1000, 250), (3000, 250)])
def test_a_star_with_a_wide_center_is_recovered(rows, size):
    """Two binary columns that depend on the third one only, each flipped in a tenth of the rows."""
    for seed in range(10):
        generator = np.random.default_rng(seed)
        center = generator.integers(0, size, rows)
        leaves = [value ^ (generator.random(rows) < 0.1) for value in (center % 2, center < size / 2)]
        table = np.stack([*leaves, center], axis=1).astype(int)
        for kind in ("categorical", ["categorical"] * 3):
            assert edges(chow_liu_parents(table, kind)) == {frozenset({0, 2}), frozenset({1, 2})}


def test_gaussian_mutual_information_of_a_known_correlation():
    data = gaussian_chain(200_000)
    found = gaussian_mutual_information(data)
    assert found[3, 0] == pytest.approx(-0.5 * np.log(1 - 0.8**2), rel=0.02)  # sampling error
    constant = np.concatenate([data[:100], np.ones((100, 1))], axis=1)
    assert (gaussian_mutual_information(constant)[-1] == 0).all()


def test_mixed_mutual_information_between_a_class_and_its_measurement():
    generator = np.random.default_rng(1)
    label = generator.integers(2, size=5000)
    table = np.stack([label, label * 10 + generator.normal(size=5000), generator.normal(size=5000)], axis=1)
    found = mixed_mutual_information(table, [True, False, False])
    assert found[0, 1] == pytest.approx(np.log(2), abs=0.01)
    assert abs(found[0, 2]) < 0.01
    assert (found == found.T).all()


@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e6])
def test_a_measurement_tells_at_most_what_its_clusters_tell(unit):
    """Two narrow clusters tell whether a category is even, in any unit; another column tells nearly all of it."""
    generator = np.random.default_rng(0)
    category = generator.integers(0, 20, 3000)
    other = np.where(generator.random(3000) < 0.9, category, generator.integers(0, 20, 3000))
    measured = unit * (0.5 + category % 2 + generator.normal(scale=0.01, size=3000))
    table = np.stack([category, other, measured], axis=1)
    found = mixed_mutual_information(table, [True, True, False])
    assert found[0, 2] == pytest.approx(np.log(2), abs=0.01)
    assert found[0, 1] > found[0, 2] > found[1, 2]
    parents = chow_liu_parents(table, ["categorical", "categorical", "gaussian"])
    assert edges(parents) == {frozenset({0, 1}), frozenset({0, 2})}


def test_a_category_of_each_row_tells_no_more_than_its_entropy():
    table = np.stack([np.arange(100), np.random.default_rng(0).normal(size=100)], axis=1)
    assert 0 <= mixed_mutual_information(table, [True, False])[0, 1] <= np.log(100)
    table[:, 1] = 7.0
    assert not mixed_mutual_information(table, [True, False]).any()


def test_a_table_of_mixed_columns_becomes_a_circuit():
    table = np.concatenate([categorical_chain(), gaussian_chain()], axis=1)
    specs = [CategoricalInput(3)] * 5 + [GaussianInput()] * 5
    tree = chow_liu_tree(table, ["categorical"] * 5 + ["gaussian"] * 5)
    circuit = build_circuit(
        tree, inputs=dict(enumerate(specs)), num_input_units=2, sum_product_layer="cp-t", num_sum_units=2
    )
    assert circuit.is_structured_decomposable
    assert circuit.scope == tuple(range(10))


@pytest.mark.parametrize(
    ("data", "kind", "options", "error"),
    [
        (np.zeros(5), "categorical", {}, ShapeError),
        (np.zeros((1, 5)), "categorical", {}, ShapeError),
        (np.full((4, 2), 0.5), "categorical", {}, DataTypeError),
        (np.full((4, 2), "a"), "categorical", {}, DataTypeError),
        (np.full((4, 2), -1), "categorical", {}, ValueRangeError),
        (np.full((4, 2), 7), "categorical", {"num_categories": 5}, ValueRangeError),
        (np.full((4, 2), np.nan), "gaussian", {}, ValueRangeError),
        (np.zeros((4, 2)), "poisson", {}, UnknownNameError),
        (np.zeros((4, 2)), ["gaussian"] * 3, {}, ShapeError),
        (np.zeros((4, 2)), "gaussian", {"root": 2}, ValueRangeError),
    ],
)
def test_bad_data_is_refused(data, kind, options, error):
    with pytest.raises(error):
        chow_liu_tree(data, kind, **options)
