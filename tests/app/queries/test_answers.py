"""Queries of the form: they are those of the circuit, the code shown asks the same, and misuse is said in words."""

import math
from dataclasses import dataclass
from typing import Any

import pytest
import torch

import explorer
from explorer.app.queries.answers import answer as ask, code_of, scale_words
from explorer.app.queries.named_variables import Evidence, Variables, describe_variables
from explorer.app.queries.query_kinds import KINDS, Query
from explorer.backend import TorchInputLayer, queries
from explorer.compiler import TorchCompiler
from explorer.errors import CircuitError, FormError
from explorer.learning.tables import CategoricalColumn, GaussianColumn
from explorer.symbolic import CircuitBuilder, InputLayer
from explorer.templates import fully_factorized, hidden_tree, load_named

ROW = Variables(4).parse("1, 0, 1, ?")
OFFERED = [name for name, kind in KINDS.items() if not kind.has_other]
STEP = 6


@pytest.fixture(scope="module")
def trace():
    return explorer.record(load_named("conflict"))


@pytest.fixture(scope="module")
def circuit(trace):
    return trace.circuit_at(STEP)


def mask(count: int, *chosen: int) -> torch.Tensor:
    return torch.tensor([v in chosen for v in range(count)])


def logarithm(answer):
    """The number of the first row of an answer."""
    return float(answer.table["rows"][0][1].removesuffix(" nats").replace("−", "-"))


