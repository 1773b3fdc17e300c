"""Limits on the messages of a page: a small one must not become a large object."""

from typing import Any

from bokeh.core.serialization import Deserializer


def refuse_compressed_bytes() -> None:
    """Refuse compressed bytes in messages: 1.5 MB unpack to more than 1 GB. Pages send bytes as they are."""
    if "bytes" not in Deserializer._decoders:
        Deserializer.register("bytes", _decode_bytes)


def _decode_bytes(sent: Any, deserializer: Deserializer) -> Any:
    if isinstance(sent["data"], str):
        deserializer.error("compressed bytes are not read; send a buffer")
    return deserializer._decode_bytes(sent)
