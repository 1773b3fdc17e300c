"""Versioned JSON files, plain or gzip by extension: what circuits, region graphs and traces have in common.

And files that are replaced as a whole, such as checkpoints.
"""

import gzip
import io
import json
import os
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

from explorer.errors import FileFormatError

GZIP_MAGIC = b"\x1f\x8b"


def write_json(data: Mapping[str, Any], path: "str | Path") -> None:
    """Write data, compressed if the name ends in .gz; a missing folder is created. Equal data result in equal bytes.

    Raises: FileFormatError if the file cannot be written.
    """
    raw = json.dumps(data, separators=(",", ":")).encode()
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(gzip.compress(raw, compresslevel=6, mtime=0) if str(path).endswith(".gz") else raw)
    except OSError as error:
        raise FileFormatError(f"cannot write {path}: {error.strerror}") from error


def replace_file(path: "str | Path", write: Callable[[BinaryIO], object]) -> None:
    """Write a file; an existing one is replaced only when the new one is complete and on the disk.

    A missing folder is created.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def read_json(path: "str | Path", wanted: str) -> Mapping[str, Any]:
    """Read the JSON object of a file, plain or gzip; `wanted` names the format in messages.

    Raises: FileFormatError.
    """
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise FileFormatError(f"cannot read {path}: {error.strerror}") from error
    return json_of_bytes(raw, wanted, str(path))


def json_of_bytes(raw: bytes, wanted: str, where: str, max_bytes: int | None = None) -> Mapping[str, Any]:
    """Parse the JSON object in these bytes, plain or gzip; `max_bytes` limits its size after unpacking.

    Raises: FileFormatError.
    """
    try:
        data: object = json.loads(_unpack(raw, where, max_bytes) if raw.startswith(GZIP_MAGIC) else raw)
    except (ValueError, OSError, EOFError, zlib.error, RecursionError) as error:
        raise FileFormatError(f"{where} is not a {wanted} file, or it is truncated: {error}") from error
    if not isinstance(data, dict):
        raise FileFormatError(f"{where} is not a {wanted} file: it contains a {type(data).__name__}")
    return cast("Mapping[str, Any]", data)


def _unpack(raw: bytes, where: str, max_bytes: int | None) -> bytes:
    if max_bytes is None:
        return gzip.decompress(raw)
    with gzip.GzipFile(fileobj=io.BytesIO(raw)) as packed:
        data = packed.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise FileFormatError(f"{where} unpacks to more than {max_bytes // 2**20} MB, the limit for this file")
    return data


def check_format(data: object, wanted: str, version: int, where: str) -> Mapping[str, Any]:
    """Return the data if it has this format, in no newer version. Raises: FileFormatError."""
    if not isinstance(data, dict):
        raise FileFormatError(f"{where}: expected format {wanted!r}, found a {type(data).__name__}")
    content = cast("Mapping[str, Any]", data)
    if content.get("format") != wanted:
        raise FileFormatError(f"{where}: expected format {wanted!r}, found {content.get('format')!r}")
    found = content.get("version")
    if type(found) is not int or not 1 <= found <= version:
        raise FileFormatError(
            f"{where}: this program reads {wanted} version {version}; found {found!r}: use a newer program"
        )
    return content
