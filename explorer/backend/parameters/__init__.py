"""Compiled parameters: graphs of tensors, pointers and operators."""

from explorer.backend.declarations import (
    Domain as Domain,
    Link as Link,
    Role as Role,
)
from explorer.backend.parameters.nodes import (
    FoldSettings as FoldSettings,
    InitializerFunction as InitializerFunction,
    TorchLeafParameter as TorchLeafParameter,
    TorchParameterNode as TorchParameterNode,
    TorchParameterOp as TorchParameterOp,
    TorchPointerParameter as TorchPointerParameter,
    TorchTensorParameter as TorchTensorParameter,
)
from explorer.backend.parameters.operators import *  # noqa: F403
from explorer.backend.parameters.parameter import (
    TorchParameter as TorchParameter,
    apply_op as apply_op,
    subgraph_parameter as subgraph_parameter,
)
