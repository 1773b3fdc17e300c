"""Select before computing: a part of a result is computed from parts of the inputs.

The whole result must have no other users, and kernels may round a part differently than the same numbers in the
middle of the whole.
"""

from collections.abc import Callable

import torch

from explorer.tensor.facts import (
    BINARY,
    BINARY_COMPUTING,
    PARTS,
    UNARY,
    Slice,
    axes_of,
    axis_of,
    known_tensor,
    only_user,
    owned_by,
    read_once,
    reapply,
    replace_with,
    reshape,
    shape_of,
    slice_axis,
    slice_of,
    without_copy,
)
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.ops import SLOT, call
from explorer.tensor.ir.schemas import PythonNumber, aten, overloads
from explorer.tensor.ir.variables import Apply, Constant, Variable
from explorer.tensor.rules.families import canonical
from explorer.tensor.rules.reductions import REDUCTIONS, reduced_axes

ELEMENTWISE = (
    *(*UNARY, *BINARY, *BINARY_COMPUTING),
    *overloads("where.self logaddexp addcmul addcdiv bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor"),
)
"""Operators that compute each number from the numbers at its position, after broadcasting."""

SELECTIONS = (*PARTS, aten.index_select.default)
OTHER_USERS = "the whole result has other users"

ALONG = overloads("softmax.int log_softmax.int _softmax _log_softmax cumsum cumprod")
"""Operators along one axis that keep the shape."""

PRODUCTS = overloads("mm bmm linear")


def _axis(node: Apply) -> int:
    """Return the axis of a selection, from the front."""
    return axis_of(node.op["dim"], len(shape_of(node.inputs[0])))


def _is_smaller(node: Apply) -> bool:
    """Return whether a selection has fewer numbers than what it selects from, and some."""
    return 0 < node.outputs[0].tensor_type.size < node.inputs[0].tensor_type.size


@canonical.rule(SELECTIONS, above=ELEMENTWISE)
def select_before_function(node: Apply, above: Apply) -> Rewrite:
    """A part of an elementwise result is computed from the same parts of its inputs."""
    if not _is_smaller(node):
        return False
    if not read_once(node.inputs[0]):
        return Declined(OTHER_USERS, above)
    if above.op.attributes.get("memory_format") not in (None, torch.preserve_format):
        return Declined("it requests a memory format", above)
    rank, axis = len(shape_of(node.inputs[0])), _axis(node)
    parts = {source: _cut(node, source, axis, rank) for source in above.inputs}
    if any(shape_of(source) and not shape_of(part) for source, part in parts.items()) and _mixes_dtypes(above):
        return Declined("a part without axes would not decide in which dtype the operator computes", above)
    return replace_with(node, reapply(above, [parts[source] for source in above.inputs]))


def _mixes_dtypes(node: Apply) -> bool:
    """Return whether the tensors that an operator reads, other than Python numbers, have different dtypes."""
    tensors = [v for v in node.inputs if not (isinstance(v, Constant) and isinstance(v.data, PythonNumber))]
    return len({v.tensor_type.dtype for v in tensors}) > 1


def _cut(node: Apply, source: Variable, axis: int, rank: int) -> Variable:
    """Select from an input that is broadcast to `rank` axes as a selection does along an axis of the result."""
    own = axis - (rank - len(shape_of(source)))
    if own < 0:
        return source
    if shape_of(source)[own] == shape_of(node.inputs[0])[axis]:
        return reapply(node, [source, *node.inputs[1:]], dim=own)
    return call(aten.select.int, source, own, 0) if node.op.target is aten.select.int else source


@canonical.rule([aten.diagonal.default], above=ELEMENTWISE)
def diagonal_before_function(node: Apply, above: Apply) -> Rewrite:
    """The diagonal of an elementwise result is computed from the diagonals of its inputs."""
    if not _is_smaller(node):
        return False
    if not read_once(node.inputs[0]):
        return Declined(OTHER_USERS, above)
    whole = shape_of(node.inputs[0])
    if any(shape_of(source) not in (whole, ()) for source in above.inputs):
        return Declined("one of the inputs is broadcast", above)
    parts = {source: reapply(node, [source]) if shape_of(source) else source for source in above.inputs}
    return replace_with(node, reapply(above, [parts[source] for source in above.inputs]))


