"""Ports and addresses on which a server may listen, and the names under which browsers may reach it there."""

import re
import socket
from contextlib import suppress
from ipaddress import ip_address

from explorer.errors import CircuitError, ValueRangeError

LOCAL = "127.0.0.1"
"""The address that only this machine reaches."""
ELSEWHERE = ("192.0.2.1", 9)
"""An address outside of every local network: connecting a datagram socket to it sends nothing."""
MAX_PORT = 65535
WEB_PORT = 80
"""The port that Bokeh assumes for an origin without one, such as a web server in front of this one."""


def check_port(address: str, port: int) -> None:
    """Raises: CircuitError if the address and port cannot be listened on; ValueRangeError if it is not a port."""
    _check_range(port, "--port")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            raise CircuitError(
                f"cannot listen on {address}:{port}: {error.strerror}; choose another port with --port, or --address"
            ) from error


def free_port(address: str = LOCAL, wish: int = 0) -> int:
    """Return a free port: `wish` if it is free, or any. Raises: CircuitError if the address is not of this machine."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, wish))
        except OSError as error:
            if not wish:
                raise CircuitError(
                    f"cannot listen on {address}: {error.strerror}; choose another address with --address"
                ) from error
            return free_port(address)
        return int(probe.getsockname()[1])


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach an address, given as a name or a number."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def public_address(address: str) -> str:
    """Return the address at which other machines reach this one; 0.0.0.0 has the one of its route to them."""
    with suppress(ValueError):
        if not ip_address(address).is_unspecified:
            return address
        with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(ELSEWHERE)
            return str(probe.getsockname()[0])
        return socket.gethostname()
    return address


def own_names(address: str) -> tuple[str, ...]:
    """Return the names under which a server that listens on an address is reached; more if other machines reach it."""
    names = [address, LOCAL, "localhost"]
    if not is_loopback(address):
        names += [public_address(address), socket.gethostname(), socket.getfqdn()]
        with suppress(OSError):
            names += socket.gethostbyname_ex(socket.gethostname())[2]
    return tuple(dict.fromkeys(names))


def origins_of(name: str, port: int) -> tuple[str, ...]:
    """Return the origins that a further name of the server adds: NAME:PORT, or NAME at this port and behind a proxy.

    Raises: CircuitError for a URL, a pattern or another string that is not a name; ValueRangeError for its port.
    """
    found = re.fullmatch(r"([\w.-]+)(?::([0-9]{1,5}))?", name)
    if found is None:
        raise CircuitError(f"--host expects NAME or NAME:PORT, such as explorer.example; found {name!r}")
    host, own = found[1].lower(), found[2]
    if own is None:
        return tuple(f"{host}:{number}" for number in (port, WEB_PORT))
    _check_range(int(own), "--host")
    return (f"{host}:{int(own)}",)


def _check_range(port: int, option: str) -> None:
    """Raises: ValueRangeError for a number that is not a port; the option named it."""
    if not 1 <= port <= MAX_PORT:
        raise ValueRangeError(f"{option} must name a port from 1 to {MAX_PORT}; found {port}")
