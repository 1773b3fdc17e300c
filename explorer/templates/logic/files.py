"""Reads a logic circuit from a file of any known format, which its first line tells."""

from itertools import chain
from pathlib import Path

from explorer.errors import FileFormatError
from explorer.templates.logic.circuit import LogicCircuit
from explorer.templates.logic.lines import read_lines
from explorer.templates.logic.nnf import parse_nnf
from explorer.templates.logic.sdd import parse_sdd
from explorer.templates.logic.vtree import Vtree

LOGIC_SUFFIXES = (".sdd", ".nnf", ".ddnnf")
"""How the names of files with logic circuits end."""


def read_logic(path: str | Path, vtree: Vtree | None = None, *, num_variables: int | None = None) -> LogicCircuit:
    """Read an SDD, or an NNF of c2d or d4; see `read_sdd` and `read_nnf`.

    Raises: FileFormatError with the line, for any other file, and for a vtree with an NNF.
    """
    lines = read_lines(path)
    first = next(lines)
    lines = chain((first,), lines)
    if first.fields[0] == "sdd":
        return parse_sdd(lines, str(path), vtree, num_variables)
    if vtree is not None:
        raise FileFormatError(
            f"{path}: a vtree belongs to an SDD file; found {first.fields[0]!r} in line {first.number}"
        )
    return parse_nnf(lines, str(path), num_variables)
