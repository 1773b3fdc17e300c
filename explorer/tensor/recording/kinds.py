"""The kinds of operators, each with a colour of its own: those that do most of the work, and those that do none."""

from explorer.tensor.facts.shapes import MOVES
from explorer.trace import NodeKind

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


def kind_of(name: str) -> NodeKind:
    """Return the kind of an operator by its name in ATen, without the overload."""
    return "matmul" if name in CONTRACTIONS else "view" if name in MOVED else "operator"
