"""What a page computes of a small circuit itself is what the compiled circuit answers, at every step."""

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn import datasets

import explorer
from explorer.app.session.living import MAX_LAYERS, cells_of, living_view
from explorer.app.training.job import Job
from explorer.backend.queries import log_likelihood, marginal, moments
from explorer.learning.choice import choose_structure
from explorer.learning.kept_epochs import KeptEpochs
from explorer.learning.log_likelihood import mean_log_likelihood
from explorer.learning.loop import train
from explorer.learning.methods import TrainingOptions
from explorer.learning.tables import TableData, load_table
from explorer.symbolic import (
    Circuit,
    ConstantInitializer,
    ExponentialLayer,
    HistogramLayer,
    LaplaceLayer,
    MultivariateGaussianLayer,
    SoftmaxParameter,
    SoftplusParameter,
    TensorParameter,
    circuit_from_json,
    with_values,
)
from explorer.symbolic.operators import concatenate, integrate
from explorer.templates import gallery
from explorer.trace import Trace
from explorer.views import TraceIndex
from explorer_widgets.schema import LivingView
from tests.needed import is_missing
from tests.waiting import PATIENCE

ANSWERS = Path(__file__).parents[2] / "widgets" / "living_answers.mjs"
SMALL = [name for name in gallery.names() if name not in ("mnist", "poon-domingos", "sos")]
ROWS = 6
Row = Sequence[int | float | None]


