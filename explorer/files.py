"""Files: written as a whole or not at all; and versioned JSON, plain or gzip by extension.

Circuits, region graphs and traces are such JSON files. `replace_file` is the only function of this package that writes
a file of the user.
"""

import errno
import gc
import gzip
import io
import json
import os
import re
import secrets
import stat
import sys
import zlib
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from explorer.errors import FileFormatError

GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"
MAX_UNPACKED_BYTES = 512 * 2**20
"""The most bytes that are unpacked from a file: a small one might unpack to more than there is memory for."""
MAX_VARIABLE = 2**20 - 1
"""The largest number of a variable: rows have a column, and pictures a cell, for each number up to it."""
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
"""The start of half a character in JSON; only pairs of halves can be written."""


def write_json(data: Mapping[str, Any], path: "str | Path") -> None:
    """Write data, compressed if the name ends in .gz; a missing folder is created. Equal data result in equal bytes.

    Raises: FileFormatError if the file cannot be written.
    """
    raw = json.dumps(data, separators=(",", ":")).encode()
    replace_file(path, gzip.compress(raw, compresslevel=6, mtime=0) if str(path).endswith(".gz") else raw)


def replace_file(path: "str | Path", content: "bytes | Callable[[BinaryIO], object]") -> None:
    """Write a file as a whole: an existing one stays as it is until the new one is complete and on the disk.

    `content` is the bytes, or a function that writes them. A missing folder is created. The new file has the
    permissions and, if possible, the owner of the old one. A symbolic link stays, and the file that it names is
    replaced. Devices and pipes, such as /dev/stdout, are written directly.
    Raises: FileFormatError with the name of the file and the reason if it cannot be written.
    """
    try:
        old = _allowed(path)
        if old is not None and not stat.S_ISREG(old.st_mode):
            with _Output(io.FileIO(path, "w")) as file:
                _write(file, content)
            return
        target, part = _new_part(path)
        try:
            with _Output(io.FileIO(part, "x")) as file:
                if old is not None:
                    _copy_permissions(old, file.fileno())
                _write(file, content)
                file.flush()
                os.fsync(file.fileno())
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise _not_written(path, error) from error


@contextmanager
def hold_folder(path: "str | Path") -> Generator[None, None, None]:
    """Hold the folder of a file between a check of the file and its replacement; other processes wait to hold it.

    The end of the process releases it. Where folders cannot be locked (Windows, some network folders), nothing waits.
    """
    handle = _lock(Path(os.path.realpath(path)).parent)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def check_writable(path: "str | Path") -> None:
    """Check that `replace_file` can write this file, and create its folder. Raises: FileFormatError."""
    try:
        old = _allowed(path)
        if old is None or stat.S_ISREG(old.st_mode):
            _, part = _new_part(path)
            try:
                io.FileIO(part, "x").close()
            finally:
                part.unlink(missing_ok=True)
    except OSError as error:
        raise _not_written(path, error) from error


class _Output(io.BufferedWriter):
    """A file that remembers why it could not be written, since torch raises an error without the reason."""

    problem: OSError | None = None

    def write(self, buffer: Any, /) -> int:
        try:
            return super().write(buffer)
        except OSError as error:
            self.problem = self.problem or error
            raise


def _write(file: _Output, content: "bytes | Callable[[BinaryIO], object]") -> None:
    if isinstance(content, bytes):
        file.write(content)
        return
    try:
        content(cast("BinaryIO", file))
    except Exception:
        if file.problem is None:
            raise
        raise file.problem from None


def _allowed(path: "str | Path") -> os.stat_result | None:
    """The status of the file that is to be written; None if there is none. Raises: OSError if it is not writable."""
    try:
        found = Path(path).stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return found


def _new_part(path: "str | Path") -> tuple[Path, Path]:
    """The file that a path leads to, and a new name beside it; its folder is created."""
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    return target, target.with_name(f"{target.name[:40]}.{secrets.token_hex(4)}.part")


