"""Files: upload a circuit or a trace; export the image, page, trace or code."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import panel_material_ui as pmui
from panel.viewable import Viewable

from explorer.app.dashboard.desk import Desk
from explorer.app.dashboard.panes.layout import column, line
from explorer.app.dashboard.panes.tables import code_html, html_pane
from explorer.app.dashboard.panes.tool import Tool
from explorer.app.images.raster import picture_png
from explorer.app.session.library import MAX_UPLOAD_BYTES
from explorer.app.session.place import Place
from explorer.views import recording, static_svg
from widgets import page_html


class FilesTool(Tool):
    """Uploads, downloads, and the Python code that reproduces the open trace."""

    name = "files"
    title = "Files"
    help = "Open a circuit or trace file; export the image, page, trace or code."

    def __init__(self, desk: Desk) -> None:
        self.upload = pmui.FileInput(
            label="Open a circuit or trace (.json, .json.gz)",
            accept=".json,.gz",
            max_file_size=MAX_UPLOAD_BYTES,
            size="small",
            variant="outlined",
        )
        self.upload.param.watch(desk.guard(lambda _: self._uploaded()), "value")
        self.again = pmui.Button(
            label="Compile this trace again", size="small", variant="outlined", on_click=desk.guard(self._again)
        )
        self.code = html_pane()
        self.copy = pmui.Button(label="Copy as Python", size="small", on_click=desk.guard(self._copy))
        super().__init__(desk)

    def build(self) -> Viewable:
        downloads = [
            _download(self.desk, "Picture (SVG)", "svg", self._name, self._svg),
            _download(self.desk, "Picture (PNG)", "png", self._name, self._png),
            _download(self.desk, "Page (HTML)", "html", self._name, self._page),
            _download(self.desk, "Trace", "trace.json.gz", self._name, self._trace),
        ]
        files = line(self.upload, self.again, *(download for download in downloads))
        return column(files, line(self.copy), self.code)

    def changed(self, names: frozenset[str]) -> None:
        session = self.desk.session
        self.again.disabled = session.opened.is_live
        self.code.object = code_html(self.desk.python())

    def _uploaded(self) -> None:
        if not self.upload.value:
            return
        name, raw = Path(str(self.upload.filename or "upload.json")).name, self.upload.value
        library = self.desk.library
        self.desk.background.start(
            f"Reading {name}",
            lambda job: library.upload(name, raw),
            lambda known: self.desk.open(Place(circuit=known)),
            self.desk.failed,
        )

    def _again(self, _: object) -> None:
        self.desk.recompile(self.desk.session.opened.options)

    def _copy(self, _: object) -> None:
        self.desk.copy(self.desk.python())

    def _name(self) -> str:
        session = self.desk.session
        return f"{session.opened.name.split('.')[0]}-step-{session.step}"

    def _svg(self) -> bytes:
        return static_svg(self.desk.session.picture()).encode()

    def _png(self) -> bytes:
        return picture_png(self.desk.session.picture()).data

    def _page(self) -> bytes:
        session = self.desk.session
        found = recording(session.index, session.opened.name, modes=("diff", "before", "after"))
        return page_html(found).encode()

    def _trace(self) -> bytes:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "trace.json.gz"
            self.desk.session.opened.trace.save(path)
            return path.read_bytes()


def _download(
    desk: Desk, label: str, ending: str, name: Callable[[], str], make: Callable[[], bytes]
) -> pmui.FileDownload:
    """A button that creates its file when it is pressed."""
    button = pmui.FileDownload(label=label, filename=f"picture.{ending}", size="small", variant="outlined")

    def made() -> BytesIO:
        button.filename = f"{name()}.{ending}"
        try:
            return BytesIO(make())
        except Exception as error:  # noqa: BLE001  # it is shown in the page and written to the file
            desk.failed(error)
            return BytesIO(str(error).encode())

    button.callback = made
    return button
