"""What a page computes of a small circuit itself is what the compiled circuit answers, at every step."""

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import explorer
from explorer.app.session.living import MAX_LAYERS, cells_of, living_view
from explorer.backend.queries import log_likelihood, marginal, moments
from explorer.symbolic import with_values
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


def answers(view: LivingView, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """What the page computes for rows of evidence."""
    node = shutil.which("node")
    if node is None:
        is_missing("node 20.11 or later", "apt-get install nodejs, brew install node, or https://nodejs.org")
    given = json.dumps({"view": view, "rows": rows})
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
    log = torch.tensor([-inf if one["log"] is None else one["log"] for one in found], dtype=torch.double)
    assert torch.equal(log == -inf, wanted == -inf)
    torch.testing.assert_close(log, wanted, atol=1e-5, rtol=0)  # zero of a difference of infinities is not compared
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
            variable = layer.get("variable", -1)
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
