"""The commands `sample` and `query`: circuits by name, by file and by checkpoint; values by name of the variable."""

import csv
import math
import re
import struct
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch

from explorer.app.training.checkpoint import Checkpoint
from explorer.backend import queries
from explorer.compiler import TorchCompiler
from explorer.learning.tables import CategoricalColumn, GaussianColumn
from explorer.symbolic import (
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    ConstantInitializer,
    GaussianLayer,
    TensorParameter,
)
from explorer.symbolic.operators import evidence
from explorer.templates import gallery
from tests.app.commands.running import run as run_command


def run(*arguments: str, code: int = 0) -> str:
    return run_command(*arguments, code=code).output


def leaf(*values: object) -> TensorParameter:
    array = np.array(values, dtype=float)
    return TensorParameter(array.shape, initializer=ConstantInitializer(array))


def weather() -> Circuit:
    b = CircuitBuilder()
    probs = leaf([0.9, 0.1], [0.2, 0.8])
    sky = b.add(CategoricalLayer(scope=(0,), num_output_units=2, num_categories=2, probs=probs))
    warmth = b.add(GaussianLayer(scope=(1,), num_output_units=2, mean=leaf(1.0, -1.0), stddev=leaf(0.5, 0.5)))
    return b.build(b.sum(b.hadamard(sky, warmth), num_units=1, weight=leaf([0.5, 0.5])))


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    symbolic = weather()
    state = TorchCompiler().compile(symbolic).leaf_state()
    columns = (CategoricalColumn("sky", ("clear", "rain")), GaussianColumn("warmth", 20.0, 10.0))
    saved = Checkpoint("hclt", {}, "weather.csv", state, symbolic=symbolic.to_json(), columns=columns)
    path = tmp_path / "weather.pt"
    saved.save(path)
    return str(path)


def test_samples_are_printed_as_csv_and_agree_with_what_is_observed():
    lines = run("sample", "blackboard", "-n", "4", "--observe", "x1=1", "--seed", "3").splitlines()
    assert lines[0] == "x0,x1,x2,x3,x4"
    assert len(lines) == 5
    assert all(line.split(",")[1] == "1" for line in lines[1:])
    assert lines == run("sample", "blackboard", "-n", "4", "--observe", "x1=1", "--seed", "3").splitlines()


def test_samples_have_the_digits_that_tell_them_apart_and_given_values_all(checkpoint: str, tmp_path: Path):
    drawn = [line.split(",")[1] for line in run("sample", checkpoint, "-n", "20").splitlines()[1:]]
    assert all(re.fullmatch(r"-?\d+\.\d{1,7}", number) for number in drawn)
    assert len(set(drawn)) == 20
    array = tmp_path / "s.npy"
    run("sample", checkpoint, "-n", "20", "-o", str(array))
    exact = [20 + 10 * code for code in np.load(array)[:, 1]]
    assert [float(number) for number in drawn] == pytest.approx(exact, abs=1e-5)
    given = run("sample", checkpoint, "-n", "1", "--observe", "warmth=21.123456789012").splitlines()[1]
    assert given.split(",")[1] == "21.123456789012"
    table, out = tmp_path / "t.csv", tmp_path / "o.csv"
    table.write_text("sky,warmth\nrain,21.123456789012\nrain,\n")
    run("sample", checkpoint, "--rows", str(table), "-n", "2", "-o", str(out))
    lines = [line.split(",")[1] for line in out.read_text().splitlines()[1:]]
    assert lines[:2] == ["21.123456789012"] * 2
    assert all(len(number) <= 10 for number in lines[2:])


def test_samples_are_written_as_an_array_and_as_images(tmp_path: Path):
    array, picture = tmp_path / "s.npy", tmp_path / "s.png"
    run("sample", "digits", "-n", "5", "-o", str(array))
    assert np.load(array).shape == (5, 64)
    run("sample", "digits", "-n", "5", "-o", str(picture))
    data = picture.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", data[16:24]) == (8 * (3 * 9 - 1), 8 * (2 * 9 - 1))  # 3 by 2 images, enlarged 8 times
    assert "not known to be a circuit of images" in run("sample", "blackboard", "-o", str(tmp_path / "b.png"), code=2)