@canonical.rule(SELECTIONS, above=(*REDUCTIONS, aten.logsumexp.default, *ALONG))
def select_before_reduction(node: Apply, above: Apply) -> Rewrite:
    """A part of a reduction, or of a softmax, is that of a part of its input along another axis."""
    if not _is_smaller(node):
        return False
    if not read_once(node.inputs[0]):
        return Declined(OTHER_USERS, above)
    source = above.inputs[0]
    rank = len(shape_of(source))
    along = axes_of(above.op["dim"], rank) if above.op.target in ALONG else reduced_axes(above)
    keeps = above.op.target in ALONG or above.op.attributes.get("keepdim")
    axes = list(range(rank)) if keeps else [i for i in range(rank) if i not in along]
    axis = axes[_axis(node)]
    if axis in along:
        return Declined("the part is along an axis that the operator works along", above)
    return _of_part(node, source, axis, lambda part: reapply(above, [part]))


@canonical.rule(SELECTIONS, above=PRODUCTS)
def select_before_product(node: Apply, above: Apply) -> Rewrite:
    """Rows of a matrix product are products of these rows, and columns of these columns."""
    if not _is_smaller(node):
        return False
    if not read_once(node.inputs[0]):
        return Declined(OTHER_USERS, above)
    left, right, *bias = above.inputs
    axis, last = _axis(node), len(shape_of(node.inputs[0])) - 1
    if above.op.target is aten.linear.default:
        out, *more = shape_of(right)
        if len(more) != 1 or any(shape_of(one) != (out,) for one in bias):  # another bias is broadcast
            return False
    if axis != last:
        both = above.op.target is aten.bmm.default and axis == 0
        return _of_part(
            node, left, axis, lambda part: reapply(above, [part, _part(node, right, 0) if both else right, *bias])
        )
    if above.op.target is aten.linear.default:
        return _of_part(node, right, 0, lambda part: reapply(above, [left, part, *(_part(node, b, 0) for b in bias)]))
    return _of_part(node, right, last, lambda part: reapply(above, [left, part]))


def _of_part(node: Apply, source: Variable, axis: int, make: Callable[[Variable], Variable]) -> Rewrite:
    """Replace a selection by what `make` makes of that part of a source along an axis."""
    return replace_with(node, reshape(make(_part(node, source, axis)), shape_of(node.outputs[0])))


def _part(node: Apply, source: Variable, axis: int) -> Variable:
    """Select from a source along an axis as a selection does; the axis stays, with size 1 for a single position."""
    if node.op.target is aten.select.int:
        index = node.op["index"] % shape_of(source)[axis]
        return slice_axis(source, axis, index, index + 1)
    return reapply(node, [source, *node.inputs[1:]], dim=axis)


# ---------------------------------------------------------------------- reversed and stacked tensors


@canonical.rule([aten.select.int], above=[aten.flip.default])
def select_from_reversed(node: Apply, above: Apply) -> Rewrite:
    """Row i of a reversed tensor is row n - 1 - i of the tensor."""
    shape = shape_of(above.inputs[0])
    axis, dims = _axis(node), axes_of(above.op["dims"], len(shape)) if above.op["dims"] else ()
    index = node.op["index"] % shape[axis]
    made = call(aten.select.int, above.inputs[0], axis, shape[axis] - 1 - index if axis in dims else index)
    rest = [dim - (dim > axis) for dim in dims if dim != axis]
    if rest:
        return replace_with(node, call(aten.flip.default, made, rest))
    return without_copy(node, made, rounding=True)


@canonical.rule([aten.flip.default], above=[aten.flip.default])
def reverse_twice(node: Apply, above: Apply) -> Rewrite:
    """A tensor that is reversed twice along an axis is not reversed along it."""
    rank = len(shape_of(node.inputs[0]))
    both = [set(axes_of(flip.op["dims"], rank)) if flip.op["dims"] else set[int]() for flip in (node, above)]
    rest = sorted(both[0] ^ both[1])
    if rest:
        return replace_with(node, call(aten.flip.default, above.inputs[0], rest))
    return without_copy(node, above.inputs[0], rounding=True)


@canonical.rule([aten.stack.default])
def drop_single_stack(node: Apply) -> Rewrite:
    """The stack of one tensor is a reshape."""
    if len(node.inputs) != 1:
        return False
    return without_copy(node, reshape(node.inputs[0], shape_of(node.outputs[0])), rounding=True)


