"""Programs that are hard to watch: many graphs, data that decides, threads, caches, failures.

They multiply matrices only, by the library, so that no C++ is built.
"""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch._inductor import config

from explorer.adapters import watch, watching
from explorer.errors import CircuitError
from explorer.trace import Trace
from tests.adapters.models import folder_of_inductor

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
"""What Inductor imports uses deprecated parts of PyTorch."""


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
