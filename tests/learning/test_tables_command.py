"""`train` and `evaluate` on a table of the user: from a CSV file to a checkpoint that knows its columns."""

import csv
import math
import re
import shlex
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from explorer.app.commands import console
from explorer.app.training.checkpoint import Checkpoint
from explorer.app.training.job import load_data_of
from explorer.learning.log_likelihood import mean_log_likelihood
from explorer.learning.structures import MAX_LEARNED_COLUMNS
from explorer.learning.tables import CategoricalColumn, GaussianColumn
from tests.app.commands.running import run


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
    for line in ("colour", "binary: blue, red", "integer: mean", "real: mean", "Independent columns reach"):
        assert line in found
    checkpoint = Checkpoint.load(path)
    kinds = {column.name: type(column) for column in checkpoint.columns}
    assert kinds == {
        "colour": CategoricalColumn,
        "children": CategoricalColumn,
        "size": GaussianColumn,
        "age": GaussianColumn,
    }
    assert checkpoint.columns[0] == CategoricalColumn("colour", ("blue", "red"))
    training = [epoch.training_bits for epoch in checkpoint.history]
    assert all(after <= before + 1e-5 for before, after in pairwise(training))
    assert "20 held-out rows of" in run("evaluate", path).output


def test_only_held_out_rows_of_training_data_are_evaluated_and_this_is_said(people, tmp_path, monkeypatch):
    path = tmp_path / "people.pt"
    run("train", "--data", people, "--structure", "chow-liu", "--units", 2, "--epochs", 1, "--out", path)
    default = run("evaluate", path)
    assert "Note" not in default.stderr
    monkeypatch.chdir(people.parent)
    for same in (people, people.name, f"./{people.name}"):
        found = run("evaluate", path, "--data", same)
        assert found.stdout == default.stdout
        assert f"{same} is the data of the training: only its held-out rows are evaluated" in found.stderr
    (copy := tmp_path / "copy.csv").write_bytes(people.read_bytes())
    found = run("evaluate", path, "--data", copy)
    assert found.stdout.startswith("100 rows of")
    assert "Note" not in found.stderr
    help_text = " ".join(run("evaluate", "--help").output.replace("│", " ").split())
    assert "another file: all its rows; the data of the training (the default), or digits: their held-out" in help_text