def test_samples_replace_a_file_only_if_that_is_asked(tmp_path: Path):
    """It may be the table that a circuit was trained on."""
    table = tmp_path / "table.csv"
    table.write_text("a,b\n1,2\n")
    assert "exists; choose another file, or replace it with --overwrite" in run(
        "sample", "blackboard", "-o", str(table), code=2
    )
    assert table.read_text() == "a,b\n1,2\n"
    run("sample", "blackboard", "-n", "3", "-o", str(table), "--overwrite")
    assert len(table.read_text().splitlines()) == 4


def test_a_checkpoint_of_a_table_speaks_of_its_columns(checkpoint: str):
    lines = run("sample", checkpoint, "-n", "20", "--observe", "sky=rain").splitlines()
    assert lines[0] == "sky,warmth"
    assert {line.split(",")[0] for line in lines[1:]} == {"rain"}
    found = float(run("query", "conditional", checkpoint, "--ask", "sky=rain", "--observe", "warmth=10").split()[3])
    close, far = (np.exp(-0.5 * (z / 0.5) ** 2) for z in (0.0, 2.0))  # 10 is one deviation of the column below its mean
    assert found == pytest.approx(np.log((0.8 * close + 0.1 * far) / (close + far)), abs=1e-5)
    density = float(run("query", "marginal", checkpoint, "--observe", "warmth=10").split()[3])
    wanted = np.log(0.5 * (close + far) / (0.5 * np.sqrt(2 * np.pi)) / 10.0)  # a density per degree
    assert density == pytest.approx(wanted, abs=1e-5)


def test_rows_of_a_table_are_asked_with_empty_cells_summed_out(tmp_path: Path, checkpoint: str):
    table = tmp_path / "rows.csv"
    table.write_text("warmth,sky\n,rain\n10,\n")
    lines = run("query", "marginal", checkpoint, "--rows", str(table)).splitlines()
    assert float(lines[0].split()[3]) == pytest.approx(np.log(0.45), abs=1e-5)
    assert lines[1] == run("query", "marginal", checkpoint, "--observe", "warmth=10").strip()
    assert "row 1 has no value of warmth; a log-likelihood needs the values of all" in run(
        "query", "log-likelihood", checkpoint, "--rows", str(table), code=2
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("warmth=nan", "'nan' is not a value of warmth (real: mean 20"),
        ("warmth=inf", "'inf' is not a value of warmth"),
        ("warmth=abc", "'abc' is not a value of warmth (real"),
        ("sky=snow", "no category of sky named 'snow'; known are: clear, rain"),
        ("sky=", "no category of sky named ''"),
    ],
)
def test_what_is_no_value_of_a_variable_is_not_taken_for_a_missing_one(checkpoint: str, value: str, message: str):
    assert message in run("query", "marginal", checkpoint, "--observe", value, code=2)
    assert message in run("sample", checkpoint, "--observe", value, code=2)


def test_a_name_with_an_equals_sign_is_observed(tmp_path: Path):
    symbolic, path = weather(), tmp_path / "money.pt"
    state = TorchCompiler().compile(symbolic).leaf_state()
    columns = (CategoricalColumn("sky", ("clear", "rain")), GaussianColumn("amount=€", 20.0, 10.0))
    Checkpoint("hclt", {}, "m.csv", state, symbolic=symbolic.to_json(), columns=columns).save(path)
    rows = tmp_path / "rows.csv"
    rows.write_text("sky,amount=€\nrain,10\n", encoding="utf-8")
    found = run("query", "marginal", str(path), "--observe", "amount=€=10", "--observe", "sky=rain")
    assert found == run("query", "marginal", str(path), "--rows", str(rows))
    message = run("query", "marginal", str(path), "--observe", "amount=€=10", "--observe", "amount=€=1", code=2)
    assert "amount=€ is given twice, as '10' and as '1'" in message


def test_too_many_samples_for_the_memory_are_one_line():
    message = run("sample", "blackboard", "-n", "100000000000000", code=2)
    assert re.search(r"not enough memory: [\d,.]+ [A-Z]iB were asked for at once; choose a smaller --count\n", message)


def test_a_checkpoint_has_its_semiring(checkpoint: str):
    for name in ("max-product", "unknown"):
        assert "leave out --semiring" in run("query", "marginal", checkpoint, "--semiring", name, code=2)
        assert "leave out --semiring" in run("sample", checkpoint, "--semiring", name, code=2)


