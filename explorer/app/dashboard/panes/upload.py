"""The button that uploads a file: what the browser refuses is told in the page, too."""

from collections.abc import Callable
from typing import Any

import panel_material_ui as pmui

from explorer.app.circuits import CHECKPOINT
from explorer.app.session.library import MAX_UPLOAD_BYTES
from explorer.errors import CircuitError
from explorer.templates.logic import LOGIC_SUFFIXES

ACCEPTED = (".json", ".gz", CHECKPOINT, *LOGIC_SUFFIXES)
"""How the names of files end that the browser offers."""


class Upload(pmui.FileInput):
    """Calls `on_file` with name and content of every file, and `on_refuse` for one that the browser does not send."""

    def __init__(self, on_file: Callable[[str, bytes], None], on_refuse: Callable[[CircuitError], None]) -> None:
        self._on_file, self._on_refuse = on_file, on_refuse
        super().__init__(
            label=f"Open a circuit, trace or checkpoint ({', '.join(ACCEPTED)})",
            accept=",".join(ACCEPTED),
            max_file_size=MAX_UPLOAD_BYTES,
            size="small",
            variant="outlined",
        )

    def _handle_msg(self, msg: Any) -> None:
        """Handle a message of the browser; an empty file comes as no content at all."""
        if msg["status"] == "error":
            self._on_refuse(CircuitError(f"The file was not uploaded: {msg['error']}."))
            return
        super()._handle_msg(msg)
        if msg["status"] != "finished":
            return
        if self.value:
            self._on_file(str(self.filename or "upload.json"), self.value)
        else:
            self._on_refuse(CircuitError("The file was not uploaded: it is empty."))
