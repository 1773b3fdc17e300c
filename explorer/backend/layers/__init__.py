"""Compiled layers: frozen data with a pure `forward`."""

from explorer.backend.layers import inner, inputs, optimized
from explorer.backend.layers.base import TorchInnerLayer, TorchInputLayer, TorchLayer, can_inspect
from explorer.backend.layers.chain import TorchChainLayer, chain_of
from explorer.backend.layers.inner import *  # noqa: F403
from explorer.backend.layers.inputs import *  # noqa: F403
from explorer.backend.layers.optimized import *  # noqa: F403

__all__ = ["TorchChainLayer", "TorchInnerLayer", "TorchInputLayer", "TorchLayer", "can_inspect", "chain_of"]
__all__ += inner.__all__
__all__ += inputs.__all__
__all__ += optimized.__all__