@pytest.mark.parametrize("name", OFFERED)
def test_the_code_that_is_shown_asks_the_same(trace, circuit, name):
    evidence = Variables(4).parse("1, 0, 1, 1") if name == "log-likelihood" else ROW
    query = Query(name, evidence, mask(4, 0) if KINDS[name].has_given else None, num_samples=3, seed=5)
    answer = ask(circuit, query)
    names: dict[str, Any] = {"trace": trace}
    exec(code_of(answer, STEP), names)  # the code of this project
    found = names["found"]
    if name == "sample":
        assert [row for _, row in answer.rows] == [tuple(row.tolist()) for row in found[:, 0].double()]
    elif name == "most-probable":
        assert answer.rows[0][1] == tuple(found.assignment[0].double().tolist())
        assert logarithm(answer) == pytest.approx(found.log_probability.item(), rel=1e-5)
    elif name == "moments":
        first, second = (moment[0, 0, 0].tolist() for moment in found)
        assert answer.rows[0][1] == pytest.approx(first)
        assert answer.rows[1][1][3] == pytest.approx(math.sqrt(second[3] - first[3] ** 2))
    else:
        assert logarithm(answer) == pytest.approx(found.item(), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", ["sample", "most-probable"])
def test_the_code_says_which_output_was_asked_about(name):
    trace = explorer.record(load_named("near-misses"))
    circuit = trace.circuit_at(-1)
    assert len(circuit.graph.outputs) > 1
    answer = ask(circuit, Query(name, Evidence.nothing(circuit.num_variables), num_samples=2, root=(0, 0)))
    names: dict[str, Any] = {"trace": trace}
    exec(code_of(answer, -1), names)  # the code of this project
    found = names["found"]
    rows = found[:, 0] if name == "sample" else found.assignment
    assert [row for _, row in answer.rows] == [tuple(row) for row in rows.double().tolist()]


def test_a_conditional_is_a_marginal_divided_by_that_of_what_is_given(circuit):
    joint = logarithm(ask(circuit, Query("marginal", ROW)))
    given = logarithm(ask(circuit, Query("marginal", Variables(4).parse("1, ?, ?, ?"))))
    asked = logarithm(ask(circuit, Query("conditional", ROW, mask(4, 0))))
    assert asked == pytest.approx(joint - given, abs=1e-5)


def test_a_number_has_its_plain_value_where_a_float_holds_it(circuit):
    answer = ask(circuit, Query("marginal", ROW))
    plain = answer.table["rows"][0][2].replace("−", "-")
    assert float(plain) == pytest.approx(math.exp(logarithm(answer)), rel=1e-3)


def test_what_is_observed_is_kept_in_completions_and_samples(circuit):
    for name in ("marginal", "most-probable", "sample"):
        for _, row in ask(circuit, Query(name, ROW)).rows:
            assert row[:3] == (1.0, 0.0, 1.0)


def test_the_expected_value_of_a_coin_is_its_conditional_probability(circuit):
    ones = Variables(4).parse("1, 0, 1, 1")
    exact = math.exp(queries.marginal(circuit, *ones).item() - queries.marginal(circuit, *ROW).item())
    ((_, mean),) = ask(circuit, Query("marginal", ROW)).rows
    assert mean == pytest.approx((1, 0, 1, exact), abs=1e-6)


def test_entropy_is_answered_or_why_it_is_not(circuit):
    rows = [[float(bit) for bit in f"{number:04b}"] for number in range(16)]
    logs = queries.log_likelihood(circuit, torch.tensor(rows).long())
    entropy = logarithm(ask(circuit, Query("entropy", Evidence.nothing(4))))
    assert entropy == pytest.approx(-(logs.exp() * logs).sum().item(), abs=1e-4)
    large = explorer.record(load_named("digits")).circuit_at(0)
    with pytest.raises(CircuitError, match="not known to be deterministic"):
        ask(large, Query("entropy", Evidence.nothing(64)))


def test_a_form_accepts_no_value_of_a_variable_that_is_not_read():
    variables = Variables(3, unread=frozenset({1}))
    assert variables.parse("1, ?, 0").observed.tolist() == [[True, False, True]]
    with pytest.raises(FormError, match=r"does not read x1; write \? there"):
        variables.parse("1, 1, 0")


def test_what_was_entered_for_other_variables_is_kept_where_it_fits():
    variables = Variables(4, sizes={0: 2, 1: 3, 2: 2}, unread=frozenset({2}))
    kept = variables.keep(Variables(3).parse("1, 3, 1"))
    assert (kept.x.tolist(), kept.observed.tolist()) == ([[1.0, 0.0, 0.0, 0.0]], [[True, False, False, False]])
    kept = variables.keep(Variables(5).parse("0, 1.5, 0, 7.5, 1"))
    assert kept.observed.tolist() == [[True, False, False, True]]
    entries = [" 1", "2", "1", "-1.5"], ["2", "0.5", "", "many"]
    assert [[variables.fits(v, entry) for v, entry in enumerate(row)] for row in entries] == [
        [True, True, False, True],
        [False] * 4,
    ]
    assert variables.keep_chosen("0, 2-9, x1, 1-2, y") == "0, x1, 1-2"
    columns = CategoricalColumn("team", ("a", "b")), GaussianColumn("height", 170.0, 10.0)
    named = Variables(2, columns)
    assert [named.fits(0, "b"), named.fits(0, "c"), named.fits(1, "180"), named.fits(1, "tall")] == [1, 0, 1, 0]


def test_only_answers_about_real_variables_are_densities():
    specs = [GaussianColumn("height", 170.0, 10.0).input_spec(), CategoricalColumn("team", ("a", "b")).input_spec()]
    mixed = explorer.record(hidden_tree((-1, 0), specs, num_latent_states=2), seed=3).circuit_at(-1)
    headings = {
        row: ask(mixed, Query("marginal", Variables(2).parse(row))).table["columns"][2]
        for row in ("0, ?", "?, 1", "0, 1")
    }
    assert headings == {"0, ?": "density", "?, 1": "probability", "0, 1": "density"}


def test_a_table_is_asked_about_in_its_own_names_and_units(capsys):
    columns = (GaussianColumn("height", 170.0, 10.0), CategoricalColumn("team", ("blue", "red")))
    table = Variables(2, columns)
    specs = [column.input_spec() for column in columns]
    trace = explorer.record(hidden_tree((-1, 0), specs, num_latent_states=2), seed=3)
    circuit = trace.circuit_at(-1)
    with pytest.raises(FormError, match=r"'nan' is not a value of height .real: mean 170"):
        table.read(["nan", "?"])
    known = table.read(["180", "?"])
    assert (known.x.tolist(), table.chosen("team")) == ([[1.0, 0.0]], (1,))
    answer = ask(circuit, Query("marginal", known), table)
    density = queries.marginal(circuit, *known).item()
    assert logarithm(answer) == pytest.approx(density - math.log(10), abs=1e-4)  # 10 units of the table are one code
    exec(code_of(answer, -1), {"trace": trace})
    assert float(capsys.readouterr().out.partition("[[[")[2].partition("]")[0]) == pytest.approx(
        logarithm(answer), abs=1e-4
    )
    assert scale_words(answer.log_scale).endswith("its outputs are 2.30259 nats more.")
    blue, red = (ask(circuit, Query("marginal", table.read(["180", team])), table) for team in ("blue", "red"))
    shares = {team: math.exp(logarithm(one) - logarithm(answer)) for team, one in (("blue", blue), ("red", red))}
    shown = ", ".join(f"{team}: {share:.3f}" for team, share in sorted(shares.items(), key=lambda pair: -pair[1]))
    assert answer.expected is not None
    assert answer.expected["rows"] == [["height", "180 (observed)", "–"], ["team", shown, "–"]]
    given = ask(circuit, Query("conditional", table.read(["180", "red"]), mask(2, 1)), table)
    assert given.table["rows"][0][0] == "log p(height = 180 | team = red)"
    likely = max(("blue", "red"), key=shares.__getitem__)
    assert answer.rows[0][1] == (1.0, float(columns[1].labels.index(likely)))
    drawn = ask(circuit, Query("sample", known, num_samples=2), table).table
    assert drawn["columns"] == ["row", "height (observed)", "team"]
    assert {row[1] for row in drawn["rows"]} == {"180"}
    assert {row[2] for row in drawn["rows"]} <= {"blue", "red"}
    for wrong, why in ((["many", "?"], "'many' is not a value of height"), (["?", "green"], "no category of team")):
        with pytest.raises(CircuitError, match=why):
            table.read(wrong)


def test_moments_of_a_wide_table_are_in_its_units():
    columns = tuple(GaussianColumn(f"c{at}", 170.0, 10.0) for at in range(30))
    circuit = TorchCompiler(seed=3).compile(fully_factorized(30, [column.input_spec() for column in columns]))
    answer = ask(circuit, Query("moments", Evidence.nothing(30)), Variables(30, columns))
    means, deviations = (dict(answer.rows)[name] for name in ("mean", "standard deviation"))
    assert answer.expected is not None
    assert answer.expected["rows"][7] == ["c7", f"{170 + 10 * means[7]:.4g}", f"{10 * deviations[7]:.4g}"]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        (Query("log-likelihood", ROW), "x3 is not observed; a log-likelihood needs the values of all variables"),
        (Query("conditional", ROW, mask(4, 3)), "variable x3 is given, so it needs a value"),
        (Query("conditional", ROW, mask(4, 0, 1, 2)), "a conditional needs observed variables that are not given"),
        (Query("marginal", Variables(4).parse("7, ?, ?, ?")), "an integer from 0 to 1; found 7"),
        (Query("sample", Variables(4).parse("0.5, ?, ?, ?")), "an integer from 0 to 1; found 0.5"),
        (Query("marginal", Evidence.nothing(3)), "expected a row of 4 variables; got 3"),
    ],
)
def test_misuse_is_a_typed_error_that_says_what_to_do(circuit, query, why):
    with pytest.raises(CircuitError, match=why):
        ask(circuit, query)