def test_a_parquet_table_is_trained_as_the_csv_file_with_the_same_rows(people, tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    table = tmp_path / "people.parquet"
    pandas.read_csv(people).to_parquet(table)
    options = ("--structure", "chow-liu", "--units", 2, "--method", "em", "--epochs", 2)
    found = run("train", "--data", table, *options, "--out", tmp_path / "parquet.pt").output
    assert "people.parquet: 100 rows, 20 held out" in found
    for line in ("colour", "binary: blue, red", "integer: mean", "real: mean"):
        assert line in found
    run("train", "--data", people, *options, "--out", tmp_path / "csv.pt")
    one, other = Checkpoint.load(tmp_path / "parquet.pt"), Checkpoint.load(tmp_path / "csv.pt")
    assert one.columns == other.columns
    assert one.leaf_state.keys() == other.leaf_state.keys()
    for name, value in one.leaf_state.items():
        torch.testing.assert_close(value, other.leaf_state[name], rtol=0, atol=0)
    (other_table := tmp_path / "other.parquet").write_bytes(table.read_bytes())
    answers = [run("evaluate", tmp_path / "parquet.pt", "--data", data).output for data in (other_table, people)]
    assert all(answer.startswith("100 rows of") for answer in answers)
    assert answers[0].split(":")[-1] == answers[1].split(":")[-1]


def test_a_table_is_continued_and_other_rows_are_evaluated(people, tmp_path):
    path = tmp_path / "people.pt"
    small = ("--epochs", 2, "--out", path)
    run("train", "--data", people, "--units", 2, "--column", "age=ignore", "--column", "children=gaussian", *small)
    first = Checkpoint.load(path)
    assert [column.name for column in first.columns] == ["colour", "children", "size"]
    assert (first.circuit, len(first.history)) == ("mixture", 2)
    found = run("train", "--resume", path, "--no-fold", "--no-optimize", *small).output
    assert f"train --resume {path}" in found
    second = Checkpoint.load(path)
    assert [epoch.number for epoch in second.history] == [1, 2, 3, 4]
    assert second.columns == first.columns
    picture = path.with_suffix(".curves.svg").read_text()
    assert "mixture on people.csv" in picture
    assert len(path.with_suffix(".curves.csv").read_text().splitlines()) == 5
    other = tmp_path / "other.csv"
    other.write_text("size,colour,children\n160,red,1\n181,blue,2\n")
    assert "2 rows of " in run("evaluate", path, "--data", other).output
    other.write_text("size,colour,children\n160,green,1\n")
    assert "unknown category 'green' in row 1" in run("evaluate", path, "--data", other, code=2).stderr
    other.write_text("size,colour,children\n160,,1\n")
    assert "--missing ignore" in run("evaluate", path, "--data", other, code=2).stderr
    assert "1 row of " in run("evaluate", path, "--data", other, "--missing", "ignore").output


@pytest.mark.parametrize("method", ["em", "gradient"])
def test_a_likelihood_of_zero_has_no_sign(tmp_path, monkeypatch, method):
    monkeypatch.chdir(tmp_path)  # so that no path of the machine is printed
    path, data = Path("same.pt"), Path("same.csv")
    data.write_text("a,b\n" + "same,7\n" * 20)
    found = run("train", "--data", data, "--units", 1, "--epochs", 2, "--method", method, "--out", path).output
    assert "Independent columns reach 0.0000" in found
    found += run("evaluate", path).output + run("query", "most-probable", path).output
    assert "mean log-likelihood 0.0000 nats, 0.0000 bits per dimension" in found
    assert "same,7,0.000000,0.000000,yes" in found
    curves = path.with_suffix(".curves.csv").read_text().splitlines()
    assert [line.split(",")[1:3] for line in curves[1:]] == [["0", "0"]] * 2
    assert "-0" not in found


def coins(path, share):
    """Two binary columns, equal in this share of the rows."""
    random = np.random.default_rng(1)
    left = random.integers(0, 2, 100)
    right = np.where(random.random(100) < share, left, 1 - left)
    path.write_text("\n".join(["left,right", *(f"{a},{b}" for a, b in zip(left, right, strict=True))]))
    return path


@pytest.mark.parametrize("same_name", [False, True])
def test_on_other_rows_a_run_starts_from_the_values_and_counts_its_own_epochs(tmp_path, same_name):
    path, first = tmp_path / "coins.pt", coins(tmp_path / "coins.csv", 1.0)
    options = ("--method", "em", "--epochs", 4, "--out", path)
    run("train", "--data", first, "--units", 2, *options)
    alike = min(epoch.held_out_bits for epoch in Checkpoint.load(path).history)
    other = coins(first if same_name else tmp_path / "other.csv", 0.3)
    notes = " ".join(run("train", "--resume", path, "--data", other, *options, "--overwrite").stderr.split())
    assert f"trained on {'other rows of ' if same_name else ''}{first}: only its values are used" in notes
    found = Checkpoint.load(path)
    assert [epoch.number for epoch in found.history] == [1, 2, 3, 4]
    best = min(epoch.held_out_bits for epoch in found.history)
    assert best > alike, "epochs on the first rows would win"
    rows = load_data_of(found).held_out
    assert -mean_log_likelihood(found.restore(), rows) / 2 / math.log(2) == pytest.approx(best)


def test_held_out_rows_of_a_changed_file_are_noted_as_possibly_trained_on(tmp_path):
    path, table = tmp_path / "coins.pt", coins(tmp_path / "coins.csv", 1.0)
    run("train", "--data", table, "--units", 1, "--method", "em", "--epochs", 1, "--out", path)
    assert "Note" not in run("evaluate", path).stderr
    lines = table.read_text().splitlines()
    table.write_text("\n".join([lines[0], *lines[2:]]))
    assert "other rows than in training" in " ".join(run("evaluate", path).stderr.split())
    assert "Note" not in run("evaluate", path, "--data", coins(tmp_path / "other.csv", 1.0)).stderr


def test_with_another_method_the_best_epoch_keeps_its_values(tmp_path):
    path = tmp_path / "coins.pt"
    first = ("--data", coins(tmp_path / "coins.csv", 1.0), "--units", 2)
    run("train", *first, "--method", "em", "--epochs", 3, "--out", path)
    run("train", "--resume", path, "--method", "gradient", "--epochs", 1, "--learning-rate", 9)
    run("train", "--resume", path, "--method", "em", "--epochs", 1, "--pseudo-count", 9999)
    found = Checkpoint.load(path)
    best = min(found.history, key=lambda epoch: epoch.held_out_bits)
    assert [epoch.number for epoch in found.history] == [1, 2, 3, 4, 5]
    assert best.number <= 3
    reached = -mean_log_likelihood(found.restore(), load_data_of(found).held_out) / 2 / math.log(2)
    assert reached == pytest.approx(best.held_out_bits)


def test_what_a_command_reads_is_never_overwritten(people, tmp_path):
    table = tmp_path / "mine.csv"
    table.write_bytes(content := people.read_bytes())
    run("train", "--data", table, "--units", 2, "--epochs", 1, "--out", tmp_path / "mine.pt")
    assert table.read_bytes() == content
    assert "would be overwritten" in run("train", "--data", table, "--out", table, code=2).stderr
    assert "would be overwritten" in run("trace", tmp_path / "mine.pt", "--out", tmp_path / "mine.pt", code=2).stderr
    assert table.read_bytes() == content
    assert f"train on it with --data {table}" in " ".join(run("train", table, code=2).stderr.split())


def test_the_density_of_a_table_is_in_its_own_units(tmp_path):
    """One normal column has the log-density of its normal distribution."""
    path, random = tmp_path / "size.csv", np.random.default_rng(0)
    sizes = random.normal(500, 40, 100)
    path.write_text("\n".join(["size", *map(str, sizes)]))
    run(
        "train",
        "--data",
        path,
        "--structure",
        "fully-factorized",
        "--method",
        "em",
        "--epochs",
        2,
        "--out",
        tmp_path / "s.pt",
    )
    found = run("evaluate", tmp_path / "s.pt").output
    held_out = np.arange(100) % 5 == 4
    mean, stddev = sizes[~held_out].mean(), sizes[~held_out].std()
    z = (sizes[held_out] - mean) / stddev
    expected = (-(z**2) / 2 - np.log(stddev) - np.log(2 * np.pi) / 2).mean()
    assert float(found.split("mean log-likelihood ")[1].split(" nats")[0]) == pytest.approx(expected, abs=1e-3)


def test_evaluate_says_its_units_and_prints_the_measure_of_training_too(people, tmp_path):
    path = tmp_path / "people.pt"
    fitting = ("--structure", "fully-factorized", "--units", 1, "--method", "em", "--epochs", 1)
    trained = run("train", "--data", people, *fitting, "--out", path).output
    caption = " ".join(trained.split("Independent columns")[1].split())
    assert "Real columns are standardized; evaluate prints this measure and the one in their units." in caption
    (epoch,) = Checkpoint.load(path).history
    found = run("evaluate", path).output
    assert " nats per row in the units of the columns, " in found
    assert (
        f", {math.log(2) * epoch.held_out_bits:.4f} nats per dimension of standardized columns (less is better)"
        in found
    )


def test_a_missing_cell_has_no_density_that_its_column_could_scale(tmp_path):
    """Two independent normal columns, one empty in every second row: each counts where it has a value."""
    random, path, trained = np.random.default_rng(0), tmp_path / "half.csv", tmp_path / "half.pt"
    a, b = random.normal(500, 900, 60), random.normal(7, 0.01, 60)
    a[::2] = np.nan
    path.write_text("\n".join(["a,b", *(f"{'' if np.isnan(x) else x},{y}" for x, y in zip(a, b, strict=True))]))
    options = ("--structure", "fully-factorized", "--missing", "ignore", "--method", "em", "--epochs", 1)
    run("train", "--data", path, *options, "--out", trained)
    held_out = np.arange(60) % 5 == 4
    expected = 0.0
    for cells in (a, b):
        known = cells[~held_out & ~np.isnan(cells)]
        shown = cells[held_out & ~np.isnan(cells)]
        z = (shown - known.mean()) / known.std()
        expected += (-(z**2) / 2 - np.log(known.std()) - np.log(2 * np.pi) / 2).sum() / held_out.sum()
    found = run("evaluate", trained).output
    assert float(found.split("mean log-likelihood ")[1].split(" nats")[0]) == pytest.approx(expected, abs=1e-3)
    rows = tmp_path / "rows.csv"
    rows.write_text("a,b\n,7\n500,7\n")
    evaluated = run("evaluate", trained, "--data", rows).output
    asked = re.findall(r"log p = (\S+)", run("query", "marginal", trained, "--rows", rows).output)
    assert float(evaluated.split("mean log-likelihood ")[1].split(" nats")[0]) == pytest.approx(
        np.mean([float(one) for one in asked]), abs=1e-4
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name a circuit .* or data for which one is built"),
        (("digits", "--structure", "hclt"), "the circuit digits has its structure and units"),
        (("--data", "digits", "--column", "a=gaussian"), "digits has images, not columns"),
        (
            ("--data", "{people}", "--column", "age"),
            "--column must be NAME=KIND, such as --column age=gaussian; found 'age'",
        ),
        (("--data", "{people}", "--structure", "quad-graph"), "the structure quad-graph divides images"),
        (
            ("--data", "{people}", "--structure", "cube"),
            "no structure named 'cube'; known are: mixture, hclt, chow-liu",
        ),
        (("--data", "{people}", "--missing", "drop"), "no way to treat missing values named 'drop'"),
        (
            ("--data", "{people}", "--method", "gradient", "--pseudo-count", "1"),
            "--pseudo-count belongs to --method em",
        ),
        (
            ("--data", "{people}", "--column", "age=gaussian", "--column", "age=ignore"),
            "--column gives 'age' two kinds, gaussian and ignore",
        ),
        (("--data", "{people}", "--method", "em", "--fast"), "leave out --fast, or use --method gradient"),
        (("digits", "--data", "{people}"), "the circuit reads 64 variables, a row of .* has 4"),
    ],
)
def test_invalid_requests_are_refused(people, tmp_path, arguments, message):
    given = [argument.replace("{people}", str(people)) for argument in arguments]
    assert re.search(message, run("train", *given, "--out", tmp_path / "never.pt", code=2).stderr)
    assert not (tmp_path / "never.pt").exists()


