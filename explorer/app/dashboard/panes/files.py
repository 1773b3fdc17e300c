"""Files: upload a circuit or a trace; export the image, page, trace or code."""

from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import panel_material_ui as pmui
from panel.viewable import Viewable

from explorer.app.circuits import CHECKPOINT
from explorer.app.dashboard.panes.tables import code_html, html_pane
from explorer.app.dashboard.panes.tool import Tool, button, column, line
from explorer.app.dashboard.workspace import Workspace
from explorer.app.images import picture_png
from explorer.app.session.library import MAX_UPLOAD_BYTES
from explorer.app.session.opening import release_heap_soon
from explorer.app.session.reproduce import page_recording
from explorer.app.session.view_state import ViewState
from explorer.errors import CircuitError
from explorer.templates.logic import LOGIC_SUFFIXES
from explorer.views import static_svg
from explorer_widgets import page_html


class FilesTool(Tool):
    """Uploads, downloads, and the Python code that reproduces the open trace."""

    name = "files"
    title = "Files"
    help = "Open a circuit, a trace or a checkpoint of training; export the image, page, trace or code."

    def __init__(self, workspace: Workspace) -> None:
        label = f"Open a circuit, trace or checkpoint ({', '.join(READABLE)})"
        self.upload = Upload(label, ANY, workspace.guard(self._on_upload), workspace.show_error)
        self.again = button(workspace, "Compile this trace again", self._again, "outlined")
        self.code = html_pane()
        self.copy = button(workspace, "Copy as Python", lambda: workspace.browser.put_on_clipboard(workspace.python()))
        super().__init__(workspace)

    def build(self) -> Viewable:
        downloads = (
            self._download("Picture (SVG)", "svg", self._svg),
            self._download("Picture (PNG)", "png", self._png),
            self._download("Page (HTML)", "html", self._page),
            self._download("Trace", "trace.json.gz", self._trace),
        )
        return column(line(self.upload, self.again, *downloads), line(self.copy), self.code)

    def on_change(self, names: frozenset[str]) -> None:
        session = self.workspace.session
        self.again.disabled = session.opened.is_live or not session.opened.trace.level.has_circuit
        self.code.object = code_html(self.workspace.python())

    def _on_upload(self, path: str, raw: bytes) -> None:
        name = Path(path).name
        library = self.workspace.library

        def read(job: object) -> str:
            before = dict(library.uploads)
            known = library.upload(name, raw)
            if any(library.uploads.get(other) is not item for other, item in before.items()):
                release_heap_soon()  # a trace has cycles
            return known

        self.workspace.background.start(
            f"Reading {name}",
            read,
            lambda known: self.workspace.open_another(ViewState.of_circuit(known)),
            self.workspace.show_error,
        )

    def _again(self) -> None:
        self.workspace.recompile(self.workspace.session.opened.options)

    def _svg(self) -> bytes:
        return static_svg(self.workspace.session.picture()).encode()

    def _png(self) -> bytes:
        return picture_png(self.workspace.session.picture()).data

    def _page(self) -> bytes:
        session = self.workspace.session
        return page_html(page_recording(session.index, session.opened.name, session.findings)).encode()

    def _trace(self) -> bytes:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "trace.json.gz"
            self.workspace.session.opened.trace.save(path)
            return path.read_bytes()

    def _download(self, label: str, ending: str, make: Callable[[], bytes]) -> pmui.FileDownload:
        """A button that creates its file when it is pressed."""

        def content() -> BytesIO:
            session = self.workspace.session
            download.filename = f"{session.opened.name.split('.')[0]}-step-{session.step}.{ending}"
            try:
                return BytesIO(make())
            except Exception as error:  # noqa: BLE001  # it is shown in the page and written to the file
                self.workspace.show_error(error)
                return BytesIO(str(error).encode())

        download = pmui.FileDownload(
            label=label, filename=f"picture.{ending}", callback=content, size="small", variant="outlined"
        )
        return download


# ---------------------------------------------------------------------- uploads


READABLE = (".json", ".gz", CHECKPOINT, *LOGIC_SUFFIXES)
"""Suffixes of the files of circuits, traces and checkpoints."""
ANY = ()
"""Any file is accepted, also one that is dropped on the page: the answer says what it is, and what opens it."""
CHUNK_BYTES = MAX_UPLOAD_BYTES // 20
"""The size of the messages into which the browser divides a file."""


class Upload(pmui.FileInput):
    """Calls `on_file` with the name and the content of every file, and `on_refuse` for a file that is not accepted.

    The chunks of an unfinished upload are dropped when the next one begins, and never exceed `max_bytes`.
    """

    def __init__(
        self,
        label: str,
        accepted: Sequence[str],
        on_file: Callable[[str, bytes], None],
        on_refuse: Callable[[CircuitError], None],
        max_bytes: int = MAX_UPLOAD_BYTES,
    ) -> None:
        self._on_file, self._on_refuse, self._max_bytes = on_file, on_refuse, max_bytes
        self._is_refused = False
        super().__init__(
            label=label,
            accept=",".join(accepted),
            max_file_size=max_bytes,
            chunk_size=CHUNK_BYTES,
            size="small",
            variant="outlined",
        )

    @property
    def held_bytes(self) -> int:
        """The size of the chunks that wait for the rest of their file."""
        chunks = [chunk for file in self._file_buffer.values() for chunk in file["chunks"].values()]
        return sum(map(len, chunks)) + sum(len(file["value"]) for file in self._buffer)

    def _handle_msg(self, msg: Any) -> None:
        """Handle a message of the browser; an empty file comes as no content at all."""
        status = msg["status"]
        if status == "initializing":
            self._drop()
        elif status == "error":
            self._refuse(str(msg["error"]))
        elif status == "upload_event":
            self._receive(msg)
        elif status == "finished" and not self._is_refused:
            super()._handle_msg(msg)
            if self.value:
                self._on_file(str(self.filename or "upload.json"), self.value)
            else:
                self._refuse("it is empty")

    def _receive(self, msg: Any) -> None:
        """Keep a chunk, unless its file is larger than what is accepted."""
        data, total = msg["data"], msg["total_chunks"]
        if self._is_refused:
            return
        if not isinstance(data, bytes | bytearray | memoryview) or not isinstance(total, int):
            self._refuse("the page sent something else than a file")
        elif self.held_bytes + len(data) > self._max_bytes or total > -(-self._max_bytes // CHUNK_BYTES):
            unit, name = (2**20, "MB") if self._max_bytes >= 2**20 else (2**10, "kB")
            self._refuse(f"it is larger than {self._max_bytes // unit} {name}")
        else:
            super()._handle_msg(msg)

    def _refuse(self, reason: str) -> None:
        self._drop()
        self._is_refused = True
        self._send_msg({"status": "error", "error": reason})
        self._on_refuse(CircuitError(f"The file was not uploaded: {reason}."))

    def _drop(self) -> None:
        """Drop what was received of earlier files."""
        self._file_buffer.clear()
        self._buffer.clear()
        self._is_refused = False
