"""How a trace shows operators: their kinds, each with a colour of its own, their titles and settings."""

from typing import Any

from torch._ops import OpOverload

from explorer.backend import TorchLayer
from explorer.graph import subclasses
from explorer.tensor.facts.shapes import MOVES
from explorer.tensor.torch_io.whole_layers import NAMESPACE
from explorer.trace import NodeKind
from explorer.trace.records import type_title

CONTRACTIONS = {
    *("matmul", "mm", "bmm", "mv", "dot", "linear", "addmm", "addbmm", "baddbmm", "einsum"),
    *("convolution", "conv1d", "conv2d", "conv3d"),
}
"""Operators that multiply matrices, or convolve."""
COLLECTING = {
    *("split", "split_with_sizes", "unbind", "chunk", "unfold", "diagonal"),
    *("cat", "stack", "index", "index_select", "gather", "repeat_interleave", "roll", "flip"),
}
"""Operators that return parts of a tensor, or collect numbers of one or several tensors, in another order or twice."""
MOVED = COLLECTING | {op._schema.name.rpartition("::")[2] for op in MOVES}


def look_of(target: OpOverload) -> tuple[NodeKind, str]:
    """The kind and the title of an operator, or of a layer if it is a whole layer of a circuit."""
    name = target._schema.name.rpartition("::")[2]
    if target.namespace == NAMESPACE:
        kinds: dict[str, NodeKind] = {layer.__name__: layer.kind for layer in subclasses(TorchLayer)}
        return kinds.get(name, "operator"), type_title(name)
    return kind_of(name), name


def kind_of(name: str) -> NodeKind:
    """The kind of an operator that is no whole layer, by its name: `addmm`."""
    return "matmul" if name in CONTRACTIONS else "view" if name in MOVED else "operator"


def plain_setting(value: Any) -> Any:
    """A setting of an operator as JSON has it: tuples as lists, other objects as text."""
    if isinstance(value, tuple | list):
        return [plain_setting(item) for item in value]
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)
