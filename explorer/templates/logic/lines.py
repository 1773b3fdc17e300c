"""The lines of a text file of numbers, with errors that name file and line."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from explorer.errors import FileFormatError
from explorer.files import read_bytes

MAX_NUMBER = 2**31 - 1
"""Largest absolute number in a file, as in the compilers that write them."""


@dataclass(frozen=True)
class Line:
    """The fields of a line that are separated by blanks, and where the line is."""

    where: str
    number: int
    fields: tuple[str, ...]

    def integers(self, start: int = 0) -> list[int]:
        """The fields from a position on, as integers. Raises: FileFormatError."""
        found: list[int] = []
        for text in self.fields[start:]:
            digits = text[1:] if text.startswith("-") else text
            if not (digits.isascii() and digits.isdigit()) or len(digits) > 10 or int(digits) > MAX_NUMBER:
                raise self.error(f"expected an integer of up to {MAX_NUMBER:,}, found {text!r}")
            found.append(int(text))
        return found

    def error(self, message: str) -> FileFormatError:
        """Make an error about this line."""
        return FileFormatError(f"{self.where}, line {self.number}: {message}")


def read_lines(path: str | Path) -> Iterator[Line]:
    """The lines of a file that are neither empty nor comments (first field `c`).

    Raises: FileFormatError if the file cannot be read, is not text, or has no lines.
    """
    return lines_of_bytes(read_bytes(path), str(path))


def lines_of_bytes(raw: bytes, where: str) -> Iterator[Line]:
    """The lines of the text in these bytes, as `read_lines`. Raises: FileFormatError."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{where} is not a text file: byte {error.start} is not UTF-8") from error
    found = False
    for number, line in enumerate(text.splitlines(), start=1):
        fields = tuple(line.split())
        if fields and fields[0] != "c":
            found = True
            yield Line(where, number, fields)
    if not found:
        raise FileFormatError(f"{where} is empty")
