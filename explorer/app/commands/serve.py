"""`circuit-explorer serve`: the dashboard in a browser."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from explorer.app.commands.console import notes, print_text, say_note
from explorer.app.commands.trace import LEVELS_TEXT, not_recorded_again
from explorer.app.ports import LOCAL, check_port, free_port, is_loopback, public_address
from explorer.errors import check_name
from explorer.packages import UI, require
from explorer.trace import LEVELS, Trace
from explorer.trace.ladder import COMPILED

if TYPE_CHECKING:
    from explorer.app.dashboard.serving import ServeOptions

PORT = 5006


def serve(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME|FILE",
            help="a circuit of the gallery, a circuit or trace file, or FILE.py:FUNCTION: what your function "
            "returns, also a circuit of cirkit (this runs the code in the file)",
        ),
    ] = None,
    level: Annotated[
        str, typer.Option(help=f"the level at which the circuit is opened: {LEVELS_TEXT}")
    ] = COMPILED.name,
    port: Annotated[
        int | None,
        typer.Option(
            min=1, max=65535, help=f"the port to listen on (default: {PORT}, or a free one)", show_default=False
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--show/--no-show", help="open a browser")] = True,
    address: Annotated[str, typer.Option(help="the address to listen on: 127.0.0.1 is this machine only")] = LOCAL,
    host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:PORT]",
            help="a further name under which browsers may request the page, such as that of a proxy; may be repeated",
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(help="offer the circuit and trace files of this folder", file_okay=False, exists=True),
    ] = None,
) -> None:
    """Watch a compilation in the browser: step through it, ask why, change the pipeline, measure it.

    Without a name, the front page shows all circuits of the gallery.
    """
    open_dashboard(source, port, show, address, folder, tuple(host or ()), level)


def open_dashboard(
    source: str | None = None,
    port: int | None = None,
    show: bool = True,
    address: str = LOCAL,
    folder: Path | None = None,
    hosts: tuple[str, ...] = (),
    level: str = COMPILED.name,
) -> None:
    """Serve until Ctrl-C; without a `port` on the default one, or any other if it is taken.

    Raises: MissingPackageError, UnknownNameError, FileFormatError; CircuitError for a port that is taken; the errors
    of `call_function`.
    """
    require("the dashboard", "ui", *UI)
    check_name("level", level, LEVELS)
    with notes().status("Loading torch and panel"):
        import explorer.app.dashboard.page  # noqa: F401 (it takes longest)
        from explorer.app.circuits import load_circuit_or_trace
        from explorer.app.dashboard.serving import ServeOptions, serve as run
        from explorer.app.session.heap import settle_heap
        from explorer.app.session.library import Library
        from explorer.app.session.view_state import ViewState
        from explorer.app.user_functions import is_function
        from explorer.templates import gallery

    state, files, built = None, (), {}
    if source is not None and is_function(source) and not Path(source).is_file():
        state, built = ViewState(circuit=source), {source: load_circuit_or_trace(source, level)}
    elif source is not None and source not in gallery.names() and Path(source).is_file():
        state, files = ViewState(circuit=Path(source).name), (Path(source),)
    elif source is not None:
        state = ViewState.of_circuit(source)
    if state is not None:
        state = replace(state, tensor=replace(state.tensor, level=level))
        found = Library(folder, files, built).open(state.circuit)  # report an unknown name here, not in the browser
        if isinstance(found, Trace) and level not in (COMPILED.name, found.level.name):
            raise not_recorded_again(state.circuit, found, f"--level {level}")
    if port is not None:
        check_port(address, port)
    options = ServeOptions(state, port or free_port(address, PORT), address, show, folder, files, hosts, built)
    settle_heap()  # the imported packages have 350,000 objects, which no collection needs to look at
    run(options, lambda: announce(options))


def announce(options: "ServeOptions") -> None:
    """Print the address of the page; if other machines reach it, one that they can open."""
    if is_loopback(options.address):
        print_text(f"The explorer is at {options.url} (stop it with Ctrl-C).")
    else:
        public = replace(options, address=public_address(options.address))
        say_note(f"Anyone on this network can use this machine's CPU. Address: {public.url}")
