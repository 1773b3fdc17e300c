"""The trace of torch.compile: states, pairs, lineage, and nothing left behind."""

import inspect
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch._dynamo.eval_frame import _debug_get_cache_entry_list
from torch._inductor import config
from torch._inductor.utils import run_and_get_code
from torch.fx.passes.graph_transform_observer import GraphTransformObserver

from explorer.adapters import watch, watching
from explorer.adapters.inductor.hooks import LOGGER, listening
from explorer.adapters.inductor.listening import Session
from explorer.adapters.inductor.scheduler_notes import name_of
from explorer.errors import CircuitError, DataTypeError, LoweringError, UnknownNameError, ValueRangeError
from explorer.recording import record
from explorer.trace import WATCHED, Trace, Verdict
from tests.adapters.models import Head, built_here, head

__all__ = ["built_here"]

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
"""Inductor imports modules that use deprecated parts of PyTorch."""


@pytest.fixture(scope="module")
def trace(built_here: None) -> Trace:
    module, x = head()
    return watch(module, x)


def ids_of(trace: Trace, step: str = "lower") -> dict[str, int]:
    """The numbers of scheduler nodes by name."""
    return {record.about["name"]: number for number, record in trace.graph_at(step).nodes.items()}


def test_states_lead_from_the_captured_program_to_kernels(trace: Trace) -> None:
    captured = [record.title for record in trace.graph_at("capture").nodes.values()]
    assert captured == ["Input", "linear", "layer_norm", "gelu", "linear", "softmax"]
    assert [trace.stats(step)["calls"] for step in ("capture", "lower", -1)] == [5, 11, 4]
    final = trace.graph_at(-1).nodes.values()
    assert [record.title for record in final] == ["Input", "linear", "layer_norm + gelu", "linear", "softmax"]
    assert [bool(record.about.get("code")) for record in final] == [False, False, True, False, True]
    assert max(len(repr(step)) + len(repr(step.snapshot)) for step in trace.steps) < 250  # and not all weights


def test_fused_pairs_lead_to_the_compilers_own_list_of_kernels() -> None:
    module, x = head()
    session = Session()
    with listening(session), torch.no_grad():
        torch.compile(module)(x)
    torch._dynamo.reset()
    scheduling = session.compilations[0].whole.scheduling
    assert scheduling is not None
    found = watch(module, x)
    last = [step for step in found.steps if step.pass_name == "fuse"][-1]
    names = {record.about["name"] for record in found.graph_at(last).nodes.values() if record.kind != "input"}
    assert names == set(scheduling.final)


def test_every_state_computes_the_outputs(trace: Trace) -> None:
    checks = trace.check()
    assert len(checks) == len(trace.steps)
    assert all(check.ok for check in checks)


def test_weights_behind_views_are_parameters(trace: Trace) -> None:
    decomposed = trace.step("joint graph/AOTAutograd")
    weights = 4 * (32 * 64 + 64 + 64 + 64 + 64 * 10 + 10)
    assert trace.stats(decomposed)["parameter_bytes"] == trace.stats("capture")["parameter_bytes"] == weights
    assert trace.stats(decomposed)["moved_bytes"] == 49_344


