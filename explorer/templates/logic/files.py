"""Reads a logic circuit from a file of any known format, which its first line tells."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from explorer.errors import FileFormatError
from explorer.templates.logic.circuit import LogicCircuit
from explorer.templates.logic.lines import Line, lines_of_bytes, read_lines
from explorer.templates.logic.nnf import parse_nnf
from explorer.templates.logic.sdd import parse_sdd
from explorer.templates.logic.vtree import Vtree

LOGIC_SUFFIXES = (".sdd", ".nnf", ".ddnnf")
"""How the names of files with logic circuits end."""
FOREIGN_LOGIC = {
    "p": "a CNF, which is a formula, not a circuit; compile it with d4 or c2d to an NNF file (.nnf)",
    "psdd": "a PSDD, which cannot be read; name the SDD file (.sdd) that it was made from, and train its probabilities",
    "vtree": "a vtree, which is a tree of variables; name the SDD file (.sdd) that belongs to it",
}
"""What a file of logic is that is not a logic circuit, and what helps, by the first word of the file."""


def read_logic(path: str | Path, vtree: Vtree | None = None, *, num_variables: int | None = None) -> LogicCircuit:
    """Read an SDD, or an NNF of c2d or d4; see `read_sdd` and `read_nnf`.

    Raises: FileFormatError with the line, for any other file, and for a vtree with an NNF.
    """
    return _parse(read_lines(path), str(path), vtree, num_variables)


def logic_of_bytes(raw: bytes, where: str) -> LogicCircuit:
    """The logic circuit in the bytes of a file, as `read_logic`. Raises: FileFormatError."""
    return _parse(lines_of_bytes(raw, where), where, None, None)


def _parse(lines: Iterator[Line], where: str, vtree: Vtree | None, num_variables: int | None) -> LogicCircuit:
    first = next(lines)
    lines = chain((first,), lines)
    if first.fields[0] == "sdd":
        return parse_sdd(lines, where, vtree, num_variables)
    if first.fields[0] in FOREIGN_LOGIC:
        raise FileFormatError(f"{where} seems to be {FOREIGN_LOGIC[first.fields[0]]}")
    if vtree is not None:
        raise FileFormatError(
            f"{where}: a vtree belongs to an SDD file; found {first.fields[0]!r} in line {first.number}"
        )
    return parse_nnf(lines, where, num_variables)
