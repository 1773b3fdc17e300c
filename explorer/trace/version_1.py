"""Titles and kinds of nodes, which trace files of version 1 do not contain."""

from collections.abc import Mapping

from explorer.trace.records import NodeKind, type_title

KINDS: Mapping[str, NodeKind] = {
    **dict.fromkeys(("Sum", "add", "sum"), "sum"),
    **dict.fromkeys(("Hadamard", "Kronecker", "mul"), "product"),
    **dict.fromkeys(("CPT", "Tucker", "TensorDot", "Mixing", "Chain"), "fused"),
    **dict.fromkeys(("Constant", "Parameter"), "leaf"),
}


def title_of_type(type_name: str) -> str:
    """The title of a node: the name of the operator, or of the layer class without what all of them share."""
    if "." in type_name:
        return type_name.split(".")[1]
    return type_title(type_name)


def kind_of_type(type_name: str, has_scope: bool) -> NodeKind:
    """The kind of a node."""
    return "input" if has_scope else KINDS.get(title_of_type(type_name), "operator")
