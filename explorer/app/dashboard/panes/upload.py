"""The button that uploads a file. The server limits uploads too: not only the page of this button can send them."""

from collections.abc import Callable, Sequence
from typing import Any

import panel_material_ui as pmui

from explorer.app.circuits import CHECKPOINT
from explorer.app.session.library import MAX_UPLOAD_BYTES
from explorer.errors import CircuitError
from explorer.templates.logic import LOGIC_SUFFIXES

ACCEPTED = (".json", ".gz", CHECKPOINT, *LOGIC_SUFFIXES)
"""Suffixes of the files of circuits, traces and checkpoints that the browser offers."""
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
