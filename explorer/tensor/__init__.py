"""The tensor level: graphs of PyTorch operators, rewriting as Theano taught it, passes as Glow has them."""

from explorer.tensor import library, quantized
from explorer.tensor.circuits import from_circuit
from explorer.tensor.destroy import DestroyHandler
from explorer.tensor.exporting import TensorModule, to_fx, to_module
from explorer.tensor.features import AlreadyThere, ChangeTracker, Feature, History, NodeFinder, ReplaceValidate
from explorer.tensor.function_graph import FunctionGraph
from explorer.tensor.importing import from_exported, from_module
from explorer.tensor.nhwc import to_nhwc
from explorer.tensor.ops import SLOT, Op, slots
from explorer.tensor.scalars import double, doubles
from explorer.tensor.types import OtherType, Quantization, TensorType, ValueType
from explorer.tensor.variables import Apply, Constant, SourcePlace, Variable, apply_op, call

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
    "Op",
    "OtherType",
    "Quantization",
    "ReplaceValidate",
    "SourcePlace",
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