def test_a_program_that_writes_into_its_input_is_checked_on_copies() -> None:
    def count(x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x @ x

    x = torch.ones(3, 3)
    trace = watch(count, x)
    assert all(check.ok for check in trace.check())
    assert torch.equal(x, torch.full((3, 3), 2.0))  # it ran once


def test_constants_of_a_program_are_those_of_each_state() -> None:
    trace = watch(lambda x: x @ torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.eye(2))
    assert all(check.ok for check in trace.check())


def test_the_body_of_a_branch_is_not_taken_for_the_program() -> None:
    def choose(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda a: a.sin(), lambda a: a.cos(), (x,)) + 1

    with torch.no_grad(), watching() as traces:
        result = torch.compile(choose)(torch.zeros(3))
    torch._dynamo.reset()
    assert torch.equal(result, torch.full((3,), 2.0))
    titles = {record.title for step in traces[0].steps for record in traces[0].graph_at(step).nodes.values()}
    assert not titles & {"sin", "cos"}
    assert traces[0].steps[-1].notes == ("The bodies of cond are left out: they are compiled as graphs of their own.",)


def test_items_that_are_set_are_bytes_that_are_written() -> None:
    def fill(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = x.clone()
        z[1:3] = y
        return z * 2

    trace = watch(fill, torch.zeros(8, 4), torch.ones(2, 4))
    captured = {record.title: record.config["bytes"] for record in trace.graph_at("capture").nodes.values()}
    assert captured["setitem"] == 32


def test_kernels_that_are_combined_are_one_call() -> None:
    def both(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x.sin() + 1, y.cos() * 2

    with config.patch(combo_kernels=True):
        trace = watch(both, torch.ones(8), torch.ones(30))
    assert all(check.ok for check in trace.check())


def test_a_group_has_one_name_in_whatever_order_it_was_fused() -> None:
    assert name_of("op10_op2", "op3") == name_of("op3", "op2_op10") == "op2_op3_op10"


def test_a_program_that_is_not_understood_has_a_shorter_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise LookupError("no such node")

    monkeypatch.setattr("explorer.adapters.inductor.recording.round_of", fail)
    trace = watch(*head())
    assert trace.steps[-1].pass_name == "lower"
    assert trace.steps[-1].notes == ("The steps behind this one were not understood: LookupError: no such node",)


def test_sizes_that_vary_stay_variable() -> None:
    def square(x: torch.Tensor) -> torch.Tensor:
        return x @ x.T

    with torch.no_grad(), watching() as traces:
        compiled = torch.compile(square, dynamic=True)
        shapes = [tuple(compiled(torch.ones(rows, 4)).shape) for rows in (8, 9, 10)]
    torch._dynamo.reset()
    assert shapes == [(8, 8), (9, 9), (10, 10)]
    assert len(traces) == 1
    assert traces[0].graph_at("capture").nodes[traces[0].graph_at("capture").outputs[0]].config["results"] == [
        "f32[8,8]"
    ]


def test_an_operator_knows_its_module_and_line(trace: Trace) -> None:
    fused = next(record for record in trace.graph_at(-1).nodes.values() if record.title == "layer_norm + gelu")
    assert fused.about["module"] == "norm"
    line = inspect.getsourcelines(Head.forward)[1] + 1
    assert fused.about["source"] == f"models.py:{line}: hidden = nn.functional.gelu(self.norm(self.up(x)))"
    assert list(fused.parameters) == ["norm.weight", "norm.bias"]


def test_the_code_says_which_values_a_kernel_keeps_in_buffers(trace: Trace) -> None:
    steps = (next(step for step in reversed(trace.steps) if step.pass_name == "fuse"), -1)
    nodes = [trace.graph_at(step).nodes.values() for step in steps]
    fused, kernel = (next(one for one in each if one.title == "layer_norm + gelu").config for each in nodes)
    assert fused["stays inside"] == ["f32[8,1]", "f32[8,1]", "f32[8,1]", "f32[8,64]"]
    assert "kept in buffers" not in fused
    assert "f32[8,1]" in kernel["kept in buffers"]  # a loop writes the sum of each row, the next one reads it
    assert sorted([*kernel["kept in buffers"], *kernel.get("stays inside", [])]) == sorted(fused["stays inside"])


def test_lineage_leads_from_a_kernel_to_the_captured_program(trace: Trace) -> None:
    number, _ = next(item for item in trace.graph_at(-1).nodes.items() if item[1].title == "layer_norm + gelu")
    captured = trace.graph_at("capture").nodes
    lineage = trace.lineage(number)
    assert [captured[one].title for one in lineage.symbolic] == ["layer_norm", "gelu"]
    line = inspect.getsourcelines(Head.forward)[1] + 1
    where = f"models.py:{line}: hidden = nn.functional.gelu(self.norm(self.up(x)))"
    assert lineage.named == tuple(f"{one} {captured[one].title}, {where}" for one in lineage.symbolic)
    assert f"\n    {lineage.named[0]}\n" in str(lineage)


def test_a_pair_is_fused_with_its_score_or_was_never_tried(trace: Trace) -> None:
    ids = ids_of(trace)
    fused = trace.why_not_fused(ids["op4"], ids["op5"])
    assert fused.verdict is Verdict.FUSED
    assert dict(fused.judged[-1].score)["memory"] == 2048
    first = trace.why_not_fused(ids["op1"], ids["op3"]).judged[0]
    assert (first.verdict, first.reason) == (Verdict.REFUSED, "intermediate nodes between node1 & node2")
    later = trace.why_not_fused(ids["op1"], ids["op3"]).judged[-1]
    said = "in this round, with the nodes between them; alone they were refused before: "
    assert (later.verdict, later.reason) == (Verdict.FUSED, f"{said}intermediate nodes between node1 & node2")
    assert trace.why_not_fused(ids["op6"], ids["op7"]).verdict is Verdict.NEVER_TRIED
    with pytest.raises(UnknownNameError, match="no step has both node 999"):
        trace.why_not_fused(999, ids["op7"])


def test_what_is_compiled_already_stays_as_it_is() -> None:
    module, x = head()
    graphs: list[Any] = []

    def counting(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return graph

    compiled = torch.compile(module, backend=counting)
    with torch.no_grad():
        compiled(x)
        before = [one.backend for one in _debug_get_cache_entry_list(Head.forward.__code__)]
        watch(module, x[:4])  # another number of rows
        compiled(x)
    assert len(graphs) == 1
    after = [one.backend for one in _debug_get_cache_entry_list(Head.forward.__code__)]
    assert [one for one in after if one is not None] == before
    with torch.no_grad():
        compiled(x[:4])
    assert len(graphs) == 2
    torch._dynamo.reset()


def test_nothing_that_was_compiled_to_be_watched_is_left() -> None:
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    watch(double, torch.ones(3))
    assert not _debug_get_cache_entry_list(double.__code__)


def test_two_nodes_can_be_kept_apart(trace: Trace) -> None:
    module, x = head()
    other = watch(module, x, apart=[("op4", "op5")])
    ids = ids_of(other)
    answer = other.why_not_fused(ids["op4"], ids["op5"])
    assert answer.verdict is Verdict.GROUPED
    assert {pair.reason for pair in answer.judged[:-1]} == {"kept apart, as asked"}
    rounds = [step for step in other.steps if step.pass_name == "fuse"]
    assert other.stats(rounds[-1])["calls"] == 1 + trace.stats(next(s for s in trace.steps if s.at.round == 4))["calls"]
    assert torch.allclose(other.steps[-1].snapshot.results(other.examples)[0], module(x), atol=1e-6)
    [note] = other.steps[-1].notes
    kernel = next(one for one in other.graph_at(-1).nodes.values() if one.title == "layer_norm + gelu")
    assert note == (
        "op4 and op5 were kept apart by the scheduler, but the code runs both in one function, "
        f"{kernel.about['function']}: it still writes f32[8,64] to memory between them, which moved bytes do not count."
    )
    assert "f32[8,64]" in kernel.config["kept in buffers"]
    assert not trace.steps[-1].notes


def test_a_file_has_the_same_steps_pairs_and_scores(trace: Trace, tmp_path: Path) -> None:
    trace.save(tmp_path / "a.trace.json.gz")
    loaded = Trace.load(tmp_path / "a.trace.json.gz")
    assert str(loaded) == str(trace)
    ids = ids_of(trace)
    for pair in (("op4", "op5"), ("op1", "op3"), ("op6", "op7")):
        one, other = (ids[name] for name in pair)
        assert str(loaded.why_not_fused(one, other)) == str(trace.why_not_fused(one, other))
    with pytest.raises(CircuitError, match="loaded from a file"):
        loaded.check()


def test_watching_changes_neither_code_nor_outputs() -> None:
    module, x = head()
    with torch.no_grad():
        torch._dynamo.reset()
        plain, [code] = run_and_get_code(torch.compile(module), x)
        torch._dynamo.reset()
        session = Session()
        with listening(session):
            watched = torch.compile(module)(x)
        torch._dynamo.reset()
    scheduling = session.compilations[0].whole.scheduling
    assert scheduling is not None
    assert scheduling.code.partition("\n")[2] == code.partition("\n")[2]  # the first line counts compilations
    assert torch.equal(plain, watched)


def hooks() -> list[Any]:
    """All that watching wraps for a time."""
    import torch._inductor.compile_fx as compiling

    logger = logging.getLogger(LOGGER)
    methods = [GraphTransformObserver.__enter__, GraphTransformObserver.__exit__, compiling.compile_fx]
    return [*methods, list(logger.handlers), logger.level, logger.propagate]


def test_nothing_is_left_behind_after_an_error() -> None:
    before = hooks()
    inside: list[Any] = []

    def fail() -> None:
        inside.extend(hooks())
        raise KeyError

    with pytest.raises(KeyError), watching():
        fail()
    assert inside != before
    assert hooks() == before


def test_an_error_while_listening_ends_the_listening_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise LookupError("no such buffer")

    monkeypatch.setattr("explorer.adapters.inductor.listening.note_nodes", fail)
    module, x = head()
    with torch.no_grad(), watching() as traces:
        result = torch.compile(module)(x)
    torch._dynamo.reset()
    assert torch.allclose(result, module(x), atol=1e-6)
    assert traces[0].steps[-1].notes == ("From here on nothing was heard: LookupError: no such buffer",)
    assert all(step.pass_name != "lower" for step in traces[0].steps)


def test_another_thread_is_not_heard() -> None:
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    with watching() as traces:
        other = threading.Thread(target=lambda: torch.compile(double)(torch.ones(3)))
        other.start()
        other.join()
    torch._dynamo.reset()
    assert traces == []


def test_each_graph_of_a_program_with_breaks_is_a_trace() -> None:
    def broken(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2

    with torch.no_grad(), watching() as traces:
        result = torch.compile(broken)(torch.ones(3))
    torch._dynamo.reset()
    assert torch.equal(result, torch.full((3,), 4.0))
    titles = [[record.title for record in one.graph_at(0).nodes.values()][1:] for one in traces]
    assert titles == [["add"], ["mul"]]
    assert watch(broken, torch.ones(3)).steps[-1].notes == ("The program was compiled as 2 graphs; this is the first.",)


def test_without_a_compiler_it_says_what_to_install() -> None:
    """A trace of `watching` ends where the compiler was needed."""
    module, x = head()
    with config.patch({"cpp.cxx": (None, "/nonexistent")}):
        with pytest.raises(LoweringError, match=r"found no C\+\+ compiler.*apt-get install g\+\+, or set CXX"):
            watch(module, x)
        with watching() as traces, torch.no_grad(), pytest.raises(RuntimeError, match="compiler"):
            torch.compile(module)(x)
    torch._dynamo.reset()
    assert "C++ compiler" in str(traces[0].steps[-1].error)


def test_a_compilation_that_fails_is_a_trace_up_to_there() -> None:
    def fail(graph: Any) -> None:
        raise RuntimeError("this pass fails")

    patch = config.patch(post_grad_custom_pre_pass=fail)
    with torch.no_grad(), patch, watching() as traces, pytest.raises(Exception, match="this pass fails"):
        torch.compile(head()[0])(head()[1])
    torch._dynamo.reset()
    assert len(traces) == 1
    assert "this pass fails" in str(traces[0].steps[-1].error)
    assert traces[0].steps[-1].snapshot.stats["calls"] == 19


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        (lambda: watch(3), DataTypeError, "expected a module or a function to compile, got int"),  # pyright: ignore[reportArgumentType]
        (lambda: watch(lambda: 3), CircuitError, "compiled nothing of <lambda>"),
        (lambda: watch(nn.ReLU(), torch.ones(2), mode="both"), UnknownNameError, "no mode named 'both'"),
        (
            lambda: record(nn.ReLU(), (torch.ones(2),), level=WATCHED, pipeline=["CSE"]),
            ValueRangeError,
            "runs its own passes",
        ),
    ],
)
def test_what_cannot_be_watched_is_said(asked: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        asked()
