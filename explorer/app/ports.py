"""Ports on which a server may listen."""

import socket

from explorer.errors import CircuitError

LOCAL = "127.0.0.1"
"""The address that only this machine reaches."""


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
