"""`bench watch` finds that watching changes nothing, and would find it if a trace were wrong. No C++ is built."""

from collections.abc import Iterator
from dataclasses import replace
from unittest.mock import patch

import pytest
import torch
from torch import nn
from torch._inductor import config
from torch._inductor.async_compile import AsyncCompile
from typer.testing import CliRunner

import explorer
from benchmarks import watch_models
from benchmarks.watch_command import cells_of, measure_apart
from benchmarks.watch_models import MODELS, TRAIN, WatchResult, get_model
from benchmarks.watched_model import GraphFacts, collecting, fusions_of, hearing, judge_seams
from explorer.app.cli import app
from explorer.trace import Trace
from tests.adapters.models import folder_of_inductor, head

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
"""Inductor imports modules that use deprecated parts of PyTorch."""


@pytest.fixture(scope="module")
def heard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Trace, GraphFacts, list[str], list[str]]]:
    """A trace, what Inductor itself tells of the same graph, and the code with and without watching."""
    module, x = head()
    with (
        pytest.MonkeyPatch.context() as environment,
        config.patch(compile_threads=1),
        patch.object(AsyncCompile, "cpp_pybinding", lambda *_: lambda *_: None),
        torch.no_grad(),
    ):
        environment.setenv("TORCHINDUCTOR_CACHE_DIR", folder_of_inductor(tmp_path_factory))
        torch._dynamo.reset()
        with hearing() as facts:
            torch.compile(module)(x)
        torch._dynamo.reset()
        with collecting() as codes, explorer.watching() as traces:
            torch.compile(module)(x)
        torch._dynamo.reset()
        yield traces[0], facts.graphs[0], facts.codes, codes


@pytest.mark.fuzz
def test_a_model_is_compiled_apart_and_equal() -> None:
    row = measure_apart(get_model("sum-chain"), build=False, seconds=1800)
    assert row.ok, row
    assert row.graphs == 1
    assert row.same_output is None
    assert row.ratio > 0
    assert cells_of(row)[-1] == ""


def test_fused_pairs_lead_to_the_kernels_of_inductor(heard: tuple[Trace, GraphFacts, list[str], list[str]]) -> None:
    trace, facts, codes, watched = heard
    [fusion] = fusions_of(trace)
    assert set(fusion.groups.values()) == set(facts.kernels)
    assert [code.partition("\n")[2] for code in codes] == [code.partition("\n")[2] for code in watched]
    seams, wrong = judge_seams(fusion, facts)
    assert wrong == []
    assert sum(seams.values()) > 0


def test_a_seam_that_inductor_contradicts_is_found(heard: tuple[Trace, GraphFacts, list[str], list[str]]) -> None:
    trace, facts, _, _ = heard
    pair = frozenset(facts.kernels[:2])
    assert pair not in facts.answers
    asked = replace(facts, answers={**facts.answers, pair: (False, "no such reason")})
    wrong = judge_seams(next(fusions_of(trace)), asked)[1]
    assert wrong
    assert all("Inductor" in one for one in wrong)


def test_models_without_their_package_are_named_and_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_models, "find_spec", lambda _: None)
    result = CliRunner().invoke(app, ["bench", "watch", "vit", "gpt2"])
    assert result.exit_code == 0
    assert "vit, gpt2" in result.output


def test_a_model_that_fails_or_takes_long_is_a_row_that_says_why() -> None:
    late = measure_apart(get_model("sum-chain"), build=False, seconds=0)
    assert late.wrong == ("it took more than 0 seconds",)
    unknown = measure_apart(replace(get_model("sum-chain"), name="no-such-model"), build=False, seconds=1800)
    assert "no-such-model" in unknown.wrong[0]
    assert cells_of(unknown)[-1] == "NOT MEASURED"
    assert not unknown.ok


def test_there_are_fifty_models_and_ten_that_train() -> None:
    trained = [name for name in MODELS if name.endswith(TRAIN)]
    assert len(MODELS) - len(trained) >= 50
    assert len(trained) >= 10


def test_a_circuit_has_inputs_that_it_accepts() -> None:
    module, inputs = get_model("sum-chain").make()
    assert isinstance(module, nn.Module)
    assert module(*inputs).isfinite().all()


def test_a_difference_is_told() -> None:
    row = WatchResult("one", "circuits", graphs=1, same_code=False, same_kernels=True, kernels=3)
    assert "DIFFERS" in cells_of(row)