def _lock(folder: Path) -> int | None:
    """Open a folder and lock it. No file is locked: one that is made to be locked would be there for others to read."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    with suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_EX)
    return handle


def _copy_permissions(old: os.stat_result, file: int) -> None:
    if not hasattr(os, "fchown"):
        return
    with suppress(PermissionError):  # only an administrator can give files away
        os.fchown(file, old.st_uid, old.st_gid)
    os.fchmod(file, stat.S_IMODE(old.st_mode))


def _not_written(path: "str | Path", error: OSError) -> FileFormatError:
    return FileFormatError(f"cannot write {path}: {error.strerror or error}")


def read_json(path: "str | Path", wanted: str) -> Mapping[str, Any]:
    """Read the JSON object of a file, plain or gzip; `wanted` names the format in messages.

    Raises: FileFormatError.
    """
    return json_of_bytes(read_bytes(path), wanted, str(path))


def read_bytes(path: "str | Path") -> bytes:
    """Return the content of a file. Raises: FileFormatError with the name of the file and the reason."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise FileFormatError(f"cannot read {path}: {error.strerror}") from error


def json_of_bytes(
    raw: bytes, wanted: str, where: str, max_bytes: int | None = None, max_values: int | None = None
) -> Mapping[str, Any]:
    """Parse the JSON object in these bytes, plain or gzip, of at most `max_bytes` after unpacking.

    A text of more than `max_values` values is not parsed: each takes up to 200 bytes, and no thread runs meanwhile.
    Raises: FileFormatError.
    """
    if raw.startswith(ZIP_MAGIC):
        raise FileFormatError(f"{where} is not a {wanted} file but an archive; explorer.load reads checkpoints")
    try:
        plain = unpack(raw, wanted, where, max_bytes or MAX_UNPACKED_BYTES)
        if max_values is not None and count_values(plain) > max_values:
            raise FileFormatError(f"{where} has more than {max_values:,} values, the limit for this file")
        with _paused_collector():
            data: object = json.loads(plain.decode(json.detect_encoding(plain)))
        if SURROGATE.search(plain):
            json.dumps(data, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{where} is not a {wanted} file, or it is truncated: {error}") from error
    except MemoryError as error:
        raise FileFormatError(f"{where} needs more memory than there is") from error
    if not isinstance(data, dict):
        raise FileFormatError(f"{where} is not a {wanted} file: it contains a {type(data).__name__}")
    return cast("Mapping[str, Any]", data)


@contextmanager
def _paused_collector() -> Generator[None, None, None]:
    """Collect no garbage: parsed JSON has none, and looking for it takes four times as long as parsing."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def count_values(text: bytes) -> int:
    """Return how many values and keys a JSON text has, or more: marks that begin or follow one, also in strings."""
    return sum(text.count(mark) for mark in (b",", b":", b"[", b"{"))


def unpack(raw: bytes, wanted: str, where: str, max_bytes: int) -> bytes:
    """Return these bytes, unpacked if they are of a gzip file.

    Raises: FileFormatError if they are damaged, or unpack to more than `max_bytes`; no more is unpacked.
    """
    if not raw.startswith(GZIP_MAGIC):
        return raw
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as packed:
            data = packed.read(max_bytes + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise FileFormatError(f"{where} is not a {wanted} file, or it is truncated: {error}") from error
    if len(data) > max_bytes:
        raise FileFormatError(f"{where} unpacks to more than {max_bytes // 2**20} MB, the limit for this file")
    return data


def check_format(data: object, wanted: str, version: int, where: str) -> Mapping[str, Any]:
    """Return the data if it has this format and version. Raises: FileFormatError."""
    if not isinstance(data, dict):
        raise FileFormatError(f"{where}: expected format {wanted!r}, found a {type(data).__name__}")
    content = cast("Mapping[str, Any]", data)
    if content.get("format") != wanted:
        raise FileFormatError(f"{where}: expected format {wanted!r}, found {content.get('format')!r}")
    found = content.get("version")
    if type(found) is not int or found != version:
        advice = "make the file again" if type(found) is int and found < version else "use a newer program"
        raise FileFormatError(f"{where}: this program reads {wanted} version {version}; found {found!r}: {advice}")
    return content
