"""`explorer.load`: what was trained on the command line, used in Python."""

import math
import re

import pytest
import torch

import explorer
from explorer.app.queries.answers import answer as ask, code_of
from explorer.app.queries.named_variables import describe_variables
from explorer.app.queries.query_kinds import KINDS, Query
from explorer.backend import queries
from explorer.errors import FileFormatError, FormError, UnknownNameError
from tests.app.commands.running import run


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    rows = [("student", 20 + i % 5) if i % 2 else ("worker", 40 + i % 7) for i in range(60)]
    (folder / "people.csv").write_text("kind,age\n" + "".join(f"{kind},{age}.5\n" for kind, age in rows))
    run("train", "--data", folder / "people.csv", "--units", 2, "--epochs", 3, "--out", folder / "people.pt")
    return explorer.load(folder / "people.pt")


def test_a_table_is_sampled_in_its_own_categories_and_units(model):
    rows = model.sample(50, seed=3)
    assert rows == model.sample(50, seed=3)
    assert {tuple(row) for row in rows} == {("kind", "age")}
    assert {row["kind"] for row in rows} == {"student", "worker"}
    assert all(10 < row["age"] < 60 for row in rows)


def test_samples_keep_the_given_values(model):
    assert {row["kind"] for row in model.sample(5, {"kind": "student"})} == {"student"}
    assert [row["age"] for row in model.sample(2, {"age": 30.25})] == pytest.approx([30.25] * 2)


def test_a_log_probability_is_in_the_units_of_the_columns(model):
    """A density of ages integrates to the probability of the kind, over years."""
    step = 0.05
    ages = [step * number for number in range(1600)]
    (kind,) = model.log_probability({"kind": "student"})
    found = model.log_probability(*({"kind": "student", "age": age} for age in ages))
    assert step * torch.tensor(found, dtype=torch.float64).exp().sum() == pytest.approx(math.exp(kind), rel=1e-4)
    assert explorer.load("blackboard").log_probability({}) == pytest.approx([0.0], abs=1e-6)


def test_encoded_rows_decode_to_the_same_values(model):
    x, observed = model.encode({"kind": "worker", "age": 41.5}, {"age": "22"})
    assert observed.tolist() == [[True, True], [False, True]]
    assert model.table(x)[0] == {"kind": "worker", "age": pytest.approx(41.5)}
    assert torch.equal(queries.marginal(model.circuit, x, observed)[:1], queries.log_likelihood(model.circuit, x[:1]))


def test_what_is_not_known_is_decoded_as_none(model):
    assert model.decode(*model.encode({"kind": "worker"}, {"age": 41.5})) == [["worker", None], [None, 41.5]]
    coins = explorer.load("conflict")
    assert coins.decode(*coins.encode({"x1": 1})) == [[None, 1.0, None, None]]


def test_unknown_names_and_values_are_errors(model):
    with pytest.raises(UnknownNameError, match="no variable named 'agee'"):
        model.encode({"agee": 3})
    with pytest.raises(UnknownNameError, match="no category of kind named 'boss'; known are: student, worker"):
        model.encode({"kind": "boss"})
    with pytest.raises(FormError, match="'old'"):
        model.encode({"age": "old"})


def test_the_structure_has_the_learned_values_and_can_be_recorded(model):
    x, _ = model.encode({"kind": "worker", "age": 41.5})
    trace = explorer.record(model.symbolic)
    torch.testing.assert_close(trace.compiled(x.float()), model.circuit(x.float()))


ROW = {"kind": "worker", "age": 41.5}


@pytest.mark.parametrize(
    ("name", "observed"),
    [
        *(("log-likelihood", ROW), ("conditional", ROW)),
        *(
            (name, row)
            for name in ("marginal", "most-probable", "sample", "moments")
            for row in ({}, {"kind": "worker"})
        ),
    ],
)
def test_copied_code_of_a_table_prints_the_values_of_the_page(model, name, observed, capsys):
    evidence = model.encode(observed)
    trace = explorer.record(model.symbolic)
    variables = describe_variables(trace.circuit_at(-1), model.columns)
    given = torch.tensor([True, False]) if KINDS[name].has_given else None
    answer = ask(trace.circuit_at(-1), Query(name, evidence, given, num_samples=3, seed=5), variables)
    code = code_of(answer, -1, model.name)
    names = {"trace": trace}
    exec(code, names)  # the code of this project
    printed = capsys.readouterr().out
    assert "known" not in code.replace(model.name, "")
    if name in ("sample", "most-probable"):
        rows = [model.decode(torch.tensor([row], dtype=torch.float64))[0] for _, row in answer.rows]
        assert all(str({"kind": kind, "age": age}) in printed for kind, age in rows)
    elif name == "moments":
        names, means = zip(*re.findall(r"name='(\S+)', mean=([\d.]+)", printed), strict=True)
        assert names == ("kind=student", "kind=worker", "age")
        mean = float(means[2])
        assert answer.expected is not None
        assert f"{mean:.4g}" in answer.expected["rows"][1][1]
    else:
        found = re.findall(r"-?\d+\.\d*", printed)[0]
        logarithm = answer.table["rows"][0][1].removesuffix(" nats").replace("−", "-")
        assert float(found) == pytest.approx(float(logarithm), abs=1e-3)


def test_circuits_of_the_gallery_have_numbered_variables(tmp_path):
    rows = explorer.load("blackboard").sample(2)
    assert list(rows[0]) == ["x0", "x1", "x2", "x3", "x4"]
    (tmp_path / "broken.pt").write_bytes(b"no checkpoint")
    with pytest.raises(FileFormatError):
        explorer.load(tmp_path / "broken.pt")
