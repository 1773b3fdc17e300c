"""`circuit-explorer serve`: the dashboard in a browser."""

from pathlib import Path
from typing import Annotated

import typer

from explorer.app.console import notes, results
from explorer.app.needs import require_ui


def serve(
    source: Annotated[
        str | None, typer.Argument(metavar="[NAME|TRACE]", help="a circuit of the gallery, or a circuit or trace file")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="where to listen; 0 takes any free port")] = 5006,
    show: Annotated[bool, typer.Option("--show/--no-show", help="open a browser")] = True,
    address: Annotated[str, typer.Option(help="who may connect: 127.0.0.1 is this machine only")] = "127.0.0.1",
    folder: Annotated[
        Path | None,
        typer.Option(help="offer the circuit and trace files of this folder", file_okay=False, exists=True),
    ] = None,
) -> None:
    """Watch a compilation in the browser: step through it, ask why, change the pipeline, measure it."""
    require_ui()
    with notes().status("Loading torch and panel"):
        from explorer.app.library import Library
        from explorer.app.place import Place
        from explorer.app.serving import ServeOptions, free_port
        from explorer.app.serving import serve as run
        from explorer.templates import gallery

    place, files = Place(), ()
    if source is not None and source not in gallery.names() and Path(source).is_file():
        place, files = Place(circuit=Path(source).name), (Path(source),)
    elif source is not None:
        place = Place(circuit=source)
    Library(folder, files).open(place.circuit)  # a name that does not exist is told here, not in the browser
    options = ServeOptions(place, port or free_port(address), address, show, folder, files)
    results().print(f"The explorer is at {options.url} (stop it with Ctrl-C).", markup=False, soft_wrap=True)
    run(options)
