"""Vtrees: binary trees whose leaves are variables; a sentential decision diagram follows one.

Source: Pipatsrisawat and Darwiche 2008, New compilation languages based on structured decomposability.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from explorer.errors import FileFormatError
from explorer.templates.logic.circuit import MAX_VARIABLES
from explorer.templates.logic.lines import Line, read_lines


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
        """Check that the vtree nodes of primes are below the left child of a node, and those of subs below the right.

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
