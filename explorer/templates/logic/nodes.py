"""The nodes of logic circuits."""

from enum import Enum
from typing import NamedTuple


class LogicKind(Enum):
    """Kind of a node of a logic circuit."""

    TRUE = "true"
    FALSE = "false"
    LITERAL = "literal"
    AND = "and"
    OR = "or"


class LogicNode(NamedTuple):
    """A node: its kind, the nodes that it reads, and for a literal the variable v as v (true) or -v (false), from 1."""

    kind: LogicKind
    inputs: tuple[int, ...] = ()
    literal: int = 0
