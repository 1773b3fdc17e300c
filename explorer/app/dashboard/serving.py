"""Serves the dashboard from this machine, by default on 127.0.0.1 only."""

import socket
from dataclasses import dataclass
from pathlib import Path

from explorer.app.session.library import MAX_UPLOAD_BYTES, Library
from explorer.app.session.view_state import ViewState
from explorer.errors import CircuitError

LOCAL = "127.0.0.1"


@dataclass(frozen=True)
class ServeOptions:
    """Where to listen, what to open first, which files to offer; `hosts` are further names of this machine."""

    state: ViewState
    port: int
    address: str = LOCAL
    show: bool = True
    folder: Path | None = None
    files: tuple[Path, ...] = ()
    hosts: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """The address of the page."""
        query = self.state.query()
        return f"http://{self.address}:{self.port}/" + (f"?{query}" if query else "")


def serve(options: ServeOptions) -> None:
    """Serve until stopped. Call `check_port` first."""
    import panel as pn

    from explorer.app.dashboard.page import TITLE, make_page

    pn.extension()
    hosts = dict.fromkeys((options.address, LOCAL, "localhost", *options.hosts, *host_names(options.address)))
    pn.serve(
        {"/": lambda: make_page(Library(options.folder, options.files), options.state)},
        title=TITLE,
        address=options.address,
        port=options.port,
        websocket_origin=[f"{host}:{options.port}" for host in hosts],
        websocket_max_message_size=2 * MAX_UPLOAD_BYTES,
        show=options.show,
        autoreload=False,
        verbose=False,
    )


def host_names(address: str) -> tuple[str, ...]:
    """The names under which other machines may reach this one, if it does not listen locally only."""
    if address in (LOCAL, "localhost"):
        return ()
    name = socket.gethostname()
    try:
        return (name, socket.getfqdn(), *socket.gethostbyname_ex(name)[2])
    except OSError:
        return (name,)


def check_port(address: str, port: int) -> None:
    """Raises: CircuitError if the address and port cannot be listened on."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            raise CircuitError(
                f"cannot listen on {address}:{port}: {error.strerror}; choose another port with --port"
            ) from error


def free_port(address: str = LOCAL, wish: int = 0) -> int:
    """Return a free port: `wish` if it is free, or any."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, wish))
        except OSError:
            if not wish:
                raise
            return free_port(address)
        return int(probe.getsockname()[1])
