"""Whether a pattern may match at a node, by the types of the node and of its input alone.

Searches without listeners make only the attempts that may succeed: most sums do not read a sum, and no rule about two
sums needs to look at them.
"""

from explorer.rewrite.patterns import ChainEntry, Condition, GraphOptPattern


def may_match(pattern: GraphOptPattern, root: type, below: type | None) -> bool:
    """Whether an attempt at a node of the type `root` may match or raise an error.

    `below` is the type of the node's only input; None: it has several or none.
    """
    first, *others = pattern.chain
    if not first.accepts(root):
        return False
    if not others or not _compares_fields(first, root):
        return True
    return below is not None and others[0].accepts(below)


def _compares_fields(entry: ChainEntry, kind: type) -> bool:
    """Whether an entry asks only whether dataclass fields of this type equal given values, which raises nothing."""
    known = getattr(kind, "__dataclass_fields__", ())
    return not entry.sub_patterns and all(
        not isinstance(condition, Condition) and name in known for name, condition in entry.conditions
    )
