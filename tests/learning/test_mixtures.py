"""Mixtures of joint normal densities and categories: their search, their circuit, and the choice of a structure."""

import warnings

import numpy as np
import pytest
import torch

from explorer.backend import queries
from explorer.errors import LearningError, ShapeError
from explorer.learning import TrainingOptions, build_structure, mixtures, train
from explorer.learning.choice import choose_structure, options_of
from explorer.learning.data import split
from explorer.learning.log_likelihood import mean_log_likelihood
from explorer.learning.mixtures import MixtureSearch, MixtureSettings, Rows, build_mixture, fit, maximize, start
from explorer.learning.tables import CategoricalColumn, Column, GaussianColumn, TableData
from tests.levels.modes import compile_circuit


def clusters(num_rows: int = 200, seed: int = 0) -> np.ndarray:
    """Two clusters of three correlated numbers, and the cluster as a category that is wrong in a tenth of the rows."""
    random = np.random.default_rng(seed)
    cluster = random.integers(0, 2, num_rows)
    factor = random.normal(size=(2, 3, 3))
    numbers = np.einsum("nij,nj->ni", factor[cluster], random.normal(size=(num_rows, 3))) + 4 * cluster[:, None]
    label = np.where(random.random(num_rows) < 0.1, 1 - cluster, cluster)
    return np.concatenate([(numbers - numbers.mean(0)) / numbers.std(0), label[:, None]], 1)


def table(rows: np.ndarray, num_categories: int = 1) -> TableData:
    count = rows.shape[1] - num_categories
    columns: list[Column] = [GaussianColumn(f"x{at}", 0.0, 1.0) for at in range(count)]
    columns += [CategoricalColumn(f"c{at}", ("a", "b")) for at in range(num_categories)]
    return TableData("rows", *split(torch.from_numpy(rows)), tuple(columns))


def searched(rows: np.ndarray) -> Rows:
    return Rows.of(torch.from_numpy(rows), [None, None, None, 2])


def test_training_a_circuit_takes_the_steps_of_the_search():
    rows = searched(clusters())
    settings = MixtureSettings(3, 6, pooled_rows=2.0, shrinkage=0.1)
    share = start(rows.features(), torch.ones(1, len(rows)).double(), 3, torch.Generator().manual_seed(0))
    used = torch.ones(1, len(rows)).double()
    wanted = fit(rows, used, share, settings)[2].item()
    circuit = compile_circuit(build_mixture(rows, maximize(rows, share, settings))).double()
    x = torch.from_numpy(clusters())
    options = TrainingOptions(method="em", epochs=5, pseudo_count=1.0, pooled_rows=2.0, shrinkage=0.1)
    data = TableData("rows", x, x[:10], table(clusters()).columns)
    train(circuit, data, options)
    assert mean_log_likelihood(circuit, x) == pytest.approx(
        wanted, abs=1e-5
    )  # the first values are of single precision


def test_the_search_finds_the_clusters():
    found = MixtureSearch(searched(clusters()), 0)
    assert found.best().settings.units == 2
    assert found.best().score > found.one().score + 0.3
    assert found.best(3).settings.units == 3


def test_a_search_is_repeated_with_its_seed():
    one, other = (MixtureSearch(searched(clusters()), 3).best() for _ in range(2))
    assert one == other


def test_held_out_rows_are_not_learned_from():
    rows, changed = clusters(), clusters()
    search = MixtureSearch(searched(rows), 0)
    hidden = search.first_part().numpy()
    changed[hidden, :3] += 50.0
    settings = MixtureSettings(1, 1)
    used = search.used[:1]
    pair = [fit(searched(one), used, used.unsqueeze(2), settings)[0] for one in (rows, changed)]
    torch.testing.assert_close(pair[0].covariance, pair[1].covariance)


