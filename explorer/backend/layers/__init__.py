"""Compiled layers: frozen data with a pure `forward`."""

from explorer.backend.layers.base import (
    ReachedUnits as ReachedUnits,
    TorchInnerLayer as TorchInnerLayer,
    TorchInputLayer as TorchInputLayer,
    TorchLayer as TorchLayer,
    missing_method as missing_method,
)
from explorer.backend.layers.chain import TorchChainLayer as TorchChainLayer, chain_of as chain_of
from explorer.backend.layers.functions import (
    LeafFunction as LeafFunction,
    Polynomial as Polynomial,
    apply as apply,
    power as power,
)
from explorer.backend.layers.inner import *  # noqa: F403
from explorer.backend.layers.inputs import *  # noqa: F403
from explorer.backend.layers.optimized import *  # noqa: F403
