"""Compiled layers: frozen data with a pure `forward`."""

from explorer.backend.layers.base import (
    LeafFunction as LeafFunction,
    Polynomial as Polynomial,
    ReachedUnits as ReachedUnits,
    TorchInnerLayer as TorchInnerLayer,
    TorchInputLayer as TorchInputLayer,
    TorchLayer as TorchLayer,
    apply as apply,
    missing_method as missing_method,
    power as power,
)
from explorer.backend.layers.distributions import *  # noqa: F403
from explorer.backend.layers.inner import *  # noqa: F403
from explorer.backend.layers.inputs import *  # noqa: F403
from explorer.backend.layers.multivariate import *  # noqa: F403
from explorer.backend.layers.optimized import *  # noqa: F403
from explorer.backend.layers.optimized import TorchChainLayer as TorchChainLayer, chain_of as chain_of