def test_the_empty_cells_of_a_table_are_completed(tmp_path: Path, checkpoint: str):
    table = tmp_path / "rows.csv"
    table.write_text("warmth,sky\n,rain\n10,\n")
    lines = run("sample", checkpoint, "--rows", str(table), "-n", "2").splitlines()
    cells = [line.split(",") for line in lines]
    assert cells[0] == ["sky", "warmth"]
    assert [row[0] for row in cells[1:3]] == ["rain", "rain"]
    assert [float(row[1]) for row in cells[3:]] == [10.0, 10.0]
    assert "leave out one" in run("sample", checkpoint, "--rows", str(table), "--observe", "sky=rain", code=2)


def test_questions_about_a_gallery_circuit_have_the_answers_of_the_queries():
    circuit = TorchCompiler(seed=0).compile(gallery.load_named("blackboard"))
    assert f"{queries.partition_function(circuit).item():.6f}" in run("query", "partition", "blackboard")
    values = [f"--observe=x{v}=1" for v in range(5)]
    found = queries.log_likelihood(circuit, torch.ones((1, 5), dtype=torch.long)).item()
    assert run("query", "log-likelihood", "blackboard", *values).startswith(f"log p = {found:.6f} (probability ")
    head, line = run("query", "most-probable", "blackboard", "--observe", "x0=0").splitlines()
    assert head == "x0,x1,x2,x3,x4,log p,upper bound,most probable"
    assert line.startswith("0,")


def test_moments_are_means_and_deviations_in_the_units_of_the_table(tmp_path: Path, checkpoint: str):
    head, *lines = list(csv.reader(run("query", "moments", checkpoint).splitlines()))
    assert head == ["variable", "mean", "standard deviation"]
    assert [line[0] for line in lines] == ["sky=clear", "sky=rain", "warmth"]
    found = {name: (float(mean), float(deviation)) for name, mean, deviation in lines}
    assert found["sky=clear"] == pytest.approx((0.55, math.sqrt(0.55 * 0.45)), rel=1e-5)
    assert found["warmth"] == pytest.approx((20.0, 10.0 * math.sqrt(1.25)), rel=1e-5)
    table = tmp_path / "rows.csv"
    table.write_text("warmth,sky\n,rain\n10,\n")
    head, *lines = list(csv.reader(run("query", "moments", checkpoint, "--rows", str(table)).splitlines()))
    assert head == ["row", "variable", "mean", "standard deviation"]
    given = {(row, name): (float(mean), float(deviation)) for row, name, mean, deviation in lines}
    assert len(given) == 6
    assert given["1", "sky=rain"] == (1, 0)
    means = (0.1 * 1.0 - 0.8) / 0.9
    wanted = (20 + 10 * means, 10 * math.sqrt(1.25 - means**2))
    assert given["1", "warmth"] == pytest.approx(wanted, rel=1e-5)
    assert given["2", "warmth"] == (10, 0)
    rain = np.exp(
        float(run("query", "conditional", checkpoint, "--ask", "sky=rain", "--observe", "warmth=10").split()[3])
    )
    assert given["2", "sky=rain"][0] == pytest.approx(rain, abs=1e-5)


def test_moments_of_a_gallery_circuit_are_those_of_the_query(tmp_path: Path):
    circuit = TorchCompiler(seed=0).compile(gallery.load_named("blackboard"))
    observed = torch.tensor([True, False, False, False, False])
    first, second = (queries.moments(circuit, order, torch.ones(1, 5), observed)[0, 0, 0] for order in (1, 2))
    _, *lines = csv.reader(run("query", "moments", "blackboard", "--observe", "x0=1").splitlines())
    assert lines[0] == ["x0", "1", "0"]
    assert [line[0] for line in lines] == [f"x{v}" for v in range(5)]
    assert [float(line[1]) for line in lines] == pytest.approx(first.tolist(), rel=1e-5)
    deviation = (second - first.square()).sqrt().tolist()
    assert [float(line[2]) for line in lines[1:]] == pytest.approx(deviation[1:], rel=1e-4)
    file = str(tmp_path / "evidence.json")
    evidence(gallery.load_named("blackboard"), {1: 0}).save(file)
    names = [line.split(",")[0] for line in run("query", "moments", file).splitlines()]
    assert names == ["variable", "x0", "x2", "x3", "x4"], "x1 is read no more"
    assert "say which one by --root OUTPUT,CLASS" in run("query", "moments", "near-misses", code=2)
    assert len(run("query", "moments", "near-misses", "--root", "1,0").splitlines()) > 1


