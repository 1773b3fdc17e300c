"""`bench watch` finds that watching changes nothing, and would find it if a trace were wrong. No C++ is built."""

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pytest
import torch
from torch import nn
from torch._inductor import config
from torch._inductor.async_compile import AsyncCompile
from typer.testing import CliRunner

import explorer
from benchmarks import watch_command, watch_models
from benchmarks.watch_command import cells_of, measure_apart
from benchmarks.watch_models import MODELS, TRAIN, WatchResult, get_model
from benchmarks.watched_model import DEFINITION, GraphFacts, code_missing, collecting, fusions_of, hearing, judge_seams
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


def test_each_function_has_its_code_beside_a_call(heard: tuple[Trace, GraphFacts, list[str], list[str]]) -> None:
    trace, _, _, watched = heard
    assert DEFINITION.findall(watched[0])
    assert code_missing(watched, [trace]) == []
    more = "\ncpp_fused_unknown_0 = async_compile.cpp_pybinding([])\n"
    assert code_missing([*watched, more], [trace]) == ["the code of cpp_fused_unknown_0 is beside no call"]
    shown = DEFINITION.findall(watched[0])[0][0]
    in_triton = f"\n{shown} = async_compile.triton('{shown}')\n"  # and its code is in C++
    assert code_missing([in_triton], [trace]) == [f"the code of {shown} is beside no call"]


class WithoutDevice:
    """A driver, as Inductor needs it to write Triton."""

    def get_current_target(self) -> object:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        return 0


@pytest.mark.skipif(find_spec("triton") is None, reason="needs Triton, which pip has for Linux")
@pytest.mark.skipif(torch.cuda.is_available(), reason="`bench watch --device cuda` does it there")
def test_code_in_triton_is_beside_its_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inductor writes Triton for the CPU, and nothing compiles it."""
    from triton.runtime import driver

    module, x = head()
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(AsyncCompile, "triton", lambda *_, **__: SimpleNamespace(run=lambda *_, **__: None))
    torch._dynamo.reset()
    monkeypatch.setattr(driver, "_active", WithoutDevice())
    try:
        with (
            config.patch(cpu_backend="triton", compile_threads=1),
            torch.no_grad(),
            collecting() as codes,
            explorer.watching() as traces,
        ):
            torch.compile(module)(x)
    finally:
        torch._dynamo.reset()
    defined = DEFINITION.findall(codes[0])
    assert {language for _, language in defined} == {"triton"}
    assert code_missing(codes, traces) == []
    [fusion] = fusions_of(traces[0])
    assert len(fusion.groups) >= len(defined)


def test_models_on_cuda_need_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_command, "why_no_cuda", lambda: "there is none")
    result = CliRunner().invoke(app, ["bench", "watch", "kronecker", "--device", "cuda"])
    assert result.exit_code == 2
    assert "there is none" in result.output


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
