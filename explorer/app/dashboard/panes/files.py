"""Files: upload a circuit or a trace; export the image, page, trace or code."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import panel_material_ui as pmui
from panel.viewable import Viewable

from explorer.app.dashboard.panes.layout import button, column, line
from explorer.app.dashboard.panes.tables import code_html, html_pane
from explorer.app.dashboard.panes.tool import Tool
from explorer.app.dashboard.panes.upload import ACCEPTED, Upload
from explorer.app.dashboard.workspace import Workspace
from explorer.app.images import picture_png
from explorer.app.session.reproduce import page_recording
from explorer.app.session.view_state import ViewState
from explorer.views import static_svg
from explorer_widgets import page_html


class FilesTool(Tool):
    """Uploads, downloads, and the Python code that reproduces the open trace."""

    name = "files"
    title = "Files"
    help = "Open a circuit, a trace or a checkpoint of training; export the image, page, trace or code."

    def __init__(self, workspace: Workspace) -> None:
        label = f"Open a circuit, trace or checkpoint ({', '.join(ACCEPTED)})"
        self.upload = Upload(label, ACCEPTED, workspace.guard(self._on_upload), workspace.show_error)
        self.again = button(workspace, "Compile this trace again", self._again, "outlined")
        self.code = html_pane()
        self.copy = button(workspace, "Copy as Python", self._copy)
        super().__init__(workspace)

    def build(self) -> Viewable:
        downloads = [
            _download(self.workspace, "Picture (SVG)", "svg", self._name, self._svg),
            _download(self.workspace, "Picture (PNG)", "png", self._name, self._png),
            _download(self.workspace, "Page (HTML)", "html", self._name, self._page),
            _download(self.workspace, "Trace", "trace.json.gz", self._name, self._trace),
        ]
        files = line(self.upload, self.again, *(download for download in downloads))
        return column(files, line(self.copy), self.code)

    def on_change(self, names: frozenset[str]) -> None:
        session = self.workspace.session
        self.again.disabled = session.opened.is_live or not session.opened.trace.level.has_circuit
        self.code.object = code_html(self.workspace.python())

    def _on_upload(self, path: str, raw: bytes) -> None:
        name = Path(path).name
        library = self.workspace.library
        self.workspace.background.start(
            f"Reading {name}",
            lambda job: library.upload(name, raw),
            lambda known: self.workspace.open(ViewState.of_circuit(known)),
            self.workspace.show_error,
        )

    def _again(self) -> None:
        self.workspace.recompile(self.workspace.session.opened.options)

    def _copy(self) -> None:
        self.workspace.copy(self.workspace.python())

    def _name(self) -> str:
        session = self.workspace.session
        return f"{session.opened.name.split('.')[0]}-step-{session.step}"

    def _svg(self) -> bytes:
        return static_svg(self.workspace.session.picture()).encode()

    def _png(self) -> bytes:
        return picture_png(self.workspace.session.picture()).data

    def _page(self) -> bytes:
        session = self.workspace.session
        return page_html(page_recording(session.index, session.opened.name)).encode()

    def _trace(self) -> bytes:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "trace.json.gz"
            self.workspace.session.opened.trace.save(path)
            return path.read_bytes()


def _download(
    workspace: Workspace, label: str, ending: str, name: Callable[[], str], make: Callable[[], bytes]
) -> pmui.FileDownload:
    """A button that creates its file when it is pressed."""
    button = pmui.FileDownload(label=label, filename=f"picture.{ending}", size="small", variant="outlined")

    def content() -> BytesIO:
        button.filename = f"{name()}.{ending}"
        try:
            return BytesIO(make())
        except Exception as error:  # noqa: BLE001  # it is shown in the page and written to the file
            workspace.show_error(error)
            return BytesIO(str(error).encode())

    button.callback = content
    return button