def test_a_row_and_variables_are_read():
    assert [part.tolist() for part in ROW] == [[[1.0, 0.0, 1.0, 0.0]], [[True, True, True, False]]]
    assert Variables(9).chosen("0, 2, 5-7, 5") == (0, 2, 5, 6, 7)
    for text, why in (
        ("1, 2", "expected 3 entries"),
        ("1, x, ?", "'x' is not a value of x1"),
        ("1, nan, ?", "x1 .a number"),
    ):
        with pytest.raises(FormError, match=why):
            Variables(3).parse(text)
    for text in ("a", "1-x", "3-9"):
        with pytest.raises(FormError):
            Variables(9).chosen(text)


def test_a_variable_that_no_layer_reads_is_not_asked_about():
    circuit = explorer.record(load_named("evidence")).circuit_at(-1)
    row = Variables(5).parse("1, 0, 1, 1, 0")
    given = ask(circuit, Query("marginal", row))
    assert given.table["rows"][0][0] == "log p(x0 = 1, x2 = 1, x3 = 1)"
    assert logarithm(given) == logarithm(ask(circuit, Query("log-likelihood", Variables(5).parse("1, ?, 1, 1, ?"))))
    assert ask(circuit, Query("sample", row)).table["rows"][0][1:] == ["1", "not read", "1", "1", "not read"]
    with pytest.raises(FormError, match="x1 is given"):
        ask(circuit, Query("conditional", row, mask(5, 1)))


def test_evidence_of_probability_zero_has_that_probability_and_no_expected_values():
    circuit = explorer.record(load_named("logic")).circuit_at(-1)
    count = circuit.num_variables
    answer = ask(circuit, Query("marginal", Variables(count).parse("1, 1" + ", ?" * (count - 2))))
    assert answer.table["rows"][0][1:] == ["−inf nats", "0"]
    assert "probability zero" in answer.note
    assert (answer.rows, answer.expected) == ((), None)


@dataclass(frozen=True, eq=False, kw_only=True)
class OwnInput(InputLayer):
    """y = 2^-v for v = 0, 1, 2 ..."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TorchOwnInput(TorchInputLayer):
    """The same; nothing says which values v has."""

    compiles = OwnInput

    @property
    def flops(self) -> int:
        return 1

    def forward(self, semiring, x, parameters):
        return semiring.from_log(-x * math.log(2)).expand(-1, -1, self.num_output_units)

    def integral(self, semiring, parameters):
        return semiring.from_linear(torch.full((self.num_folds, 1, self.num_output_units), 2.0))


def test_a_layer_whose_values_are_unknown_answers_what_it_can():
    builder = CircuitBuilder()
    circuit = TorchCompiler().compile(builder.build(builder.add(OwnInput(scope=(0,), num_output_units=1))))
    answer = ask(circuit, Query("log-likelihood", Variables(1).parse("3")))
    assert logarithm(answer) == pytest.approx(-4 * math.log(2), abs=1e-5)
    assert "No expected values: " in ask(circuit, Query("marginal", Variables(1).parse("?"))).note


def test_variables_of_layers_that_no_output_reads_are_unread():
    b = CircuitBuilder()
    read, _ = (b.add(OwnInput(scope=(v,), num_output_units=1)) for v in range(2))
    circuit = TorchCompiler().compile(b.build(read))
    assert describe_variables(circuit).unread == {1}
