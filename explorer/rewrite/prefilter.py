"""Whether a pattern may match at a node, by the types of the node and of its input alone.

Searches without listeners make only the attempts that may succeed: most sums do not read a sum, and no rule about two
sums needs to look at them.
"""

from dataclasses import fields, is_dataclass
from enum import Enum
from types import NoneType

from explorer.rewrite.patterns import ChainEntry, GraphOptPattern

PLAIN = (int, float, complex, str, bytes, Enum, type, NoneType)
"""Types of values that may be compared with those of fields; comparing arrays or tensors may raise an error."""


def may_match(pattern: GraphOptPattern, root: type, below: type | None) -> bool:
    """Whether an attempt at a node of the type `root` may match, or raise the error of a condition.

    `below` is the type of the node's only input; None: it has several or none.
    """
    first, *others = pattern.chain
    if not first.accepts(root):
        return False
    if not others or not _compares_fields(first, root):
        return True
    return below is not None and others[0].accepts(below)


def _compares_fields(entry: ChainEntry, kind: type) -> bool:
    """Whether an entry asks only whether dataclass fields of this type equal numbers, strings or other plain values."""
    computed = {name for base in kind.__mro__ for name, value in vars(base).items() if isinstance(value, property)}
    known = {one.name for one in fields(kind) if one.init} if is_dataclass(kind) else set[str]()
    return not entry.sub_patterns and all(
        isinstance(condition, PLAIN) and name in known - computed for name, condition in entry.conditions
    )
