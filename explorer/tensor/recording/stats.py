"""Statistics of a tensor graph: operators, constants, elements, bytes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from explorer.tensor.ir.types import TensorType
from explorer.tensor.ir.variables import Apply, Constant

if TYPE_CHECKING:
    from explorer.tensor.recording.snapshot import GraphState


def stats(state: "GraphState") -> Mapping[str, int]:
    """Operators, constants, parameters (numbers in constants) and bytes that operators write."""
    values = [node.value for node in state.nodes.values()]
    applied = [value for value in values if isinstance(value, Apply)]
    constants = [value for value in values if isinstance(value, Constant)]
    written = [v.type.size_bytes for node in applied for v in node.outputs if isinstance(v.type, TensorType)]
    return {
        "operators": len(applied),
        "constants": len(constants),
        "parameters": sum(value.data.numel() for value in constants),
        "activation_bytes": sum(written),
    }
