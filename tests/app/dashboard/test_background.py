"""Background work of a host: its progress, waiting, and cancellation."""

import threading
from collections.abc import Callable
from queue import Queue
from types import SimpleNamespace
from typing import Any, cast

from explorer.app.dashboard.background import PROGRESS_SECONDS, Background, Job
from explorer.app.dashboard.panes import values as values_pane
from explorer.app.dashboard.workspace import Workspace
from explorer.app.session.session import Session
from tests.waiting import PATIENCE


class Host:
    """A host with one thread: delivered functions wait until `serve` runs them."""

    def __init__(self) -> None:
        self.waiting: Queue[Callable[[], None]] = Queue()
        self.background = Background(self.waiting.put, lambda job: None)

    def serve(self) -> None:
        """Run the next delivered function."""
        self.waiting.get(timeout=PATIENCE)()


def start(host: Host, results: list[str], work: Callable[[Job], str]) -> Job:
    return host.background.start(
        "Timing",
        work,
        results.append,
        lambda error: results.append(str(error)),
        show_at_once=True,
        on_cancel=lambda: results.append("cancelled"),
    )


def test_the_work_continues_only_after_its_progress_was_sent() -> None:
    host, results, order = Host(), [], []
    may_show = threading.Event()

    def work(job: Job) -> str:
        may_show.wait(PROGRESS_SECONDS * 1.1)
        job.show("half", 0.5, also=lambda: order.append("shown"))
        order.append("measured")
        return "done"

    start(host, results, work)
    host.serve()
    assert order == ["shown"]  # its changes are sent before the next function of the host
    host.serve()
    host.serve()
    assert order == ["shown", "measured"]
    assert results == ["done"]


def test_a_cancelled_job_reports_it_immediately_and_shows_nothing_more() -> None:
    host, results, shown = Host(), [], []
    go = threading.Event()

    def work(job: Job) -> str:
        go.wait(PATIENCE)
        job.show("half", 0.5, also=lambda: shown.append("half"))
        return "done"

    job = start(host, results, work)
    host.background.cancel()
    assert results == ["cancelled"]
    assert host.background.job is None
    threading.Event().wait(PROGRESS_SECONDS * 1.1)
    go.set()
    host.serve()  # the progress
    host.serve()  # that it was sent
    host.serve()  # the end
    assert job.cancelled
    assert results == ["cancelled"]
    assert shown == []


def test_a_new_job_cancels_the_previous_one() -> None:
    host, results = Host(), []
    hold = threading.Event()
    start(host, results, lambda job: "first" if hold.wait(PATIENCE) else "")
    second = start(host, results, lambda job: "second")
    hold.set()
    assert results == ["cancelled"]
    host.serve()
    host.serve()
    assert results == ["cancelled", "second"]
    assert not second.running


class Asked:
    """A workspace with a request for values; `answers` are the reasons why there are none."""

    def __init__(self, host: Host) -> None:
        self.inputs_background, self.answers = host.background, list[str]()
        opened = SimpleNamespace(columns=(), trace=None)
        self.session = SimpleNamespace(opened=opened, values=None, show_values=self._note)

    def _note(self, view: Any) -> None:
        self.answers.append(view["missing"])

    def show_error(self, error: Exception) -> None:
        self.answers.append(f"shown: {error}")


def asked(monkeypatch: Any, run: Callable[..., Any]) -> tuple[Host, Asked]:
    """Ask for values that `run` computes."""
    host = Host()
    workspace = Asked(host)
    monkeypatch.setattr(values_pane, "TraceIndex", lambda *_, **__: None)
    monkeypatch.setattr(values_pane, "run_values", run)
    values_pane.run_inputs(cast(Workspace, workspace), cast(Session, workspace.session), ())
    return host, workspace


def test_a_run_of_inputs_that_is_cancelled_or_fails_answers_the_page(monkeypatch: Any) -> None:
    ended = threading.Event()
    host, workspace = asked(monkeypatch, lambda *_, **__: ended.wait(PATIENCE))
    host.background.cancel()
    ended.set()
    assert workspace.answers == ["The run was cancelled."]

    def fail(*_: Any, **__: Any) -> None:
        raise ValueError("no luck")

    host, workspace = asked(monkeypatch, fail)
    host.serve()
    assert workspace.answers == ["shown: no luck", "The inputs could not be run: no luck"]


def test_a_run_of_inputs_answers_the_page_although_another_circuit_was_opened(monkeypatch: Any) -> None:
    host, workspace = asked(monkeypatch, lambda *_, **__: {"missing": ""})
    workspace.session.opened = SimpleNamespace(columns=(), trace=None)
    host.serve()
    assert workspace.answers == [values_pane.ANOTHER]
