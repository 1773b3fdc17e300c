"""Uploads are limited by the server: in size, and to one at a time."""

import base64
import gzip
import threading
from collections.abc import Callable
from queue import Queue
from typing import Any

import panel as pn
import pytest
from bokeh.core.serialization import DeserializationError, Deserializer, Serializer

from explorer.app.dashboard.dashboard import Dashboard
from explorer.app.dashboard.page import limit_messages
from explorer.app.dashboard.panes import pipeline
from explorer.app.dashboard.panes.files import CHUNK_BYTES, Upload
from explorer.app.dashboard.panes.pipeline import PipelineTool
from explorer.app.session.library import Library
from explorer.app.session.view_state import TensorOptions, ViewState
from explorer.trace import TENSOR
from tests.waiting import PATIENCE

pn.extension()

MAX_BYTES = 3 * CHUNK_BYTES


class Uploads:
    """A button, and what came of its uploads."""

    def __init__(self) -> None:
        self.files: list[tuple[str, bytes]] = []
        self.refused: list[str] = []
        self.button = Upload(
            "Open",
            (".json",),
            lambda name, raw: self.files.append((name, raw)),
            lambda error: self.refused.append(str(error)),
            MAX_BYTES,
        )

    def begin(self) -> None:
        self.send(status="initializing")

    def send_chunk(self, number: int, total: int, data: Any = b" " * CHUNK_BYTES, name: str = "a.json") -> None:
        send_chunk(self.button, number, total, data, name)

    def end(self) -> None:
        self.send(status="finished")

    def send(self, **message: Any) -> None:
        self.button._handle_msg(message)


def send_chunk(button: Upload, number: int, total: int, data: Any, name: str) -> None:
    message = {"chunk": number, "total_chunks": total, "data": data, "name": name, "mime_type": ""}
    button._handle_msg({"status": "upload_event", **message})


def test_a_file_arrives_in_chunks() -> None:
    found = Uploads()
    found.begin()
    for number, data in enumerate((b"a" * CHUNK_BYTES, memoryview(b"b" * CHUNK_BYTES), b"c"), 1):
        found.send_chunk(number, 3, data)
    found.end()
    assert [(name, len(raw), raw[-2:]) for name, raw in found.files] == [("a.json", 2 * CHUNK_BYTES + 1, b"bc")]
    assert (found.refused, found.button.held_bytes) == ([], 0)


def test_an_unfinished_upload_is_dropped_by_the_next_one() -> None:
    found = Uploads()
    for number in range(4):
        found.begin()
        found.send_chunk(1, 2, name=f"{number}.json")
        found.send_chunk(1, 1, name="whole.json")
        assert found.button.held_bytes == 2 * CHUNK_BYTES
    found.begin()
    assert found.button.held_bytes == 0
    found.send_chunk(1, 1, b"{}")
    found.end()
    assert (found.files, found.refused) == ([("a.json", b"{}")], [])


TOO_LARGE = "The file was not uploaded: it is larger than 3 MB."


@pytest.mark.parametrize(
    ("chunks", "refusal"),
    [
        ([(1, 4, b"")], TOO_LARGE),
        ([(1, 3, b" " * MAX_BYTES), (2, 3, b" ")], TOO_LARGE),
        ([(1, 2, 10**12)], "The file was not uploaded: the page sent something else than a file."),
        ([(1, "2", b" ")], "The file was not uploaded: the page sent something else than a file."),
    ],
)
def test_a_file_is_refused_once_and_nothing_of_it_is_kept(chunks: list[tuple[int, Any, Any]], refusal: str) -> None:
    found = Uploads()
    found.begin()
    for chunk in (*chunks, (1, 2, b" "), (2, 2, b" ")):
        found.send_chunk(*chunk)
    found.end()
    assert (found.files, found.refused, found.button.held_bytes) == ([], [refusal], 0)
    found.begin()
    found.send_chunk(1, 1, b"{}")
    found.end()
    assert (found.files, found.refused) == ([("a.json", b"{}")], [refusal])


def test_files_that_never_end_share_the_limit() -> None:
    found = Uploads()
    found.begin()
    for number in range(10):
        found.send_chunk(1, 2, name=f"{number}.json")
        assert found.button.held_bytes <= MAX_BYTES
    assert found.refused == [TOO_LARGE]


@pytest.mark.filterwarnings("ignore:Both 'variant' and 'button_style'")  # panel-material-ui's FileDownload of itself
def test_a_pipeline_is_read_in_the_background_and_refused_with_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Dashboard(Library(), ViewState(circuit="conflict", tensor=TensorOptions(TENSOR)))
    delivered: Queue[Callable[[], None]] = Queue()
    made.workspace.background._deliver = delivered.put
    made.tools.open("pipeline")
    tool = made.tools._tools["pipeline"]
    assert isinstance(tool, PipelineTool)
    form = tool.passes
    threads: list[threading.Thread] = []
    read = pipeline.pipeline_from_yaml

    def read_and_note(*args: Any) -> Any:
        threads.append(threading.current_thread())
        return read(*args)

    monkeypatch.setattr(pipeline, "pipeline_from_yaml", read_and_note)

    def upload(raw: bytes) -> str:
        form.upload._handle_msg({"status": "initializing"})
        send_chunk(form.upload, 1, 1, raw, "mine.yaml")
        form.upload._handle_msg({"status": "finished"})
        while made.workspace.background.job:
            delivered.get(timeout=PATIENCE)()
        return str(made.messages.text.object)

    assert "mine.yaml, line 1: nested deeper than 8 levels" in upload(b"[" * 20_000)
    assert "it is larger than 64 kB" in upload(b"- passName: DCE\n" * 5000)
    upload(f"- passName: {form.new.options[0]}\n".encode())
    assert form.draft.pipeline[0].pass_id == form.new.options[0]
    assert threading.current_thread() not in threads
    assert len(threads) == 2


def test_compressed_bytes_in_messages_are_refused() -> None:
    limit_messages()
    limit_messages()
    bomb = base64.b64encode(gzip.compress(bytes(2**20))).decode()
    with pytest.raises(DeserializationError, match="compressed bytes are not read"):
        Deserializer().deserialize({"a": [{"type": "bytes", "data": bomb}]})
    sent = Serializer().serialize({"a": [b"as they are"]})
    assert bytes(Deserializer().deserialize(sent)["a"][0]) == b"as they are"