def answers(view: LivingView, rows: Sequence[Row], draws: int = 0) -> list[dict[str, Any]]:
    """What the page computes for rows of evidence, with so many samples of what is unknown."""
    node = shutil.which("node")
    if node is None:
        is_missing("node 20.11 or later", "apt-get install nodejs, brew install node, or https://nodejs.org")
    given = json.dumps({"view": view, "rows": rows, "draws": draws})
    done = subprocess.run(
        [node, str(ANSWERS)], input=given, capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    return json.loads(done.stdout)


def recorded(name: str) -> Trace:
    return explorer.record(gallery.load_named(name), semiring=gallery.default_options(name).semiring)


def evidence(view: LivingView, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of which more and more is observed, and the mask; a variable without values is never observed."""
    generator = torch.Generator().manual_seed(seed)
    states = torch.tensor([one["states"] for one in view["variables"]])
    shape = (ROWS, len(states))
    x = (torch.rand(shape, generator=generator) * states).long()
    share = torch.linspace(0, 1, ROWS)[:, None]
    return x, (torch.rand(shape, generator=generator) < share) & (states > 0)


def given(x: torch.Tensor, observed: torch.Tensor) -> list[Row]:
    pairs = zip(x.tolist(), observed.tolist(), strict=True)
    return [[value if known else None for value, known in zip(*pair, strict=True)] for pair in pairs]


@pytest.mark.parametrize("name", SMALL)
def test_probabilities_are_those_of_the_compiled_circuit(name: str) -> None:
    trace = recorded(name)
    view = living_view(TraceIndex(trace))
    assert view["missing"] == ""
    x, observed = evidence(view)
    found = answers(view, given(x, observed))
    wanted = marginal(trace.compiled, x, observed)[:, 0, 0]
    logs = torch.tensor([-inf if one["log"] is None else one["log"] for one in found], dtype=torch.double)
    assert torch.equal(logs == -inf, wanted == -inf)
    torch.testing.assert_close(logs, wanted, atol=1e-5, rtol=0)  # zero of a difference of infinities is not compared
    for row in range(ROWS):
        if wanted[row] == -inf:
            continue
        for variable in range(0, x.shape[1], 7):
            states = view["variables"][variable]["states"]
            if observed[row, variable] or not states:
                continue
            rows, known = x[row].repeat(states, 1), observed[row].repeat(states, 1)
            rows[:, variable], known[:, variable] = torch.arange(states), True
            shares = (marginal(trace.compiled, rows, known)[:, 0, 0] - wanted[row]).exp()
            assert found[row]["marginals"][variable] == pytest.approx(shares.tolist(), abs=1e-6)


@pytest.mark.parametrize("name", ["digits", "conflict", "kronecker", "near-misses", "squared", "hmm"])
def test_a_layer_of_any_step_has_the_value_of_the_layer_at_the_start_that_is_shown(name: str) -> None:
    trace = recorded(name)
    index = TraceIndex(trace)
    origins = cells_of(index)
    view = living_view(index)
    x, _ = evidence(view)
    start: Mapping[int, torch.Tensor] = trace.circuit_at(trace.start).evaluate(x)[1]
    compared = 0
    for step in trace.steps[trace.start :]:
        if not step.changed or step.folds:
            continue
        for node, value in trace.circuit_at(step.index).evaluate(x)[1].items():
            if node in origins:
                torch.testing.assert_close(value, start[origins[node]], atol=1e-4, rtol=1e-4)
                compared += node not in start
    assert name == "hmm" or compared


def test_a_belief_is_the_mean_of_what_is_unknown() -> None:
    trace = recorded("digits")
    view = living_view(TraceIndex(trace))
    x, observed = evidence(view)
    found = answers(view, given(x, observed))
    mean = moments(trace.compiled, 1, x, observed)[:, 0, 0]
    for row in range(ROWS):
        shown = [found[row]["shown"][view["cells"][str(node)]][0] for node in range(64)]
        for at, layer in enumerate(view["layers"][:64]):
            variable = layer.get("variables", [-1])[0]
            wanted = x[row, variable] if observed[row, variable] else mean[row, variable]
            assert shown[at] == pytest.approx(float(wanted) / 16, abs=1e-5)
    assert max(found[0]["bits"]) == pytest.approx(0, abs=1e-9)  # nothing is observed
    assert max(found[-1]["bits"]) > 0.5


def test_values_that_were_rounded_to_a_byte_are_sent_as_bytes() -> None:
    trace = recorded("digits")
    rounded = {}
    for name, value in trace.compiled.leaf_state().items():
        low, step = float(value.min()), float(value.max() - value.min()) / 255
        rounded[name] = (low + step * ((value - low) / step).round()).numpy().astype(np.float32)
    trace = explorer.record(with_values(gallery.load_named("digits"), rounded))
    view = living_view(TraceIndex(trace))
    assert len(view["numbers"]) < 0.1 * len(living_view(TraceIndex(recorded("digits")))["numbers"])
    x, observed = evidence(view)
    found = [one["log"] for one in answers(view, given(x, observed))]
    assert found == pytest.approx(marginal(trace.compiled, x, observed)[:, 0, 0].tolist(), abs=1e-4)


@pytest.mark.parametrize("name", gallery.trained_names())
def test_each_epoch_of_a_training_has_the_numbers_of_its_circuit(name: str) -> None:
    trace = explorer.record(gallery.load_trained(name))
    before = {leaf: value.clone() for leaf, value in trace.compiled.leaf_state().items()}
    view = living_view(TraceIndex(trace), epochs=True)
    assert (view["image"], len(view["examples"])) == ([1, 8, 8], 10)
    assert view["note"].startswith("It has learned from 1,438 handwritten digits")
    learned = gallery.learned_epochs(name)
    assert [one["epoch"] for one in view["epochs"]] == [one.epoch for one in learned]
    rows = np.array([one["x"] for one in view["examples"]])
    for shown, one in list(zip(view["epochs"], learned, strict=True))[::4]:
        numbers = {key: shown[key] for key in ("blocks", "numbers", "codes")}
        found = [one["log"] for one in answers({**view, **numbers}, rows.tolist())]  # pyright: ignore[reportArgumentType]
        compiled = explorer.record(one.circuit()).compiled
        assert found == pytest.approx(log_likelihood(compiled, torch.tensor(rows).long())[:, 0, 0].tolist(), abs=1e-4)
    assert all(torch.equal(value, before[leaf]) for leaf, value in trace.compiled.leaf_state().items())


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("sos", "negative or complex values"),
        ("mnist", f"up to {MAX_LAYERS} layers itself, and this circuit has 5,725"),
    ],
)
def test_a_page_says_why_it_does_not_evaluate_a_circuit(name: str, reason: str) -> None:
    view = living_view(TraceIndex(recorded(name)))
    assert reason in view["missing"]
    assert not view["layers"]


def test_a_trace_from_a_file_has_no_weights(tmp_path: Path) -> None:
    recorded("blackboard").save(tmp_path / "one.trace.json")
    assert "no tensors" in living_view(TraceIndex(Trace.load(tmp_path / "one.trace.json")))["missing"]


def test_real_variables_are_normal(tmp_path: Path) -> None:
    builder = explorer.CircuitBuilder()
    gaussian = explorer.templates.inputs.GaussianInput()
    product = builder.hadamard(*(builder.add(gaussian(v, 3)) for v in range(2)))
    trace = explorer.record(builder.build(builder.sum(product, num_units=1)))
    view = living_view(TraceIndex(trace))
    x = torch.tensor([[0.3, -1.2], [2.0, 0.5]])
    observed = torch.tensor([[True, True], [True, False]])
    found = answers(view, given(x, observed))
    wanted = marginal(trace.compiled, x, observed)[:, 0, 0]
    assert [one["log"] for one in found] == pytest.approx(wanted.tolist(), abs=1e-5)
    mean = moments(trace.compiled, 1, x, observed)[1, 0, 0, 1]
    assert found[1]["marginals"][1] == pytest.approx([float(mean)], abs=1e-5)


TABLES = {"iris": "species", "wine": "cultivar", "diabetes": "progression"}


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Trace, TableData]]:
    """The circuits that `train` makes of tables by default."""
    found: dict[str, tuple[Trace, TableData]] = {}
    for name, target in TABLES.items():
        path = tmp_path_factory.mktemp(name) / f"{name}.csv"
        options = {"scaled": False} if name == "diabetes" else {}
        rows = getattr(datasets, f"load_{name}")(as_frame=True, **options)
        frame = rows.frame.rename(columns={"target": target}).sample(frac=1, random_state=0)
        if name == "iris":
            frame[target] = [str(rows.target_names[at]) for at in frame[target]]
        frame.to_csv(path, index=False)
        data = load_table(path)
        chosen = choose_structure(data)
        circuit = explorer.record(chosen.circuit).compiled
        train(circuit, data, TrainingOptions(**{**chosen.options, "epochs": 3}))
        job = Job(chosen.name, chosen.circuit, True, data, "error")
        checkpoint = replace(job.checkpoint({}), leaf_state=circuit.leaf_state())
        found[name] = explorer.record(checkpoint.trained_circuit()), data
    return found


@pytest.mark.parametrize("name", TABLES)
def test_a_page_evaluates_a_trained_table(name: str, learned: dict[str, tuple[Trace, TableData]]) -> None:
    trace, data = learned[name]
    view = living_view(TraceIndex(trace))
    assert view["missing"] == ""
    x = data.held_out[:ROWS].double()
    observed = torch.rand(x.shape, generator=torch.Generator().manual_seed(0)) < torch.linspace(0, 1, ROWS)[:, None]
    found = answers(view, given(x, observed))
    wanted = marginal(trace.compiled, x, observed)[:, 0, 0]
    assert [one["log"] for one in found] == pytest.approx(wanted.tolist(), abs=1e-4)
    mean = moments(trace.compiled, 1, x, observed)[:, 0, 0]
    for row, variable in (~observed).nonzero().tolist():
        shares = found[row]["marginals"][variable]
        states = view["variables"][variable]["states"]
        expected = sum(value * share for value, share in enumerate(shares)) if states else shares[0]
        assert expected == pytest.approx(float(mean[row, variable]), abs=1e-4)


@pytest.mark.parametrize("name", TABLES)
def test_a_page_draws_rows_of_a_trained_table(name: str, learned: dict[str, tuple[Trace, TableData]]) -> None:
    trace, data = learned[name]
    view = living_view(TraceIndex(trace))
    x = data.held_out[:1].double()
    observed = torch.arange(x.shape[1])[None] % 3 == 0
    rows = torch.tensor(answers(view, given(x, observed), draws=1000)[0]["draws"], dtype=torch.float64)
    assert torch.equal(rows[:, observed[0]], x[:, observed[0]].expand(len(rows), -1))
    mean, square = (moments(trace.compiled, power, x, observed)[0, 0, 0] for power in (1, 2))
    spread = (square - mean**2).clamp(min=0).sqrt()
    assert bool(((rows.mean(0) - mean).abs() <= 6 * spread / len(rows) ** 0.5 + 1e-4).all())


def test_categories_have_the_names_of_the_table(learned: dict[str, tuple[Trace, TableData]]) -> None:
    trace, data = learned["iris"]
    variables = living_view(TraceIndex(trace))["variables"]
    assert variables[4]["labels"] == ["setosa", "versicolor", "virginica"]
    column = data.columns[0]
    assert (variables[0]["zero"], variables[0]["unit"]) == (column.zero, column.unit)
    assert isinstance(trace.subject, Circuit)
    kept = circuit_from_json(trace.subject.to_json()).column_values
    assert kept == trace.subject.column_values
    assert kept[4].labels == ("setosa", "versicolor", "virginica")


def test_columns_of_integers_are_integers_on_the_page(learned: dict[str, tuple[Trace, TableData]]) -> None:
    trace, _ = learned["diabetes"]
    assert isinstance(trace.subject, Circuit)
    for circuit in (trace.subject, circuit_from_json(trace.subject.to_json())):
        variables = living_view(TraceIndex(explorer.record(circuit)))["variables"]
        assert [one["name"] for one in variables if one["is_integer"]] == ["age", "s1", "s6", "progression"]


def test_a_circuit_that_an_operator_made_has_the_columns_of_its_table(
    learned: dict[str, tuple[Trace, TableData]],
) -> None:
    circuit, other = (learned[name][0].subject for name in ("iris", "wine"))
    assert isinstance(circuit, Circuit)
    assert isinstance(other, Circuit)
    made = integrate(circuit, [4])
    assert (made.columns, made.column_values) == (circuit.columns, circuit.column_values)
    variables = living_view(TraceIndex(explorer.record(made)))["variables"]
    assert (variables[1]["name"], variables[1]["unit"]) == (circuit.columns[1], circuit.column_values[1].unit)
    assert concatenate(circuit, circuit).columns == circuit.columns
    assert concatenate(circuit, other).columns == ()


def test_leaves_of_numbers_have_their_densities() -> None:
    builder = explorer.CircuitBuilder()
    generator = torch.Generator().manual_seed(0)

    def leaf(*shape: int) -> TensorParameter:
        return TensorParameter(shape, initializer=ConstantInitializer(torch.rand(shape, generator=generator).numpy()))

    units = 3
    positive = SoftplusParameter((leaf(units),))
    layers = [
        ExponentialLayer(scope=(0,), num_output_units=units, mean=positive),
        LaplaceLayer(scope=(1,), num_output_units=units, location=leaf(units), scale=positive),
        HistogramLayer(
            scope=(2,),
            num_output_units=units,
            edges=(-1.0, 0.5, 1.0, 4.0),
            probs=SoftmaxParameter((leaf(units, 3),), axis=1),
        ),
        MultivariateGaussianLayer(
            scope=(3, 4, 5),
            num_output_units=units,
            mean=leaf(units, 3),
            stddev=SoftplusParameter((leaf(units, 3),)),
            slope=leaf(units, 3, 3),
        ),
    ]
    product = builder.hadamard(*(builder.add(layer) for layer in layers))
    trace = explorer.record(builder.build(builder.sum(product, num_units=1)))
    view = living_view(TraceIndex(trace))
    x = torch.rand((64, 6), generator=generator, dtype=torch.float64) * 3 - 1
    observed = torch.rand(x.shape, generator=generator) < 0.5
    found = answers(view, given(x, observed))
    wanted = marginal(trace.compiled, x, observed)[:, 0, 0]
    logs = torch.tensor([-inf if one["log"] is None else one["log"] for one in found], dtype=torch.double)
    assert torch.equal(logs == -inf, wanted == -inf)
    torch.testing.assert_close(logs, wanted, atol=1e-5, rtol=0)
    possible = (wanted > -inf).nonzero()[:, 0]
    assert len(possible) > len(x) / 4
    means = moments(trace.compiled, 1, x[possible], observed[possible])[:, 0, 0]
    mean = torch.zeros_like(x).index_copy(0, possible, means)
    for row, variable in (~observed & (wanted > -inf)[:, None]).nonzero().tolist():
        assert found[row]["marginals"][variable] == pytest.approx([float(mean[row, variable])], abs=1e-5)


def test_the_epochs_that_a_checkpoint_has_kept_are_shown(learned: dict[str, tuple[Trace, TableData]]) -> None:
    trace, data = learned["iris"]
    circuit = trace.subject
    assert isinstance(circuit, Circuit)
    kept = KeptEpochs(trace.compiled, data, lambda: circuit)
    kept.add_first()
    epochs = living_view(TraceIndex(trace), epochs=True, kept=kept.epochs)["epochs"]
    assert [one["epoch"] for one in epochs] == [0]
    assert epochs[0]["bits"] == pytest.approx(
        -mean_log_likelihood(trace.compiled, data.held_out) / log(2) / 5, abs=0.02
    )
