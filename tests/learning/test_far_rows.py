"""Rows of a table with a value far from all means: their likelihood, and what is probable given the value."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from explorer.backend import TorchCircuit, queries
from explorer.compiler import TorchCompiler
from explorer.learning.log_likelihood import bits_per_dimension, mean_log_likelihood
from explorer.symbolic import CircuitBuilder, GaussianLayer, constant
from tests.app.commands.running import run
from tests.fuzzing import covering
from tests.levels.modes import SWITCHES

MEANS, SCALES, WEIGHTS = (-1.0, 2.0), (0.5, 1.5), (0.25, 0.75)


def mixture(optimize: bool = True, fold: bool = True) -> TorchCircuit:
    b = CircuitBuilder()
    normals = b.add(
        GaussianLayer(scope=(0,), num_output_units=2, mean=constant(np.array(MEANS)), stddev=constant(np.array(SCALES)))
    )
    circuit = b.build(b.sum(normals, num_units=1, weight=constant(np.array([WEIGHTS]))))
    return TorchCompiler(optimize=optimize, fold=fold).compile(circuit)


@pytest.mark.parametrize(("size", "optimize", "fold"), covering((1e20, -1e30, 1e39, 1e150), *SWITCHES))
def test_far_rows_are_evaluated_in_double_precision(size: float, optimize: bool, fold: bool):
    circuit = mixture(optimize, fold)
    assert circuit.own_type == torch.float32
    near = mean_log_likelihood(circuit, torch.tensor([[0.5]], dtype=torch.float64))
    rows = torch.tensor([[0.5], [size], [math.nan]], dtype=torch.float64)
    wanted = (near - ((size - MEANS[1]) / SCALES[1]) ** 2 / 2) / 3  # the narrow component has no part
    assert mean_log_likelihood(circuit, rows) == pytest.approx(wanted, rel=1e-6)
    assert bits_per_dimension(circuit, rows) == pytest.approx(-wanted / math.log(2), rel=1e-6)
    asked = queries.log_likelihood(circuit, rows[1:2]).item()
    assert mean_log_likelihood(circuit, rows[1:2]) == pytest.approx(asked, rel=1e-6)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of a table with a category and a real number."""
    random = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("far")
    lines = [f"{random.choice(['a', 'b', 'c'])},{age:.3f}" for age in random.normal(40, 5, 60)]
    (folder / "table.csv").write_text("\n".join(["kind,age", *lines]))
    path = folder / "table.pt"
    run("train", "--data", folder / "table.csv", "--epochs", 1, "--units", 2, "--threads", 1, "--out", path)
    return path


@pytest.mark.parametrize("age", ["1e9", "1e10", "-1e100", "1e300"])
def test_probabilities_given_a_far_value_sum_to_one(table: Path, age: str):
    limit = "1e5" if float(age) > 0 else "-1e5"  # where the widest component is certain already
    found: dict[str, list[float]] = {}
    for value in (age, limit):
        logs = [
            run("query", "conditional", table, "--observe", f"age={value}", "--ask", f"kind={kind}").output
            for kind in "abc"
        ]
        found[value] = [math.exp(float(one.removeprefix("log p = ").split()[0])) for one in logs]
        lines = run("query", "moments", table, "--observe", f"age={value}").output.splitlines()
        shares = [float(line.split(",")[1]) for line in lines if line.startswith("kind=")]
        assert shares == pytest.approx(found[value], abs=1e-5)
    assert sum(found[age]) == pytest.approx(1, abs=1e-5)
    assert found[age] == pytest.approx(found[limit], abs=1e-5)


def test_evaluate_says_which_row_makes_the_mean_infinite(table: Path, tmp_path: Path):
    path = table
    other = tmp_path / "other.csv"
    other.write_text("kind,age\na,40.5\nb,1e30\n")
    found = run("evaluate", path, "--data", other)
    assert "inf" not in found.output
    assert "Note" not in found.stderr
    other.write_text("kind,age\na,40.5\nb,1e300\nb,39.5\na,-1e300\n")
    found = run("evaluate", path, "--data", other)
    assert "mean log-likelihood -inf nats" in found.output
    assert "2 of 4 rows have a probability of zero" in " ".join(found.stderr.split())
    assert "from 1: 2, 4" in " ".join(found.stderr.split())
