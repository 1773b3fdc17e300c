"""The tensor level: graphs of PyTorch operators, rewriting as Theano taught it, passes as Glow has them."""

from explorer.tensor.graph.destroy import DestroyHandler
from explorer.tensor.graph.features import AlreadyThere, ChangeTracker, Feature, History, NodeFinder, ReplaceValidate
from explorer.tensor.graph.function_graph import FunctionGraph
from explorer.tensor.ir import library, quantized
from explorer.tensor.ir.ops import SLOT, Op, apply_op, call, slots
from explorer.tensor.ir.scalars import double, doubles
from explorer.tensor.ir.types import OtherType, Quantization, TensorType, ValueType
from explorer.tensor.ir.variables import Apply, Constant, SourceLocation, Variable
from explorer.tensor.recording.observer import Observer
from explorer.tensor.torch_io.circuits import from_circuit
from explorer.tensor.torch_io.exporting import TensorModule, to_fx, to_module
from explorer.tensor.torch_io.importing import from_exported, from_module
from explorer.tensor.torch_io.nhwc import to_nhwc

__all__ = [
    "SLOT",
    "AlreadyThere",
    "Apply",
    "ChangeTracker",
    "Constant",
    "DestroyHandler",
    "Feature",
    "FunctionGraph",
    "History",
    "NodeFinder",
    "Observer",
    "Op",
    "OtherType",
    "Quantization",
    "ReplaceValidate",
    "SourceLocation",
    "TensorModule",
    "TensorType",
    "ValueType",
    "Variable",
    "apply_op",
    "call",
    "double",
    "doubles",
    "from_circuit",
    "from_exported",
    "from_module",
    "library",
    "quantized",
    "slots",
    "to_fx",
    "to_module",
    "to_nhwc",
]
