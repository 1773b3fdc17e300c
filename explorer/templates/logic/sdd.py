"""Reads sentential decision diagrams: files of the SDD package, with their vtree if there is one.

Source: Darwiche 2011, SDD: A new canonical representation of propositional knowledge bases; the package's file format.
"""

from collections.abc import Iterator
from pathlib import Path

from explorer.errors import FileFormatError
from explorer.templates.logic.circuit import MAX_VARIABLES, LogicCircuit
from explorer.templates.logic.lines import Line, read_lines
from explorer.templates.logic.nodes import LogicKind, LogicNode
from explorer.templates.logic.vtree import Vtree

_CONSTANTS = {"T": LogicKind.TRUE, "F": LogicKind.FALSE}


def read_sdd(path: str | Path, vtree: Vtree | None = None, *, num_variables: int | None = None) -> LogicCircuit:
    """Read a diagram; its root is the last node of the file.

    A decision node with elements (p1, s1), (p2, s2) ... becomes (p1 and s1) or (p2 and s2) ... The number of variables
    is that of the vtree if it is given, else `num_variables`, else the largest variable in the file: a diagram does not
    mention variables that its formula does not depend on. With a vtree, it is checked that the nodes follow it.
    Raises: FileFormatError with the line, for anything that is not such a file.
    """
    return parse_sdd(read_lines(path), str(path), vtree, num_variables)


def parse_sdd(
    lines: Iterator[Line], where: str, vtree: Vtree | None = None, num_variables: int | None = None
) -> LogicCircuit:
    """The diagram of these lines, as `read_sdd`."""
    header = next(lines)
    if header.fields[0] != "sdd" or len(header.fields) != 2:
        raise header.error(f"expected the header `sdd NODES`, found {' '.join(header.fields[:4])!r}")
    announced = header.integers(1)[0]
    reader = _Reader(vtree, vtree.num_variables if vtree else num_variables)
    for line in lines:
        reader.read(line)
    if len(reader.number_of) != announced:
        raise FileFormatError(
            f"{where}: the header announces {announced} nodes, the file has {len(reader.number_of)}; is it truncated?"
        )
    if not reader.nodes:
        raise FileFormatError(f"{where}: an SDD has at least one node; found none")
    return reader.circuit(where)


class _Reader:
    """The nodes that were read so far, and the number of each SDD node in the circuit."""

    def __init__(self, vtree: Vtree | None, num_variables: int | None) -> None:
        self.nodes: list[LogicNode] = []
        self.names: list[str] = []
        self.number_of: dict[int, int] = {}
        self._vtree = vtree
        self._num_variables = num_variables
        self._largest = 0
        self._place: dict[int, int] = {}

    def read(self, line: Line) -> None:
        """Add the node of a line."""
        kind, numbers = line.fields[0], line.integers(1)
        if kind not in ("T", "F", "L", "D"):
            raise line.error(f"a node is F, T, L or D; found {kind!r}")
        if not numbers:
            raise line.error("expected the id of a node, found the end of the line")
        if numbers[0] in self.number_of:
            raise line.error(f"node {numbers[0]} is already defined")
        if kind == "D":
            self._read_decision(line, numbers)
        elif kind == "L":
            self._read_literal(line, numbers)
        else:
            _check_count(line, numbers, 1, f"{kind} ID")
            self._add(LogicNode(_CONSTANTS[kind]), str(numbers[0]))
        self.number_of[numbers[0]] = len(self.nodes) - 1

    def circuit(self, where: str) -> LogicCircuit:
        """The circuit of all nodes; the root is the last one."""
        num_variables = self._largest if self._num_variables is None else self._num_variables
        return LogicCircuit(tuple(self.nodes), num_variables, tuple(self.names))

    def _read_literal(self, line: Line, numbers: list[int]) -> None:
        _check_count(line, numbers, 3, "L ID VTREE LITERAL")
        node, place, literal = numbers
        check_literal(line, literal, self._num_variables)
        if self._vtree is not None and self._vtree.variable(line, place) != abs(literal):
            raise line.error(f"literal {literal} is at vtree node {place}, which is not the leaf of its variable")
        self._largest = max(self._largest, abs(literal))
        self._place[node] = place
        self._add(LogicNode(LogicKind.LITERAL, (), literal), str(node))

    def _read_decision(self, line: Line, numbers: list[int]) -> None:
        if len(numbers) < 5 or numbers[2] < 1 or len(numbers) != 3 + 2 * numbers[2]:
            raise line.error(
                f"expected D ID VTREE ELEMENTS and then PRIME SUB for each element, found {len(numbers)} numbers"
            )
        node, place = numbers[:2]
        elements = list(zip(numbers[3::2], numbers[4::2], strict=True))
        for pair in elements:
            for source in pair:
                if source not in self.number_of:
                    raise line.error(f"decision node {node} reads node {source}, which is not defined above")
        if self._vtree is not None:
            places = [[self._place[x] for x in side if x in self._place] for side in zip(*elements, strict=True)]
            self._vtree.check_decision(line, place, *places)
        self._place[node] = place
        products: list[int] = []
        for element, (prime, sub) in enumerate(elements, 1):
            both = LogicNode(LogicKind.AND, (self.number_of[prime], self.number_of[sub]))
            self._add(both, f"{node} (element {element})")
            products.append(len(self.nodes) - 1)
        self._add(LogicNode(LogicKind.OR, tuple(products)), str(node))

    def _add(self, node: LogicNode, name: str) -> None:
        self.nodes.append(node)
        self.names.append(name)


def check_literal(line: Line, literal: int, num_variables: int | None) -> None:
    """Raises: FileFormatError if there is no such variable."""
    most = MAX_VARIABLES if num_variables is None else num_variables
    if not 1 <= abs(literal) <= most:
        raise line.error(f"literal {literal} is out of range: variables are 1 to {most:,}, negative if false")


def _check_count(line: Line, numbers: list[int], wanted: int, form: str) -> None:
    if len(numbers) != wanted:
        raise line.error(f"expected {form}, found {len(numbers)} numbers")
