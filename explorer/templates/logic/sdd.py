"""Reads sentential decision diagrams and their vtrees: files of the SDD package.

Sources: Darwiche 2011, SDD: A new canonical representation of propositional knowledge bases; Pipatsrisawat and Darwiche
2008, New compilation languages based on structured decomposability; the package's file format.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from explorer.errors import FileFormatError
from explorer.templates.logic.lines import Line, read_lines
from explorer.templates.logic.logic_circuit import MAX_VARIABLES, LogicCircuit, LogicKind, LogicNode


@dataclass(frozen=True)
class Vtree:
    """A vtree: `leaves` are the variables of its leaves by node, `children` the two children of each other node.

    The variables are 1 .. num_variables, each at one leaf. Read one with `read_vtree`.
    """

    leaves: Mapping[int, int]
    children: Mapping[int, tuple[int, int]]

    @property
    def num_variables(self) -> int:
        """The number of leaves."""
        return len(self.leaves)

    def variable(self, line: Line, node: int) -> int | None:
        """The variable of a leaf; None for an inner node. Raises: FileFormatError for an unknown node."""
        if node in self.leaves:
            return self.leaves[node]
        if node not in self.children:
            raise line.error(f"the vtree has no node {node}")
        return None

    def check_decision(self, line: Line, node: int, primes: Sequence[int], subs: Sequence[int]) -> None:
        """Check that the vtree nodes of primes are below the left child of a node, and of subs below the right.

        Raises: FileFormatError.
        """
        if self.variable(line, node) is not None:
            raise line.error(f"a decision node is at vtree node {node}, which is a leaf")
        for side, child, found in zip(("prime", "sub"), self.children[node], (primes, subs), strict=True):
            first, last = self._span[child]
            for place in found:
                if not first <= self._span[place][0] <= self._span[place][1] <= last:
                    raise line.error(
                        f"a {side} at vtree node {place} is not below vtree node {child}, the "
                        f"{'left' if side == 'prime' else 'right'} child of {node}"
                    )

    @cached_property
    def _span(self) -> Mapping[int, tuple[int, int]]:
        """The positions of the first and the last leaf below each node, from left to right."""
        below = {child for pair in self.children.values() for child in pair}
        root = next(node for node in (*self.children, *self.leaves) if node not in below)
        span: dict[int, tuple[int, int]] = {}
        waiting, count = [root], 0
        while waiting:
            node = waiting[-1]
            if node in self.leaves:
                span[node] = (count, count)
                count += 1
                waiting.pop()
                continue
            unknown = [child for child in self.children[node] if child not in span]
            if unknown:
                waiting.append(unknown[0])
                continue
            left, right = self.children[node]
            span[node] = (span[left][0], span[right][1])
            waiting.pop()
        return span


def read_vtree(path: str | Path) -> Vtree:
    """Read a vtree file of the SDD package.

    Raises: FileFormatError with the line, for anything that is not such a file.
    """
    return parse_vtree(read_lines(path), str(path))


def parse_vtree(lines: Iterator[Line], where: str) -> Vtree:
    """The vtree of these lines, as `read_vtree`."""
    header = next(lines)
    if header.fields[0] != "vtree" or len(header.fields) != 2:
        raise header.error(f"expected the header `vtree NODES`, found {' '.join(header.fields[:4])!r}")
    announced = header.integers(1)[0]
    leaves: dict[int, int] = {}
    children: dict[int, tuple[int, int]] = {}
    free: set[int] = set()
    variables: set[int] = set()
    for line in lines:
        kind, numbers = line.fields[0], line.integers(1)
        wanted = {"L": 2, "I": 3}.get(kind)
        if len(numbers) != wanted:
            raise line.error(f"expected L ID VARIABLE or I ID LEFT RIGHT, found {' '.join(line.fields[:5])!r}")
        node = numbers[0]
        if node in leaves or node in children:
            raise line.error(f"vtree node {node} is already defined")
        if kind == "L":
            if not 1 <= numbers[1] <= MAX_VARIABLES or numbers[1] in variables:
                raise line.error(f"a leaf has a variable from 1 on that no other leaf has; found {numbers[1]}")
            leaves[node] = numbers[1]
            variables.add(numbers[1])
        else:
            for child in numbers[1:]:
                if child not in free:
                    raise line.error(f"node {node} needs child {child}, which is not defined above or has a parent")
                free.discard(child)
            children[node] = (numbers[1], numbers[2])
        free.add(node)
    if len(leaves) + len(children) != announced:
        raise FileFormatError(
            f"{where}: the header announces {announced} nodes, the file has {len(leaves) + len(children)}; "
            "is it truncated?"
        )
    if len(free) != 1:
        raise FileFormatError(f"{where}: a vtree has one root; found {len(free)}")
    if max(variables) != len(variables):
        raise FileFormatError(f"{where}: {len(variables)} leaves need the variables 1 to {len(variables)}")
    return Vtree(leaves, children)


_CONSTANTS = {"T": LogicKind.TRUE, "F": LogicKind.FALSE}


def read_sdd(path: str | Path, vtree: Vtree | None = None, *, num_variables: int | None = None) -> LogicCircuit:
    """Read a diagram; its root is the last node of the file.

    A decision node with elements (p1, s1), (p2, s2) ... becomes (p1 and s1) or (p2 and s2) ... The number of variables
    is the vtree's if it is given, else `num_variables`, else the largest variable in the file: a diagram does not
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
