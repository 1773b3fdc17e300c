"""Compiled parameters: graphs of tensors, pointers and operators."""

from explorer.backend.parameters import ops
from explorer.backend.parameters.nodes import (
    FoldSettings,
    InitializerFunction,
    TorchLeafParameter,
    TorchParameterNode,
    TorchParameterOp,
    TorchPointerParameter,
    TorchTensorParameter,
)
from explorer.backend.parameters.ops import *  # noqa: F403
from explorer.backend.parameters.parameter import TorchParameter, apply_op, subgraph_parameter

__all__ = [
    "FoldSettings",
    "InitializerFunction",
    "TorchLeafParameter",
    "TorchParameter",
    "TorchParameterNode",
    "TorchParameterOp",
    "TorchPointerParameter",
    "TorchTensorParameter",
    "apply_op",
    "subgraph_parameter",
]
__all__ += ops.__all__
