"""Conversion to channels last, as in Glow's loaders for models with channels first.

A convolution or a pool of (batch, channels, height, width) becomes a transpose, the operator with channels last, and
a transpose back; its weight is transposed too. A batch norm gets an explicit channel axis instead, so that transposes
can move past it. A mean over height and width needs only one transpose, because its result has one number per channel.
Most of the transposes then meet and cancel (the pass SinkCode).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from explorer.errors import unknown_name
from explorer.rewrite import Exactness
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir import library
from explorer.tensor.ir.ops import call
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.variables import Apply, Constant, Variable
from explorer.tensor.rewriting import SweepRewriter, node_rewriter

LAYOUTS = ("", "nhwc")
"""Layouts of an import: the axes as they are, or channels last."""


def check_layout(layout: str) -> None:
    """Check the name of a layout. Raises: UnknownNameError."""
    if layout not in LAYOUTS:
        raise unknown_name("layout", layout, ["nhwc", "'' (the axes as they are)"])


NCHW, NHWC = "NCHW", "NHWC"
NO_BATCH = "it has no batch axis"
TO_NHWC, TO_NCHW = (0, 2, 3, 1), (0, 3, 1, 2)


@node_rewriter([aten.conv2d.default, aten.convolution.default], reentrant=False)
def convolution_with_channels_last(node: Apply) -> Rewrite:
    """Convert a two-dimensional convolution to channels last, its weight too."""
    op = node.op
    if len(op["stride"]) != 2 or node.inputs[0].tensor_type.rank != 4:
        return Declined("it is not in two dimensions, or has no batch axis", node)
    if op.attributes.get("transposed"):
        return Declined("it is a transposed convolution, which has no form with channels last", node)
    weight = call(aten.permute.default, node.inputs[1], TO_NHWC)
    bias = node.input_of("bias")
    settings = (op["stride"], op["padding"], op["dilation"], op["groups"])
    return _between_transposes(node, library.conv2d_nhwc, weight, bias, *settings)


@node_rewriter([aten.max_pool2d.default, aten.max_pool2d_with_indices.default], exactness=Exactness.EXACT)
def max_pool_with_channels_last(node: Apply) -> Rewrite:
    """Convert max pooling to channels last."""
    if node.inputs[0].tensor_type.rank != 4:
        return Declined(NO_BATCH, node)
    if any(extra.clients for extra in node.outputs[1:]):
        return Declined("its indices are used too", node)
    settings = (node.op[name] for name in ("kernel_size", "stride", "padding", "dilation", "ceil_mode"))
    return _between_transposes(node, library.max_pool2d_nhwc, *settings)


@node_rewriter([aten.avg_pool2d.default])
def average_pool_with_channels_last(node: Apply) -> Rewrite:
    """Convert average pooling to channels last."""
    if node.inputs[0].tensor_type.rank != 4:
        return Declined(NO_BATCH, node)
    names = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")
    return _between_transposes(node, library.avg_pool2d_nhwc, *(node.op[name] for name in names))


@node_rewriter([aten.adaptive_avg_pool2d.default])
def adaptive_pool_with_channels_last(node: Apply) -> Rewrite:
    """Convert adaptive average pooling to channels last; a result with one number per channel is only reshaped."""
    if node.inputs[0].tensor_type.rank != 4:
        return Declined(NO_BATCH, node)
    size = node.op["output_size"]
    if tuple(size) != (1, 1):
        return _between_transposes(node, library.adaptive_avg_pool2d_nhwc, size)
    last = _channels_last(node)
    return _replace_with_reshape(node, call(library.adaptive_avg_pool2d_nhwc, last, size))


@node_rewriter([aten.mean.dim])
def mean_with_channels_last(node: Apply) -> Rewrite:
    """Convert a mean over height and width to channels last; the result is only reshaped."""
    axes, kind = node.op["dim"], node.inputs[0].tensor_type
    if kind.rank != 4 or axes is None or sorted(axis % 4 for axis in axes) != [2, 3]:
        return Declined("it is not over height and width", node)
    found = call(aten.mean.dim, _channels_last(node), [1, 2], True, dtype=node.op["dtype"])
    return _replace_with_reshape(node, found)


@node_rewriter([aten._native_batch_norm_legit_no_training.default], exactness=Exactness.EXACT)
def batch_norm_with_axis(node: Apply) -> Rewrite:
    """Give a batch norm with known statistics an explicit channel axis, which is 1."""
    if any(extra.clients for extra in node.outputs[1:]):
        return Declined("its statistics are used too", node)
    parts = [node.input_of(name) for name in ("weight", "bias", "running_mean", "running_var")]
    found = call(library.batch_norm, node.inputs[0], *parts, node.op["eps"], 1)
    return _replace_and_name_axes(node, _with_names(found, NCHW))


nhwc_rewriter = SweepRewriter(
    (
        convolution_with_channels_last,
        max_pool_with_channels_last,
        average_pool_with_channels_last,
        adaptive_pool_with_channels_last,
        mean_with_channels_last,
        batch_norm_with_axis,
    ),
    name="nhwc",
)
"""Applies all of these in one walk through a graph, as a step of a pipeline."""


def to_nhwc(graph: FunctionGraph) -> FunctionGraph:
    """Convert this graph to channels last, and return it. The step is recorded as `nhwc`."""
    nhwc_rewriter.rewrite(graph)
    return graph


def activation_transposes(graph: FunctionGraph) -> list[Apply]:
    """Return the transposes of inputs and intermediate results; constants are transposed at compile time."""
    return [n for n in graph.nodes if n.op.name == "permute" and not isinstance(n.inputs[0], Constant)]


def _between_transposes(node: Apply, target: Any, *arguments: Any) -> Mapping[Any, Any]:
    """Replace the result by an operator with channels last, between two transposes."""
    found = call(target, _channels_last(node), *arguments)
    return _replace_and_name_axes(node, call(aten.permute.default, found, TO_NCHW))


def _channels_last(node: Apply) -> Variable:
    """Return the first input with channels last."""
    return _with_names(call(aten.permute.default, node.inputs[0], TO_NHWC), NHWC)


def _replace_with_reshape(node: Apply, found: Variable) -> Mapping[Any, Any]:
    return _replace_and_name_axes(node, call(aten.reshape.default, found, node.outputs[0].tensor_type.shape))


def _replace_and_name_axes(node: Apply, found: Variable) -> Mapping[Any, Any]:
    """Replace the first result, and name the order of the axes of the first input."""
    return {node.outputs[0]: found, "layouts": {node.inputs[0]: NCHW} if _is_nameless(node.inputs[0]) else {}}


def _with_names(new: Variable, layout: str) -> Variable:
    """Name the order of the axes of a variable that is not in a graph yet, if it has no name."""
    if _is_nameless(new):
        new.type = replace(new.tensor_type, layout=layout)
    return new


def _is_nameless(variable: Variable) -> bool:
    return not variable.tensor_type.layout and variable.tensor_type.rank == 4
