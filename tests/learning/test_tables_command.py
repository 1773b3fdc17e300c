"""`train` and `evaluate` on a table of the user: from a CSV file to a checkpoint that knows its columns."""

import csv
from itertools import pairwise

import numpy as np
import pytest
from typer.testing import CliRunner

from explorer.app.cli import app
from explorer.app.training.checkpoint import Checkpoint
from explorer.learning.tables import BinomialColumn, CategoricalColumn, GaussianColumn


def run(*arguments, code=0):
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A table with a column of each kind; size and colour depend on each other."""
    random = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("tables") / "people.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["colour", "children", "size", "age"])
        for _ in range(100):
            tall = random.integers(0, 2)
            colour = "red" if tall or random.random() < 0.1 else "blue"
            writer.writerow([colour, random.integers(0, 4), 160 + 20 * tall + random.normal(), random.integers(18, 90)])
    return path


def test_a_table_is_trained_and_evaluated(people, tmp_path):
    path = tmp_path / "people.pt"
    found = run(
        "train",
        "--data",
        people,
        "--structure",
        "chow-liu",
        "--units",
        2,
        "--method",
        "em",
        "--epochs",
        8,
        "--out",
        path,
    ).output
    assert "people.csv: 100 rows, 20 held out" in found
    for line in ("colour", "binary: blue, red", "integer from 20 to 87", "real: mean", "Independent columns reach"):
        assert line in found
    checkpoint = Checkpoint.load(path)
    kinds = {column.name: type(column) for column in checkpoint.columns}
    assert kinds == {
        "colour": CategoricalColumn,
        "children": CategoricalColumn,
        "size": GaussianColumn,
        "age": BinomialColumn,
    }
    assert checkpoint.columns[0] == CategoricalColumn("colour", ("blue", "red"))
    training = [epoch.training_bits for epoch in checkpoint.history]
    assert all(after <= before + 1e-5 for before, after in pairwise(training))
    assert "20 held-out rows of" in run("evaluate", path).output
