"""Background work of a host: its progress, waiting, and cancellation."""

import threading
from collections.abc import Callable
from queue import Queue

from explorer.app.dashboard.background import PROGRESS_SECONDS, Background, Job


class Host:
    """A host with one thread: delivered functions wait until `serve` runs them."""

    def __init__(self) -> None:
        self.waiting: Queue[Callable[[], None]] = Queue()
        self.background = Background(self.waiting.put, lambda job: None)

    def serve(self) -> None:
        """Run the next delivered function."""
        self.waiting.get(timeout=5)()


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
        go.wait(5)
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
    start(host, results, lambda job: "first" if hold.wait(5) else "")
    second = start(host, results, lambda job: "second")
    hold.set()
    assert results == ["cancelled"]
    host.serve()
    host.serve()
    assert results == ["cancelled", "second"]
    assert not second.running
