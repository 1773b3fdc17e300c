"""Limits on messages of a page: a small one must not become a large object, nor many fragments a large message."""

from typing import Any

import bokeh.server.views.ws
from bokeh.core.serialization import Deserializer
from bokeh.protocol.exceptions import ProtocolError
from bokeh.protocol.message import Message
from bokeh.protocol.receiver import Receiver

from explorer.app.session.library import MAX_UPLOAD_BYTES

MAX_MESSAGE_BYTES = MAX_UPLOAD_BYTES + MAX_UPLOAD_BYTES // 2
"""Maximum size of a message with all its buffers: a page may send all chunks of an upload in one."""
FRAGMENT_BYTES = 1024
"""What is counted for a fragment besides its content, so that many empty ones reach the limit too."""


def limit_messages() -> None:
    """Refuse large messages and compressed bytes, of which 1.5 MB unpack to more than 1 GB. Pages send bytes as is."""
    bokeh.server.views.ws.Receiver = LimitedReceiver  # pyright: ignore[reportPrivateImportUsage]
    if "bytes" not in Deserializer._decoders:
        Deserializer.register("bytes", _decode_bytes)


class LimitedReceiver(Receiver):
    """Receiver that counts the fragments of a message. Bokeh's own one keeps as many buffers as a header announces.

    Raises: ProtocolError for a fragment beyond the limit, and for all later ones; Bokeh then closes the connection.
    """

    _num_bytes = 0

    async def consume(self, fragment: str | bytes) -> Message[Any] | None:
        """Add a fragment; return the message that it completes."""
        self._num_bytes += len(fragment) + FRAGMENT_BYTES
        if self._num_bytes > MAX_MESSAGE_BYTES:
            self._partial, self._fragments = None, []
            raise ProtocolError(f"a message has more than {MAX_MESSAGE_BYTES // 2**20} MiB")
        message = await super().consume(fragment)
        if message is not None:
            self._num_bytes = 0
        return message


def _decode_bytes(sent: Any, deserializer: Deserializer) -> Any:
    if isinstance(sent["data"], str):
        deserializer.error("compressed bytes are not read; send a buffer")
    return deserializer._decode_bytes(sent)