def test_a_mixture_of_correlated_numbers_is_chosen_for_them_and_said():
    data = table(clusters())
    found = choose_structure(data)
    assert found.name == "mixture"
    for words in ("chosen by rows held out", "a mixture of 2 joint Gaussians", "one joint Gaussian", "hclt"):
        assert words in found.note
    circuit = compile_circuit(found.circuit)
    train(circuit, data, TrainingOptions(**found.options))
    from sklearn.mixture import GaussianMixture

    x, y = (rows[:, :3].numpy() for rows in (data.training, data.held_out))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = min((GaussianMixture(k, random_state=0).fit(x) for k in range(1, 5)), key=lambda one: one.bic(x))
    observed = torch.tensor([True, True, True, False])
    ours = queries.marginal(circuit, data.held_out, observed).mean().item()
    assert ours > peer.score(y) - 0.1  # of 40 rows; the label helps to find the clusters


def test_a_tree_is_chosen_where_it_is_likelier(monkeypatch):
    monkeypatch.setattr("explorer.learning.choice._score_of_tree", lambda *_: 100.0)
    found = choose_structure(table(clusters(60)))
    assert (found.name, found.options) == ("hclt", {})
    assert "Structure hclt" in found.note


def test_the_choice_does_not_read_the_held_out_rows():
    data = table(clusters())
    other = TableData(data.name, data.training, data.held_out + 7, data.columns)
    assert choose_structure(data).note == choose_structure(other).note


def test_few_rows_and_wide_tables_get_a_tree_without_a_comparison(monkeypatch):
    assert choose_structure(table(clusters(15))).name == "hclt"
    monkeypatch.setattr("explorer.learning.choice.MAX_MIXTURE_COLUMNS", 3)
    assert choose_structure(table(clusters(60))).note == ""


def test_missing_cells_are_summed_out_in_training():
    rows = clusters(120)
    rows[::4, 1] = np.nan
    rows[::5, 3] = np.nan
    data = table(rows)
    found = choose_structure(data, name="mixture")
    circuit = compile_circuit(found.circuit)
    result = train(circuit, data, TrainingOptions(**{**found.options, "epochs": 4}))
    bits = [epoch.training_bits for epoch in result.epochs]
    assert bits[-1] < bits[0]


def test_tables_of_categories_are_mixtures_of_products():
    random = np.random.default_rng(0)
    same = random.integers(0, 2, (150, 1))
    data = table(np.concatenate([same, same, random.integers(0, 2, (150, 1))], 1).astype(float), 3)
    circuit = compile_circuit(build_structure("mixture", data, 2))
    assert circuit.integral().item() == pytest.approx(0.0, abs=1e-5)
    found = MixtureSearch(Rows.of(data.training, [2, 2, 2]), 0).best()
    assert found.settings.units > 1


def test_one_number_is_a_mixture_of_gaussians():
    rows = np.random.default_rng(0).normal(size=(60, 1)) + 3 * (np.arange(60) % 2)[:, None]
    data = table(rows, 0)
    found = choose_structure(data, 2, name="mixture")
    assert [type(layer).__name__ for layer in found.circuit.layers] == ["GaussianLayer", "SumLayer"]
    train(compile_circuit(found.circuit), data, TrainingOptions(**found.options))


def test_options_continue_the_search():
    found = MixtureSearch(searched(clusters()), 0).best()
    options = TrainingOptions(**options_of(found))
    assert (options.method, options.epochs) == ("em", max(found.settings.steps - 1, 1))


def test_columns_that_are_equal_do_not_stop_it():
    rows = clusters(80)
    rows[:, 1] = rows[:, 0]
    data = table(rows)
    found = choose_structure(data, name="mixture")
    circuit = compile_circuit(found.circuit)
    train(circuit, data, TrainingOptions(**found.options))
    assert np.isfinite(mean_log_likelihood(circuit, data.held_out))


def test_images_and_wide_tables_are_refused(monkeypatch):
    from explorer.learning.data import ImageData
    from explorer.learning.structures import check_width

    images = ImageData("images", torch.zeros(5, 4).long(), torch.zeros(2, 4).long(), 2, (1, 2, 2))
    with pytest.raises(LearningError, match="is one of tables"):
        build_structure("mixture", images, 2)
    with pytest.raises(ShapeError, match="has a covariance of every two"):
        check_width("mixture", "t.csv", mixtures.MAX_MIXTURE_COLUMNS + 1)
