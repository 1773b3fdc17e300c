"""The tensor level: graphs of PyTorch operators, rewriting as Theano taught it, passes as Glow has them."""

from explorer.tensor.graph.destroy import DestroyHandler as DestroyHandler
from explorer.tensor.graph.features import (
    AlreadyThere as AlreadyThere,
    ChangeTracker as ChangeTracker,
    Feature as Feature,
    NodeFinder as NodeFinder,
    ReplaceValidate as ReplaceValidate,
)
from explorer.tensor.graph.function_graph import FunctionGraph as FunctionGraph
from explorer.tensor.ir import library as library, quantized as quantized
from explorer.tensor.ir.ops import SLOT as SLOT, Op as Op, apply_op as apply_op, call as call, slots as slots
from explorer.tensor.ir.scalars import double as double, doubles as doubles
from explorer.tensor.ir.types import (
    OtherType as OtherType,
    Quantization as Quantization,
    TensorType as TensorType,
    ValueType as ValueType,
)
from explorer.tensor.ir.variables import (
    Apply as Apply,
    Constant as Constant,
    SourceLocation as SourceLocation,
    Variable as Variable,
)
from explorer.tensor.recording.observer import Observer as Observer
from explorer.tensor.torch_io.exporting import TensorModule as TensorModule, to_fx as to_fx, to_module as to_module
from explorer.tensor.torch_io.importing import (
    from_circuit as from_circuit,
    from_exported as from_exported,
    from_module as from_module,
)
from explorer.tensor.torch_io.nhwc import to_nhwc as to_nhwc
