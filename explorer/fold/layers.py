"""Folding layers: one layer of a group of layers. Source: handbook, Fold Group of Layer (_fold_layer_group)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from explorer.backend import TorchInputLayer, TorchLayer
from explorer.errors import ShapeError
from explorer.fold.parameters import _fold_parameters
from explorer.graph import nested_of, parameters_of


def _fold_layer_group(layers: Sequence[TorchLayer]) -> TorchLayer:
    """One layer with as many folds as there are layers; scopes are concatenated, parameters and inner layers folded.

    Raises: ShapeError if the layers are not of one type.
    """
    first = layers[0]
    odd = next((layer for layer in layers if type(layer) is not type(first)), None)
    if odd is not None:
        raise ShapeError(f"layers of one type fold together; found {type(first).__name__} and {type(odd).__name__}")
    new: dict[str, Any] = {"num_folds": sum(layer.num_folds for layer in layers)}
    if isinstance(first, TorchInputLayer):
        new["scope_idx"] = tuple(
            scope for layer in layers if isinstance(layer, TorchInputLayer) for scope in layer.scope_idx
        )
    for name in parameters_of(first):
        new[name] = _fold_parameters([getattr(layer, name) for layer in layers])
    for name in nested_of(first):
        new[name] = _fold_layer_group([getattr(layer, name) for layer in layers])
    return replace(first, **new)
