"""The comparison of learned tables with Gaussian mixtures: equal rows, and probabilities of categories."""

import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks import learning_scores
from benchmarks.learning_scores import LearningScore, measure_learning, summary
from benchmarks.learning_tables import write_table

pytest.importorskip("sklearn")


def test_a_column_of_few_values_is_categorical_for_all_models(tmp_path: Path):
    written = write_table("diabetes", tmp_path)
    assert written.kinds["x1"] == "categorical"  # the sex
    assert sorted(written.kinds.values()).count("gaussian") == 9
    assert len(written.file.read_text().splitlines()) == 443


def test_a_seed_decides_the_order_of_the_rows(tmp_path: Path):
    one, two = (write_table("iris", tmp_path, seed).file.read_text() for seed in (0, 1))
    assert one != two
    assert sorted(one.splitlines()) == sorted(two.splitlines())


def test_the_density_of_a_cell_is_the_mean_over_draws():
    logs = [np.log(np.array([0.1, 0.4])), np.log(np.array([0.3, 0.2]))]
    assert math.isclose(learning_scores._mean_log(logs), (math.log(0.2) + math.log(0.3)) / 2)


def test_a_table_is_learned_by_ours_and_by_mixtures(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(learning_scores, "MAX_COMPONENTS", 2)
    found = measure_learning("iris")
    assert (found.rows, found.reals, found.categories) == (150, 4, 0)
    assert found.gaussian == pytest.approx(-4.313, abs=1e-3)  # by scikit-learn alone
    assert found.ours > found.better - 1


def test_the_worst_table_is_named():
    rows = [
        LearningScore("a", 100, 4, 0, "", -1.0, -1.2, -1.5, 1.0, 2.0, "2 full"),
        LearningScore("b", 100, 4, 0, "", -2.0, -1.5, -1.8, 1.0, 2.0, "2 full"),
    ]
    assert summary(rows) == "At least as good as the better of both in 1 of 2; the worst: b, -0.500 nats."