def test_a_table_with_missing_cells_has_no_fast_backend_and_none_is_announced(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text('a\n1\n2\n""\n' + "1\n2\n" * 4 + "NA\n" * 2, encoding="utf-8")
    found = run("train", "--data", path, "--missing", "ignore", "--fast", "--out", tmp_path / "g.pt", code=2).stderr
    assert "leave out --fast" in found
    assert "the steps run on" not in found


def test_a_checkpoint_of_a_table_is_not_continued_with_another_circuit_or_images(people, tmp_path):
    path = tmp_path / "people.pt"
    run("train", "--data", people, "--units", 1, "--epochs", 1, "--method", "em", "--out", path)
    found = run("train", "--data", "digits", "--resume", path, code=2).stderr
    assert "digits has images; name a table, with the columns colour, children, size, age" in " ".join(found.split())
    found = run("train", "blackboard", "--resume", path, code=2).stderr
    assert "the values of the checkpoint are not those of the circuit blackboard" in " ".join(found.split())
    assert "only its values are used" not in found, "nothing of it is used"


def test_categories_with_commas_are_quoted():
    assert CategoricalColumn("x", ("dark, blue", "red", "tan")).describe() == "3 categories: 'dark, blue', red, tan"


def test_what_was_inferred_of_a_column_of_names_is_a_note_unless_it_was_asked_for(tmp_path):
    path = tmp_path / "cats.csv"
    path.write_text("name,coat\n" + "\n".join(f"cat {n},{n % 2}" for n in range(20)), encoding="utf-8")
    train = ("train", "--data", path, "--units", 1, "--epochs", 1, "--method", "em", "--out", tmp_path / "cats.pt")
    assert "Note: column 'name' became 20 categories for 20 rows" in run(*train).stderr
    assert "Note" not in run(*train, "--column", "name=categorical", "--overwrite").stderr


def test_printed_commands_can_be_pasted_into_a_shell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = "Größen tabelle"
    Path(f"{name}.csv").write_text("Individual ID,kind\n" + "".join(f"A{i},x\nB{i},y\n" for i in range(40)))
    found = run("train", "--data", f"{name}.csv", "--units", 1, "--epochs", 1).output
    assert "leave it out with --column 'Individual ID=ignore'" in found
    (command,) = re.findall(r"Continue from the last epoch: (.*)", found)
    assert shlex.split(command)[1:] == ["train", "--resume", f"runs/{name}.pt"]
    found = run("train", f"{name}.csv", code=2).stderr
    assert shlex.split(found.rsplit(" with ")[-1]) == ["--data", f"{name}.csv"]
    found = run("evaluate", f"runs/{name}.pt", "--distributed", code=2).stderr
    assert f"evaluate 'runs/{name}.pt' --distributed" in found
    found = run("train", f"{name}.py", "--distributed", code=2).stderr
    assert f"train '{name}.py' --distributed" in found
    Path(f"{name}.py").write_text("")
    found = run("show", f"{name}.py", code=2).stderr
    assert shlex.split(found.rsplit(": ")[-1]) == [f"{name}.py:FUNCTION"]
    found = run("query", "marginal", f"runs/{name}.pt", "--observe", "3", code=2).stderr
    assert "for example 'Individual ID=1'" in found


def test_the_name_of_this_program_can_be_pasted_into_a_shell(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sys.argv", [str(tmp_path / "my tools" / "circuit-explorer")])
    assert shlex.split(console.command()) == [str(tmp_path / "my tools" / "circuit-explorer")]
    monkeypatch.chdir(tmp_path)
    assert console.command() == "'my tools/circuit-explorer'"


def test_a_table_that_is_too_wide_is_refused_before_its_columns_are_inferred(tmp_path):
    path, wide = tmp_path / "wide.csv", MAX_LEARNED_COLUMNS + 1
    names = ",".join(f"c{position}" for position in range(wide))
    path.write_text("\n".join([names, *[",".join(["?"] * wide)] * 5]) + "\n")
    found = run("train", "--data", path, "--out", tmp_path / "out.pt", code=2).stderr
    assert "4,001 columns, and the structure hclt compares every two of them, of at most 4,000" in found
    assert "--structure random-binary-tree" in found
    found = run("train", "--data", path, "--column", "c0=ignore", "--out", tmp_path / "out.pt", code=2).stderr
    assert "column 'c1' has no values" in found


def test_missing_cells_are_counted_by_column_with_what_counts_as_missing(tmp_path):
    path, trained = tmp_path / "trade.csv", tmp_path / "trade.pt"
    path.write_text("country,goods,tons\n" + "NA,None,1\nDE,ore,\nFR,ore,3\nZA,fish,4\n" * 10, encoding="utf-8")
    train = ("train", "--data", path, "--units", 1, "--epochs", 1, "--method", "em", "--out", trained)
    what = "empty or one of ?, n/a, na, nan, none, null, in any case"
    refused = " ".join(run(*train, code=2).stderr.split())
    assert f"30 cells are missing in 20 of 40 rows (a cell is missing if it is {what})" in refused
    counted = "30 of 120 cells are missing and summed out: country 10, goods 10, tons 10; a cell is missing if it is"
    noted = " ".join(run(*train, "--missing", "ignore").stderr.split())
    assert f"Note: {counted} {what}" in noted
    assert "a value that is written so, such as a country code, needs another spelling" in noted
    other = tmp_path / "other.csv"
    other.write_text("country,goods,tons\nDE,fish,\nZA,ore,4\n", encoding="utf-8")
    found = " ".join(run("evaluate", trained, "--data", other).stderr.split())
    assert "1 of 6 cells is missing and summed out: tons 1;" in found
    other.write_text("country,goods,tons\nDE,fish,1\n", encoding="utf-8")
    assert "Note" not in run("evaluate", trained, "--data", other).stderr


def test_of_many_columns_with_missing_cells_the_ones_with_most_are_named(tmp_path):
    path = tmp_path / "wide.csv"
    rows = [",".join("" if row < column else str(row % 2) for column in range(12)) for row in range(40)]
    path.write_text("\n".join([",".join(f"c{column}" for column in range(12)), *rows]), encoding="utf-8")
    train = ("train", "--data", path, "--units", 1, "--epochs", 1, "--method", "em", "--out", tmp_path / "wide.pt")
    found = " ".join(run(*train, "--missing", "ignore").stderr.split())
    assert "66 of 480 cells are missing and summed out: c11 11, c10 10, c9 9, c8 8, c7 7, c6 6, and 5 more;" in found