@canonical.rule([aten.index.Tensor])
def index_to_select(node: Apply) -> Rewrite:
    """An index of one axis by constant positions is an index_select."""
    given, shape = node.op["indices"], shape_of(node.inputs[0])
    if [entry is SLOT for entry in given].count(True) != 1 or len(node.inputs) != 2:
        return False
    rows, axis = known_tensor(node.inputs[1]), list(given).index(SLOT)
    if rows is None or rows.ndim != 1 or rows.dtype not in (torch.int32, torch.int64) or axis >= len(shape):
        return False
    size = shape[axis]
    if not rows.numel() or int(rows.min()) < -size or int(rows.max()) >= size:
        return Declined("there are no positions, or some are out of bounds")
    positions = torch.where(rows < 0, rows + size, rows)
    index = Constant(torch.as_tensor(positions, device=node.inputs[0].device), node.inputs[1].name)
    return replace_with(node, call(aten.index_select.default, node.inputs[0], axis, index))


@canonical.rule([aten.outer.default])
def outer_to_mul(node: Apply) -> Rewrite:
    """outer(x, y) is the product of a column and a row."""
    left, right = node.inputs
    column = reshape(left, (*shape_of(left), 1))
    return replace_with(node, call(aten.mul.Tensor, column, right))


# ---------------------------------------------------------------------- broadcasts and chunks

REPEATS = overloads("expand repeat tile")


@canonical.rule((*BINARY, *BINARY_COMPUTING, aten.where.self))
def broadcast_by_operator(node: Apply) -> Rewrite:
    """An operator broadcasts its inputs itself: a tensor that only repeats axes of size 1 is read once."""
    sources = [_repeated(v) for v in node.inputs]
    if not any(source is not None for source in sources):
        return False
    new = [v if source is None else source for v, source in zip(node.inputs, sources, strict=True)]
    if torch.broadcast_shapes(*(shape_of(v) for v in new)) != shape_of(node.outputs[0]):
        return Declined("no other input has the shape of the result")
    return replace_with(node, reapply(node, new))


def _repeated(variable: Variable) -> Variable | None:
    """Return the tensor that a variable repeats along axes of size 1 only, or along new ones."""
    owner = owned_by(variable, *REPEATS)
    if owner is None:
        return None
    source = owner.inputs[0]
    missing = len(shape_of(variable)) - len(shape_of(source))
    kept = zip(shape_of(source), shape_of(variable)[missing:], strict=True)
    return source if shape_of(source) and all(one in (1, other) for one, other in kept) else None


@canonical.rule(UNARY, above=REPEATS)
def function_before_repeat(node: Apply, above: Apply) -> Rewrite:
    """A function of a repeated tensor is the repeated function: each number is computed once."""
    if not 0 < above.inputs[0].tensor_type.size < node.outputs[0].tensor_type.size:
        return False
    if not read_once(node.inputs[0]):
        return Declined("the repeated tensor has other users", above)
    if not shape_of(above.inputs[0]) and _mixes_dtypes(node):
        return Declined("a tensor without axes would not decide in which dtype the operator computes", above)
    if node.op.attributes.get("memory_format") not in (None, torch.preserve_format):
        return Declined("it requests a memory format", node)
    return replace_with(node, reapply(above, [reapply(node, [above.inputs[0]])]))


@canonical.rule((aten.tanh.default, aten.sigmoid.default))
def gate_above_split(node: Apply) -> Rewrite:
    """The tanh of adjacent parts of a tensor, which nothing else reads, is computed in one operator."""
    first = slice_of(node.inputs[0])
    if first is None:
        return False
    run = _run_of(node, first)
    if len(run) < 2:
        return False
    start, stop = run[0][0].start, run[-1][0].stop
    whole = stop - start == shape_of(first.source)[first.axis]
    gate = reapply(node, [first.source if whole else slice_axis(first.source, first.axis, start, stop)])
    return {
        reader.outputs[0]: slice_axis(gate, first.axis, part.start - start, part.stop - start) for part, reader in run
    }


def _run_of(node: Apply, first: Slice) -> list[tuple[Slice, Apply]]:
    """Return the adjacent slices around one, each with its only reader, which applies the operator of a node."""
    found: dict[int, tuple[Slice, Apply]] = {}
    for client, _ in first.source.clients:
        for variable in client.outputs if client is not None else ():
            part, reader = slice_of(variable), only_user(variable)
            if part is None or reader is None or reader.op != node.op or part.source is not first.source:
                continue
            if part.axis == first.axis and part.stop > part.start:
                found.setdefault(part.start, (part, reader))
    ends = {part.stop: start for start, (part, _) in found.items()}
    start = first.start
    while start in ends:
        start = ends[start]
    run: list[tuple[Slice, Apply]] = []
    while start in found:
        run.append(found[start])
        start = run[-1][0].stop
    return run if any(reader is node for _, reader in run) else []
