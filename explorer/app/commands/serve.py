"""`circuit-explorer serve`: the dashboard in a browser."""

from pathlib import Path
from typing import Annotated

import typer

from explorer.app.commands.console import notes, print_text
from explorer.app.needs import require_ui

PORT, LOCAL = 5006, "127.0.0.1"


def serve(
    source: Annotated[
        str | None, typer.Argument(metavar="[NAME|TRACE]", help="a circuit of the gallery, or a circuit or trace file")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help=f"where to listen [{PORT}, or a free one]", show_default=False)
    ] = None,
    show: Annotated[bool, typer.Option("--show/--no-show", help="open a browser")] = True,
    address: Annotated[str, typer.Option(help="the address to listen on: 127.0.0.1 is this machine only")] = LOCAL,
    host: Annotated[
        list[str] | None, typer.Option(help="a host name under which browsers may request the page; may be repeated")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(help="offer the circuit and trace files of this folder", file_okay=False, exists=True),
    ] = None,
) -> None:
    """Watch a compilation in the browser: step through it, ask why, change the pipeline, measure it."""
    open_dashboard(source, port, show, address, folder, tuple(host or ()))


def open_dashboard(
    source: str | None = None,
    port: int | None = None,
    show: bool = True,
    address: str = LOCAL,
    folder: Path | None = None,
    hosts: tuple[str, ...] = (),
) -> None:
    """Serve until Ctrl-C; without a `port` on the default one, or any other if it is taken.

    Raises: MissingPackageError, UnknownNameError, FileFormatError; CircuitError for a port that is taken.
    """
    require_ui()
    with notes().status("Loading torch and panel"):
        from explorer.app.dashboard.serving import ServeOptions, check_port, free_port, serve as run
        from explorer.app.session.library import Library
        from explorer.app.session.view_state import ViewState
        from explorer.templates import gallery

    state, files = ViewState(), ()
    if source is not None and source not in gallery.names() and Path(source).is_file():
        state, files = ViewState(circuit=Path(source).name), (Path(source),)
    elif source is not None:
        state = ViewState(circuit=source)
    Library(folder, files).open(state.circuit)  # report an unknown name here, not in the browser
    if port is not None:
        check_port(address, port)
    options = ServeOptions(state, port or free_port(address, PORT), address, show, folder, files, hosts)
    print_text(f"The explorer is at {options.url} (stop it with Ctrl-C).")
    run(options)
