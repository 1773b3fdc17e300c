"""Reads logic circuits: negation normal forms of c2d (also dsharp, miniC2D) and d4, and files of any known format.

Sources: the manual of c2d; the README of d4.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from explorer.errors import FileFormatError
from explorer.templates.logic.lines import Line, lines_of_bytes, read_lines
from explorer.templates.logic.logic_circuit import LogicCircuit, LogicKind, LogicNode
from explorer.templates.logic.sdd import Vtree, check_literal, parse_sdd

_D4_KINDS = {"o": LogicKind.OR, "a": LogicKind.AND, "t": LogicKind.TRUE, "f": LogicKind.FALSE}


def read_nnf(path: str | Path, *, num_variables: int | None = None) -> LogicCircuit:
    """Read a formula in the format of c2d, which has a header `nnf`, or of d4, which has none.

    A file of d4 does not say how many variables there are: give `num_variables`, or it is the largest in the file.
    Raises: FileFormatError with the line, for anything that is not such a file.
    """
    return parse_nnf(read_lines(path), str(path), num_variables)


def parse_nnf(lines: Iterator[Line], where: str, num_variables: int | None = None) -> LogicCircuit:
    """The formula of these lines, as `read_nnf`."""
    first = next(lines)
    if first.fields[0] == "nnf":
        return _parse_c2d(first, lines, where, num_variables)
    if first.fields[0] in _D4_KINDS:
        return _parse_d4(chain((first,), lines), where, num_variables)
    raise first.error(
        f"expected the header `nnf NODES EDGES VARIABLES` or a node of d4 (o, a, t, f), found {first.fields[0]!r}"
    )


def _parse_c2d(header: Line, lines: Iterator[Line], where: str, num_variables: int | None) -> LogicCircuit:
    announced = header.integers(1)
    if len(announced) != 3 or min(announced) < 0:
        raise header.error(f"expected the header `nnf NODES EDGES VARIABLES`, found {' '.join(header.fields)!r}")
    variables = announced[2]
    if num_variables is not None and num_variables < variables:
        raise header.error(f"the file has {variables} variables; num_variables is {num_variables}")
    nodes: list[LogicNode] = []
    for line in lines:
        nodes.append(_c2d_node(line, len(nodes), variables))
    # Each line has the count of its inputs and the root is the last one, so nothing but nodes can be missing. Compilers
    # announce other numbers of edges: dsharp writes `nnf 1 1 10` above a single literal.
    if len(nodes) < announced[0]:
        raise FileFormatError(
            f"{where}: the header announces {announced[0]:,} nodes, the file has {len(nodes):,}; is it truncated? If "
            f"it is complete, correct its header: nnf {len(nodes)} {announced[1]} {variables}"
        )
    if not nodes:
        raise FileFormatError(f"{where}: a formula has at least one node; found none")
    return LogicCircuit(tuple(nodes), variables if num_variables is None else num_variables)


def _c2d_node(line: Line, number: int, num_variables: int) -> LogicNode:
    kind, numbers = line.fields[0], line.integers(1)
    if kind == "L" and len(numbers) == 1:
        check_literal(line, numbers[0], num_variables)
        return LogicNode(LogicKind.LITERAL, (), numbers[0])
    if kind == "O" and numbers and not 0 <= numbers[0] <= num_variables:
        raise line.error(f"an OR node decides on a variable from 1 to {num_variables}, or 0; found {numbers[0]}")
    counted = numbers[1:] if kind == "O" else numbers
    if kind not in ("A", "O") or not counted or len(counted) != counted[0] + 1:
        raise line.error(
            f"expected L LITERAL, A COUNT INPUTS or O VARIABLE COUNT INPUTS, found {' '.join(line.fields[:6])!r}"
        )
    for source in counted[1:]:
        if not 0 <= source < number:
            raise line.error(f"node {number} reads node {source}, which is not defined above")
    if not counted[0]:
        return LogicNode(LogicKind.TRUE if kind == "A" else LogicKind.FALSE)
    return LogicNode(LogicKind.AND if kind == "A" else LogicKind.OR, tuple(counted[1:]))


@dataclass
class _D4File:
    """The nodes of a file of d4 with the lines that define them, and the arcs that leave each."""

    kinds: dict[int, LogicKind] = field(default_factory=dict[int, LogicKind])
    defined: dict[int, Line] = field(default_factory=dict[int, Line])
    arcs: dict[int, list[tuple[int, list[int], Line]]] = field(
        default_factory=dict[int, list[tuple[int, list[int], Line]]]
    )
    largest: int = 0


def _parse_d4(lines: Iterator[Line], where: str, num_variables: int | None) -> LogicCircuit:
    """An arc `SOURCE TARGET LITERALS 0` is the conjunction of literals and target; the first node is the root."""
    file = _D4File()
    for line in lines:
        _read_d4_line(file, line, num_variables)
    _check_d4(file)
    nodes: list[LogicNode] = []
    literals: dict[int, int] = {}
    names: list[str] = []
    number_of: dict[int, int] = {}
    for name in _d4_order(file):
        inputs: list[int] = []
        for target, found, _ in file.arcs[name]:
            parts: list[int] = []
            for literal in found:
                if literal not in literals:
                    literals[literal] = len(nodes)
                    nodes.append(LogicNode(LogicKind.LITERAL, (), literal))
                    names.append(f"of literal {literal}")
                parts.append(literals[literal])
            if not parts:
                inputs.append(number_of[target])
                continue
            nodes.append(LogicNode(LogicKind.AND, (*parts, number_of[target])))
            names.append(f"{name} (arc to {target})")
            inputs.append(len(nodes) - 1)
        number_of[name] = len(nodes)
        nodes.append(LogicNode(file.kinds[name], tuple(inputs)))
        names.append(str(name))
    return LogicCircuit(tuple(nodes), file.largest if num_variables is None else num_variables, tuple(names))


def _read_d4_line(file: _D4File, line: Line, num_variables: int | None) -> None:
    kind = _D4_KINDS.get(line.fields[0])
    numbers = line.integers(0 if kind is None else 1)
    if len(numbers) < 2 or numbers[-1] != 0:
        raise line.error(f"expected a line that ends with 0, found {' '.join(line.fields[:6])!r}; is it truncated?")
    if kind is not None:
        if len(numbers) != 2 or numbers[0] in file.kinds:
            raise line.error(f"expected the definition of a new node, found {' '.join(line.fields[:6])!r}")
        file.kinds[numbers[0]], file.defined[numbers[0]], file.arcs[numbers[0]] = kind, line, []
        return
    if len(numbers) < 3:
        raise line.error(f"expected an arc `SOURCE TARGET LITERALS 0`, found {' '.join(line.fields)!r}")
    source, target, *literals = numbers[:-1]
    for node in (source, target):
        if node not in file.kinds:
            raise line.error(f"an arc from {source} to {target}: node {node} is not defined above")
    if file.kinds[source] not in (LogicKind.OR, LogicKind.AND):
        raise line.error(f"an arc leaves node {source}, which is the constant {file.kinds[source].value}")
    for literal in literals:
        check_literal(line, literal, num_variables)
    file.largest = max(file.largest, *map(abs, literals), 0)
    file.arcs[source].append((target, literals, line))


def _check_d4(file: _D4File) -> None:
    root = next(iter(file.kinds))
    for name, kind in file.kinds.items():
        if kind in (LogicKind.OR, LogicKind.AND) and not file.arcs[name]:
            raise file.defined[name].error(f"node {name} has no arcs; is the file truncated?")
        for target, _, line in file.arcs[name]:
            if target == root:
                raise line.error(f"an arc enters node {root}, the root")


def _d4_order(file: _D4File) -> list[int]:
    """The nodes that the root needs, each after those that it reads. Raises: FileFormatError for a cycle."""
    root = next(iter(file.kinds))
    order: list[int] = []
    done: set[int] = set()
    path = {root: iter(file.arcs[root])}
    while path:
        name = next(reversed(path))
        for target, _, line in path[name]:
            if target in path:
                raise line.error(f"the arc from {name} to {target} closes a cycle")
            if target not in done:
                path[target] = iter(file.arcs[target])
                break
        else:
            del path[name]
            done.add(name)
            order.append(name)
    return order


LOGIC_SUFFIXES = (".sdd", ".nnf", ".ddnnf")
"""File extensions of logic circuits."""
FOREIGN_LOGIC = {
    "p": "a CNF, which is a formula, not a circuit; compile it with d4 or c2d to an NNF file (.nnf)",
    "psdd": "a PSDD, which cannot be read; name the SDD file (.sdd) that it was made from, and train its probabilities",
    "vtree": "a vtree, which is a tree of variables; name the SDD file (.sdd) that belongs to it",
}
"""Files of logic that are not logic circuits, with advice, by the first word of the file."""


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
