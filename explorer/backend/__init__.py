"""The compiled level: semirings, compiled layers and parameters, and the circuit module that evaluates them."""

from explorer.backend.addressing import (
    FoldIndexInfo as FoldIndexInfo,
    IndexTable as IndexTable,
    Read as Read,
    ReadKind as ReadKind,
    count_copied_slices as count_copied_slices,
    direct_read as direct_read,
    is_cat as is_cat,
    plan_read as plan_read,
)
from explorer.backend.circuit import (
    ProbedCircuit as ProbedCircuit,
    TorchCircuit as TorchCircuit,
    double_copy as double_copy,
)
from explorer.backend.declarations import compiled_class_of as compiled_class_of
from explorer.backend.evaluation import EvaluatedCircuit as EvaluatedCircuit
from explorer.backend.frozen import FrozenCircuit as FrozenCircuit
from explorer.backend.layers import (
    LeafFunction as LeafFunction,
    Polynomial as Polynomial,
    ReachedUnits as ReachedUnits,
    TorchChainLayer as TorchChainLayer,
    TorchInnerLayer as TorchInnerLayer,
    TorchInputLayer as TorchInputLayer,
    TorchLayer as TorchLayer,
    chain_of as chain_of,
)
from explorer.backend.layers.distributions import *  # noqa: F403
from explorer.backend.layers.inner import *  # noqa: F403
from explorer.backend.layers.inputs import *  # noqa: F403
from explorer.backend.layers.multivariate import *  # noqa: F403
from explorer.backend.layers.optimized import *  # noqa: F403
from explorer.backend.parameters.nodes import (
    ParameterSlot as ParameterSlot,
    ParameterStore as ParameterStore,
    allocate_parameters as allocate_parameters,
    foldwise_initializer_ as foldwise_initializer_,
    leaf_seed as leaf_seed,
)
from explorer.backend.plan import all_parameters as all_parameters, parameter_nodes as parameter_nodes
from explorer.backend.semiring import (
    MAX_PRODUCT as MAX_PRODUCT,
    SEMIRINGS as SEMIRINGS,
    Semiring as Semiring,
    get_semiring as get_semiring,
)
