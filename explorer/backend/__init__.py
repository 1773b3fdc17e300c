"""Level 1: semirings, compiled layers and parameters, and the circuit module that evaluates them."""

from explorer.backend import layers
from explorer.backend.addressing import (
    FoldIndexInfo,
    IndexTable,
    Read,
    ReadKind,
    copied_by_one_fold,
    direct_read,
    plan_read,
)
from explorer.backend.circuit import FrozenCircuit, TorchCircuit
from explorer.backend.declarations import compiled_class_of
from explorer.backend.evaluation import EvaluatedCircuit
from explorer.backend.layers import *  # noqa: F403
from explorer.backend.plan import all_parameters, parameter_nodes
from explorer.backend.semiring import SEMIRINGS, Semiring, semiring_named
from explorer.backend.storage import (
    ParameterSlot,
    ParameterStore,
    allocate_parameters,
    foldwise_initializer_,
    leaf_seed,
)

__all__ = [
    "SEMIRINGS",
    "EvaluatedCircuit",
    "FoldIndexInfo",
    "FrozenCircuit",
    "IndexTable",
    "ParameterSlot",
    "ParameterStore",
    "Read",
    "ReadKind",
    "Semiring",
    "TorchCircuit",
    "all_parameters",
    "allocate_parameters",
    "compiled_class_of",
    "copied_by_one_fold",
    "direct_read",
    "foldwise_initializer_",
    "leaf_seed",
    "parameter_nodes",
    "plan_read",
    "semiring_named",
]
__all__ += layers.__all__
