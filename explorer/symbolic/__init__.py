"""Level 0: circuits as data, without tensors: layers, parameter graphs, initializers, structure, files."""

from explorer.symbolic import initializers, layers, operators
from explorer.symbolic.builder import CircuitBuilder
from explorer.symbolic.circuit import Circuit
from explorer.symbolic.files import CIRCUIT_FORMAT, circuit_from_json, circuit_to_json
from explorer.symbolic.initializers import *  # noqa: F403
from explorer.symbolic.layers import *  # noqa: F403
from explorer.symbolic.operators import *  # noqa: F403
from explorer.symbolic.parameterization import ACTIVATIONS, Parameterization
from explorer.symbolic.parameters import (
    DataType,
    EntrywiseParameterOp,
    ParameterNode,
    ParameterOp,
    Shape,
    TensorParameter,
    constant,
)
from explorer.symbolic.scope import Scope, make_scope, shared_variables, union
from explorer.symbolic.structure import Finding

__all__ = [
    "ACTIVATIONS",
    "CIRCUIT_FORMAT",
    "Circuit",
    "CircuitBuilder",
    "DataType",
    "EntrywiseParameterOp",
    "Finding",
    "ParameterNode",
    "ParameterOp",
    "Parameterization",
    "Scope",
    "Shape",
    "TensorParameter",
    "circuit_from_json",
    "circuit_to_json",
    "constant",
    "make_scope",
    "shared_variables",
    "union",
]
__all__ += initializers.__all__
__all__ += layers.__all__
__all__ += operators.__all__
