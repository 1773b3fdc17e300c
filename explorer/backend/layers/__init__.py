"""Compiled layers: frozen data with a pure `forward`."""

from explorer.backend.layers.base import (
    TorchInnerLayer as TorchInnerLayer,
    TorchInputLayer as TorchInputLayer,
    TorchLayer as TorchLayer,
    can_inspect as can_inspect,
)
from explorer.backend.layers.chain import TorchChainLayer as TorchChainLayer, chain_of as chain_of
from explorer.backend.layers.inner import *  # noqa: F403
from explorer.backend.layers.inputs import *  # noqa: F403
from explorer.backend.layers.optimized import *  # noqa: F403