def test_entropy_is_that_of_the_query_with_the_units_of_the_table(tmp_path: Path):
    circuit = TorchCompiler(seed=0).compile(gallery.load_named("blackboard"))
    rows = torch.tensor(list(product((0, 1), repeat=5)))
    logs = queries.log_likelihood(circuit, rows)
    assert run("query", "entropy", "blackboard") == f"entropy = {-(logs.exp() * logs).sum().item():.6f}\n"
    assert "not known to be deterministic" in run("query", "entropy", "digits", code=2)
    path = one_column(tmp_path / "height.pt", 10.0)
    wanted = 0.5 * math.log(2 * math.pi * math.e * (0.5 * 10.0) ** 2)
    assert run("query", "entropy", path) == f"differential entropy = {wanted:.6f}\n"


def one_column(path: Path, scale: float, mean: float = 0.0, name: str = "height") -> str:
    """A checkpoint of a table with one column, which is normal."""
    b = CircuitBuilder()
    layer = GaussianLayer(scope=(0,), num_output_units=1, mean=leaf(mean), stddev=leaf(0.5))
    symbolic = b.build(b.sum(b.add(layer), num_units=1, weight=leaf([1.0])))
    state = TorchCompiler().compile(symbolic).leaf_state()
    columns = (GaussianColumn(name, 170.0, scale),)
    Checkpoint("hclt", {}, "t.csv", state, symbolic=symbolic.to_json(), columns=columns).save(path)
    return str(path)


def test_the_divergence_of_two_circuits_is_that_of_their_rows(tmp_path: Path):
    files = [str(tmp_path / f"{name}.json") for name in ("p", "q")]
    biased = []
    for file, odds in zip(files, (0.2, 0.7), strict=True):
        b = CircuitBuilder()
        probs = leaf([odds, 1 - odds], [0.5, 0.5])
        coin = b.add(CategoricalLayer(scope=(0,), num_output_units=2, num_categories=2, probs=probs))
        b.build(b.sum(coin, num_units=1, weight=leaf([0.5, 0.5]))).save(file)
        biased.append(0.5 * (odds + 0.5))
    p, q = biased
    wanted = p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))
    found = run("query", "divergence", files[0], "--other", files[1])
    assert found.startswith("KL(p || q) = ")
    assert float(found.split("=")[1]) == pytest.approx(wanted, abs=2e-6)
    assert run("query", "divergence", files[0], "--other", files[0]) == "KL(p || q) = 0.000000\n"
    assert "same number of outputs, classes and variables" in run(
        "query", "divergence", files[0], "--other", "blackboard", code=2
    )


def test_a_divergence_of_checkpoints_is_that_of_cells_of_the_same_columns(tmp_path: Path):
    p, q = one_column(tmp_path / "p.pt", 10.0), one_column(tmp_path / "q.pt", 10.0, mean=1.0)
    found = run("query", "divergence", p, "--other", q)
    assert float(found.split("=")[1]) == pytest.approx(0.5 * (1.0 / 0.5) ** 2, abs=1e-5)
    for other in (one_column(tmp_path / "r.pt", 5.0), one_column(tmp_path / "s.pt", 10.0, name="width")):
        message = run("query", "divergence", p, "--other", other, code=2)
        assert "circuits with the same columns, in the same order, with the same units" in message
    assert "has variables without columns" in run("query", "divergence", p, "--other", "blackboard", code=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("query", "divergence", "blackboard"), "--other runs/digits.pt"),
        (("query", "entropy", "blackboard", "--other", "blackboard"), "--other belongs to the question divergence"),
        (("query", "entropy", "blackboard", "--observe", "x0=1"), "the question entropy is about all rows"),
        (("query", "partition", "blackboard", "--observe", "x0=1"), "the question partition is about all rows"),
        (("query", "marginal", "blackboard", "--observe", "x9=1"), "no variable of the circuit named 'x9'"),
        (("query", "marginal", "blackboard", "--observe", "x0"), "does not have the form NAME=VALUE"),
        (("query", "marginal", "blackboard", "--observe", "x0=1", "--observe", "x0=0"), "given twice"),
        (
            ("query", "marginal", "blackboard", "--observe", "x0=red"),
            "'red' is not a value of x0 (an integer from 0 to 1)",
        ),
        (("query", "marginal", "blackboard", "--observe", "x0=2"), "'2' is not a value of x0 (an integer from 0 to 1)"),
        (("query", "marginal", "blackboard", "--observe", "x0=0.5"), "'0.5' is not a value of x0 (an integer"),
        (
            ("query", "marginal", "blackboard", "--root", "1,0"),
            "root is (output, class), counted from 0, and at most (0, 0)",
        ),
        (
            ("query", "partition", "blackboard", "--root", "0,3"),
            "root is (output, class), counted from 0, and at most (0, 0)",
        ),
        (("query", "conditional", "blackboard", "--observe", "x0=1"), "--ask x1=0"),
        (("query", "conditional", "blackboard", "--observe", "x0=1", "--ask", "x0=0"), "observed and asked"),
        (("query", "marginal", "blackboard", "--ask", "x0=0"), "belongs to the question conditional"),
        (
            ("query", "log-likelihood", "blackboard", "--observe", "x0=1"),
            "Error: x1 is not observed; a log-likelihood needs the values of all variables: ask for the marginal",
        ),
        (("query", "mean", "blackboard"), "no question named 'mean'"),
        (("query", "partition", "blackboards"), "no circuit 'blackboards'"),
        (("sample", "blackboard", "-o", "samples.txt"), "no kind of file for samples named '.txt'"),
        (("sample", "digits", "--shape", "7x7"), "49 pixels; the circuit reads 64"),
        (("sample", "near-misses"), "say which one by --root OUTPUT,CLASS"),
        (("sample", "near-misses", "--root", "zero"), "does not have the form OUTPUT,CLASS"),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(arguments: tuple[str, ...], message: str):
    assert message in run(*arguments, code=2)


