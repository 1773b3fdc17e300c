"""Twenty readers of one server step at once: each gets the picture of its own step, soon."""

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from bokeh.client import ClientSession, pull_session
from bokeh.document.events import MessageSentEvent
from bokeh.events import DocumentReady

import explorer.app.dashboard as dashboard_module
from tests.browser.conftest import Server

pytestmark = pytest.mark.browser

READERS = 20
CIRCUITS = ("digits", "blackboard", "hmm", "conflict", "near-misses")
STEPS = (3, 7, 8, 1, 9, 5)
MOST_SECONDS = 3.0
"""A step may take so long with all readers at once, on two cores that the readers share with the server."""


class Reader:
    """A websocket client that says and hears what a browser does, and draws nothing."""

    def __init__(self, server: Server, circuit: str) -> None:
        self.circuit = circuit
        self.session: ClientSession = pull_session(url=server.url, arguments={"circuit": circuit})
        document = self.session.document
        document.callbacks.trigger_on_change(MessageSentEvent(document, "bokeh_event", DocumentReady()))
        self.data: Any = None
        self._listen_until(self._is_open, 60)

    def _is_open(self) -> bool:
        """Whether the graph is there; until then the page says that it opens."""
        panes = [model for model in self.session.document.models if getattr(model, "class_name", "") == "GraphPane"]
        self.data = panes[0].data if panes else None
        return bool(panes)

    def _listen_until(self, condition: Callable[[], bool], limit: float = 30.0) -> None:
        connection = self.session._connection
        late = connection._loop.call_later(limit, self.session.close)
        connection._loop_until(lambda: condition() or not self.session.connected)
        connection._loop.remove_timeout(late)
        assert self.session.connected, f"no answer within {limit} s"

    def go(self, step: int) -> tuple[dict[str, Any], float]:
        """Go to a step as the drawing does; gives the picture that came, and the seconds until it came."""
        start = time.monotonic()
        self.data.step = step
        self._listen_until(lambda: self.picture["step"] == step)
        return self.picture, time.monotonic() - start

    @property
    def picture(self) -> dict[str, Any]:
        return json.loads(self.data.picture)


def test_twenty_readers_stepping_at_once_each_get_their_own_picture_soon(server: Server) -> None:
    assert dashboard_module.TITLE  # its models are known to the clients
    readers = [Reader(server, CIRCUITS[number % len(CIRCUITS)]) for number in range(READERS)]
    together = Barrier(READERS)

    def read(number: int) -> list[tuple[str, int, dict[str, Any], float]]:
        # A reader's own order, so that readers of one circuit are at different steps.
        steps = [STEPS[(number + i) % len(STEPS)] for i in range(len(STEPS))]
        together.wait(30)
        return [(readers[number].circuit, step, *readers[number].go(step)) for step in steps]

    try:
        with ThreadPoolExecutor(READERS) as pool:
            answers = [answer for found in pool.map(read, range(READERS)) for answer in found]
    finally:
        for reader in readers:
            reader.session.close()
    seconds = sorted(taken for _, _, _, taken in answers)
    print(f"{len(answers)} steps: median {seconds[len(seconds) // 2]:.2f} s, slowest {seconds[-1]:.2f} s")  # noqa: T201
    titles = {circuit: [step["title"] for step in steps_of(circuit)] for circuit in CIRCUITS}
    for circuit, step, picture, _ in answers:
        assert (picture["step"], picture["title"]) == (step, titles[circuit][step])
    assert len({json.dumps(picture, sort_keys=True) for _, _, picture, _ in answers}) == len(CIRCUITS) * len(STEPS)
    assert seconds[-1] < MOST_SECONDS


def steps_of(circuit: str) -> Any:
    """The steps as this process finds them, without the server."""
    from explorer.templates import gallery
    from explorer.views import TraceIndex, steps

    return steps(TraceIndex(dashboard_module.open_place(dashboard_module.Library(), dashboard_module.Place(circuit)).trace))
