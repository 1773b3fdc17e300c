"""What trace files of version 1 lack, titles and kinds of nodes, and what they call by another name."""

from collections.abc import Mapping
from typing import Any

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


def with_new_names(step: Mapping[str, Any]) -> Mapping[str, Any]:
    """The row of a step with the names of version 2: `stats` was `figures`, and `parameter_path` was `place`."""
    if "stats" in step:
        return step
    refusals = [{**refusal, "parameter_path": refusal.get("place", "")} for refusal in step["refusals"]]
    return {**step, "stats": step["figures"], "refusals": refusals}
