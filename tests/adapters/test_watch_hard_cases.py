"""Programs that are hard to watch: many graphs, data that decides, threads, caches, failures.

They multiply matrices only, by the library, so that no C++ is built.
"""

import inspect
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
import torch._functorch.config as aot
from torch import nn
from torch._dynamo.exc import TorchRuntimeError
from torch._inductor import config
from torch._inductor.virtualized import V
from torch._logging._internal import set_logs

from explorer.adapters import watch, watching
from explorer.adapters.inductor import fx_states, listening
from explorer.adapters.inductor.listening import Session
from explorer.errors import CircuitError, DataTypeError, UnknownNameError, UserCodeError
from explorer.trace import Trace
from tests.adapters.models import folder_of_inductor
from tests.app.commands.running import run

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
"""Inductor imports modules that use deprecated parts of PyTorch."""


@pytest.fixture(scope="module", autouse=True)
def compiled_here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Code is written into a folder of the tests, and no pool of processes is started."""
    with pytest.MonkeyPatch.context() as patch, config.patch(compile_threads=1):
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", folder_of_inductor(tmp_path_factory))
        yield


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield
    torch._dynamo.reset()


def square(x: torch.Tensor) -> torch.Tensor:
    return x @ x


def cube(x: torch.Tensor) -> torch.Tensor:
    return x @ x @ x


EYE = torch.eye(3)


def stages(trace: Trace) -> list[str]:
    """The first and the last stage, to see how far a trace goes."""
    return [trace.steps[0].pass_name, trace.steps[-1].pass_name]


def notes(trace: Trace) -> list[str]:
    return [note for step in trace.steps for note in step.notes]


def titles(trace: Trace, step: int = 0) -> list[str]:
    """The captured operators."""
    return [record.title for record in trace.graph_at(step).nodes.values() if record.kind != "input"]


def test_each_of_twenty_graphs_is_a_trace() -> None:
    lines = ["def broken(x):", *["    x = x @ x", "    torch._dynamo.graph_break()"] * 20, "    return x"]
    scope: dict[str, Any] = {"torch": torch}
    exec("\n".join(lines), scope)
    with watching() as traces:
        result = torch.compile(scope["broken"])(EYE)
    assert torch.equal(result, EYE)
    assert [titles(trace) for trace in traces] == [["matmul"]] * 20
    assert [notes(trace) for trace in traces] == [[]] * 20


def test_both_sides_of_a_decision_that_depends_on_data_are_traces() -> None:
    def choose(x: torch.Tensor) -> torch.Tensor:
        product = x @ x
        if product[0, 0]:
            return product @ x
        return product @ x @ x

    with watching() as traces:
        compiled = torch.compile(choose)
        results = [compiled(EYE), compiled(0 * EYE)]
    assert torch.equal(torch.stack(results), torch.stack([EYE, 0 * EYE]))
    assert [len([title for title in titles(trace) if title == "matmul"]) for trace in traces] == [1, 1, 2]
    assert all(not notes(trace) for trace in traces)


def test_sizes_that_depend_on_data_have_no_bytes() -> None:
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        trace = watch(lambda x: torch.nonzero(x), EYE)
    calls = [record for record in trace.graph_at("lower").nodes.values() if record.kind != "input"]
    assert {record.config["bytes"] for record in calls} == {0}
    assert not notes(trace)


def test_a_program_that_only_makes_views_has_no_calls() -> None:
    trace = watch(lambda x: x.t(), EYE)
    assert trace.stats(-1)["calls"] == 0
    assert notes(trace) == []
    assert all(check.ok for check in trace.check())


def test_a_program_without_operations_has_no_trace() -> None:
    with watching() as traces:
        assert torch.compile(lambda x: (x, 3))(EYE)[1] == 3
    assert traces == []
    with pytest.raises(CircuitError, match="compiled nothing"):
        watch(lambda x: (x, 3), EYE)


def test_a_graph_in_the_cache_on_disk_is_compiled_again_to_be_heard() -> None:
    with config.patch(fx_graph_cache=True):
        torch.compile(square)(EYE)
        torch._dynamo.reset()
        trace = watch(square, EYE)
        assert config.fx_graph_cache
    assert trace.stats("lower")["calls"] == 1
    assert not notes(trace)


def in_threads(*programs: Callable[[threading.Barrier], None]) -> None:
    """Run programs at once, each in a thread; their errors are raised here."""
    barrier = threading.Barrier(len(programs), timeout=120)
    errors: list[Exception] = []

    def run(program: Callable[[threading.Barrier], None]) -> None:
        try:
            program(barrier)
        except Exception as error:  # noqa: BLE001 (raised below)
            barrier.abort()
            errors.append(error)

    threads = [threading.Thread(target=run, args=(program,)) for program in programs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def watch_at_once(program: Callable[..., Any], heard: list[list[str]]) -> Callable[[threading.Barrier], None]:
    """A program of a thread that watches while the other one does, and ends when both are compiled."""

    def run(barrier: threading.Barrier) -> None:
        with torch.no_grad(), watching() as traces:
            barrier.wait()
            torch.compile(program)(EYE)
            barrier.wait()
        heard.extend(titles(trace) for trace in traces)
        assert all(not notes(trace) for trace in traces)

    return run


def test_two_threads_that_are_watched_at_once_hear_themselves_only() -> None:
    squares: list[list[str]] = []
    cubes: list[list[str]] = []
    in_threads(watch_at_once(square, squares), watch_at_once(cube, cubes))
    assert squares == [["matmul"]]
    assert cubes == [["matmul", "matmul"]]
    assert not config._pre_fusion_custom_pass


def test_a_thread_that_is_not_watched_compiles_beside_one_that_is() -> None:
    cubes: list[list[str]] = []
    results: list[torch.Tensor] = []

    def compile_plainly(barrier: threading.Barrier) -> None:
        barrier.wait()
        with torch.no_grad():
            results.append(torch.compile(square)(EYE))
        barrier.wait()

    in_threads(watch_at_once(cube, cubes), compile_plainly)
    assert torch.equal(results[0], EYE)
    assert cubes == [["matmul", "matmul"]]


def test_an_error_of_the_program_leaves_the_traces_before_it() -> None:
    def fail() -> None:
        torch.compile(square)(EYE)
        raise KeyError("the program fails")

    with pytest.raises(KeyError, match="the program fails"), watching() as traces:
        fail()
    assert [titles(trace) for trace in traces] == [["matmul"]]
    assert not config._pre_fusion_custom_pass


def test_settings_are_the_programs_unless_a_graph_is_compiled() -> None:
    before = config.get_config_copy(), aot.get_config_copy(), type(V.choices)
    with watching() as traces:
        torch.compile(square)(EYE)
        assert (config.get_config_copy(), aot.get_config_copy(), type(V.choices)) == before
        own = config._pre_fusion_custom_pass = list
        set_logs()
        torch.compile(cube)(EYE)
        assert config._pre_fusion_custom_pass is own
        config._pre_fusion_custom_pass = None
    assert [(stages(trace), notes(trace)) for trace in traces] == [(["capture", "fuse"], [])] * 2


def test_a_graph_that_dynamo_captures_again_is_heard_once() -> None:
    trace = watch(lambda x: x @ x * 0.5, EYE, dynamic=True)
    assert stages(trace)[1] in ("fuse", "codegen")
    assert not notes(trace)
    assert all(check.ok for check in trace.check())


def test_a_compiled_file_is_returned_as_it_is() -> None:
    graph = torch.fx.symbolic_trace(square)
    file = torch.nn.Identity()  # AOTInductor returns an object that can be called, and raises then
    session = Session()
    assert session.compile(session.begin(graph), lambda _: "model.so", graph) == "model.so"
    with V.set_aot_compilation(True):
        assert session.compile(session.begin(graph), lambda _: file, graph) is file


def test_rows_of_different_lengths_have_no_bytes() -> None:
    rows = torch.nested.nested_tensor([torch.ones(3, 3), torch.ones(2, 3)], layout=torch.jagged)
    with watching() as traces:
        product = torch.compile(lambda x: (x @ EYE).values())(rows)
    assert torch.equal(product, torch.ones(5, 3))
    assert not notes(traces[0])


def test_a_graph_that_is_not_understood_is_compiled_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((listening, "named_inputs"), (fx_states, "source_of")):
        with monkeypatch.context() as patch, watching() as traces:
            patch.setattr(module, name, lambda _: [][0])
            assert torch.equal(torch.compile(square)(EYE), EYE)
            torch._dynamo.reset()
        patch.undo()
        assert "understood: IndexError" in notes(traces[0])[0]


def test_a_program_that_was_not_called_is_not_checked() -> None:
    with watching() as traces, config.patch(_post_fusion_custom_pass=lambda _: [][0]), suppress(Exception):
        torch.compile(square)(EYE)
    with pytest.raises(CircuitError, match="was not run"):
        traces[0].check()


def test_watching_inside_of_watching_returns_to_the_outer_one() -> None:
    with watching() as outer:
        with watching() as inner:
            torch.compile(square)(EYE)
        torch.compile(cube)(EYE)
    assert [titles(trace) for trace in inner] == [["matmul"]]
    assert [titles(trace) for trace in outer] == [["matmul", "matmul"]]


@pytest.mark.parametrize("setting", ["pre_grad_custom_pass", "post_grad_custom_post_pass", "_post_fusion_custom_pass"])
def test_a_compilation_that_fails_has_the_steps_before_it(setting: str) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("this pass fails")

    with config.patch({setting: fail}), watching() as traces, pytest.raises(Exception, match="this pass fails"):
        torch.compile(cube)(EYE)
    assert "this pass fails" in str(traces[0].steps[-1].error)
    assert stages(traces[0])[0] == "capture"
    assert torch.equal(torch.compile(cube)(EYE), EYE)


def test_an_unknown_node_to_keep_apart_is_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"no scheduler node named 'op99'; known are: op0, op1; graph_at"):
        watch(cube, EYE, apart=[("op0", "op99")])
    with pytest.raises(DataTypeError, match=r"expected pairs of names in apart, got 'op0'; write apart=\[\("):
        watch(cube, EYE, apart=("op0", "op1"))  # pyright: ignore[reportArgumentType]
    assert watch(cube, EYE, apart=[("op0", "op1")]).steps


def test_the_command_keeps_pairs_apart(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text("import torch\ndef f(): return torch.nn.Linear(3, 2, bias=False).eval(), (torch.ones(4, 3),)\n")
    asked = ("watch", f"{file}:f", "--no-dashboard", "--apart")
    assert "lower" in run(*asked, "op0,op0").output
    said = run(*asked, "op0,op7", code=2).output
    assert "no scheduler node named 'op7'; known are: op0" in said
    assert "--apart op0: expected ONE,OTHER" in run(*asked, "op0", code=2).output
    assert (
        "--apart is for FILE.py:FUNCTION" in run("watch", "digits", "--no-dashboard", "--apart", "a,b", code=2).output
    )


class Narrow(nn.Module):
    """Mistakes: it multiplies rows of 32 numbers, or looks up what it does not have."""

    def __init__(self, has_weight: bool = True) -> None:
        super().__init__()
        self.inner, self.has_weight = nn.Linear(32, 4), has_weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x) if self.has_weight else {}["weight"] @ x


def test_a_mistake_of_the_program_is_one_error_with_its_line_and_reason() -> None:
    line = inspect.getsourcelines(Narrow.forward)[1] + 1
    where = f"Narrow failed at test_watch_hard_cases.py:{line}, in `return self.inner(x)"
    with pytest.raises(UserCodeError) as caught:
        watch(Narrow(), torch.ones(8, 33))
    assert str(caught.value).startswith(where)
    assert "RuntimeError: a and b must have same reduction dim, but got [8, 33] X [32, 4]." in str(caught.value)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value.__cause__, TorchRuntimeError)
    with pytest.raises(
        UserCodeError, match=r"Narrow failed at test_watch_hard_cases\.py.*KeyError: 'weight'"
    ) as caught:
        watch(Narrow(has_weight=False), torch.ones(8, 32))
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(UserCodeError, match=r"^Narrow failed: TypeError: .*takes 2 positional arguments but 3"):
        watch(Narrow(), torch.ones(8, 32), 3)


def test_a_mistake_is_not_logged_but_those_of_other_threads_are(capsys: pytest.CaptureFixture[str]) -> None:
    logger, heard = logging.getLogger("torch._subclasses.fake_tensor"), list[logging.LogRecord]()

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            heard.append(record)

    handler = Handler()
    logger.addHandler(handler)

    def log_elsewhere(x: torch.Tensor) -> torch.Tensor:
        other = threading.Thread(target=logger.error, args=("another thread",))
        other.start()
        other.join()
        return x @ torch.ones(7, 7)

    try:
        with pytest.raises(UserCodeError):
            watch(torch._dynamo.disable(log_elsewhere), torch.ones(8, 33))
        with pytest.raises(UserCodeError):
            watch(Narrow(), torch.ones(8, 33))
    finally:
        logger.removeHandler(handler)
    assert [record.getMessage() for record in heard] == ["another thread"]
    assert not logger.filters


def test_watching_does_not_change_the_error_of_the_program() -> None:
    with watching(), pytest.raises(TorchRuntimeError):
        torch.compile(Narrow())(torch.ones(8, 33))


def test_a_compiler_that_fails_is_one_error_with_its_reason() -> None:
    def fail(_: object) -> None:
        raise RuntimeError("this pass fails\nfor a reason")

    with config.patch(post_grad_custom_post_pass=fail), pytest.raises(UserCodeError, match="this pass fails") as caught:
        watch(cube, EYE)
    assert "cube failed at test_watch_hard_cases.py" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_command_says_a_mistake_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "my block.py").write_text(
        "import torch\ndef f(x):\n    return x @ torch.ones(32, 4)\n"
        "class M(torch.nn.Module):\n    def forward(self, x):\n        return f(x)\n"
        "def boom():\n    return M(), (torch.ones(8, 33),)\n"
    )
    said = run("watch", f"{tmp_path / 'my block.py'}:boom", "--no-dashboard", code=2).output
    [error] = [line for line in said.splitlines() if not line.startswith("Note: ")]
    assert error.startswith("Error: M failed at my block.py:3, in `return x @ torch.ones(32, 4)`: RuntimeError: ")
    assert "[8, 33]" in error