def test_variables_that_the_circuit_does_not_read_are_neither_named_nor_printed(tmp_path: Path):
    file = str(tmp_path / "evidence.json")
    evidence(gallery.load_named("blackboard"), {1: 0}).save(file)
    for arguments in (
        ("query", "conditional", file, "--ask", "x1=1"),
        ("query", "marginal", file, "--observe", "x1=7"),
        ("sample", file, "--observe", "x1=0"),
    ):
        message = run(*arguments, code=2)
        assert "no variable of the circuit named 'x1'" in message
        assert "x0, x2, x3, x4" in message
    assert run("sample", file, "-n", "1").startswith("x0,x2,x3,x4\n")
    drawn = tmp_path / "drawn.csv"
    run("sample", file, "-n", "3", "-o", str(drawn))
    answers = run("query", "marginal", file, "--rows", str(drawn))
    assert len(answers.splitlines()) >= 3
    assert run("query", "most-probable", file).startswith("x0,x2,x3,x4,log p")
    given = [f"--observe=x{v}=1" for v in (0, 2, 3, 4)]
    assert run("query", "log-likelihood", file, *given) == run("query", "marginal", file, *given)
    table = tmp_path / "rows.csv"
    table.write_text("x0,x1,x2,x3,x4\n1,0,1,1,1\n")
    assert run("query", "marginal", file, "--rows", str(table)) == run("query", "marginal", file, *given)
    table.write_text("x0,x1,x2,x3,x4\n1,0,1,1,\n")
    asked = ("query", "conditional", file, "--ask", "x4=1")
    assert run(*asked, "--rows", str(table)) == run(*asked, *given[:3])


def test_no_file_that_a_command_reads_is_overwritten(tmp_path: Path):
    table, circuit, code = tmp_path / "rows.csv", tmp_path / "circuit.json", tmp_path / "mine.py"
    table.write_text("x0,x1,x2,x3\n0,,1,\n")
    gallery.load_named("conflict").save(circuit)
    code.write_text("def build():\n    return None\n")
    for file, arguments in (
        (table, ("sample", "conflict", "--rows", str(table), "-o", str(table))),
        (circuit, ("time", str(circuit), "--json", str(circuit))),
        (code, ("trace", f"{code}:build", "-o", str(code))),
    ):
        before = file.read_bytes()
        assert "is read by this command, and would be overwritten" in run(*arguments, code=2).replace("\n", " ")
        assert file.read_bytes() == before


@pytest.mark.parametrize("value", ["99", "0.5", "-1"])
def test_a_value_that_a_variable_does_not_have_is_refused_with_its_column(value, tmp_path):
    found = run("query", "marginal", "digits", "--observe", f"x3={value}", code=2)
    assert f"'{value}' is not a value of x3 (an integer from 0 to 16)" in found
    path = tmp_path / "rows.csv"
    path.write_text(f"x0,x1,x2,x3,x4\n0,1,0,1,1\n0,1,0,{value},1\n")
    found = run("query", "marginal", "blackboard", "--rows", path, code=2)
    assert re.search(r"rows\.csv: the value \S+ of x3 in row 2 .line 3. is not an integer from 0 to 1", found)
