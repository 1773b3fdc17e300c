"""Folding a circuit: one layer from each group of layers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from explorer.backend import TorchInputLayer, TorchLayer
from explorer.errors import ShapeError
from explorer.fold.folding import FoldedGroup, fold_levels
from explorer.fold.parameters import fold_parameters
from explorer.graph import Graph, Ordering, nested_of, parameters_of


def fold_circuit(
    graph: Graph[TorchLayer], ordering: Ordering, fresh: Iterator[int], skips_level: Callable[[int], bool]
) -> Iterator[list[FoldedGroup]]:
    """Yield the folded groups of each level of a circuit; `assemble` makes the folded circuit of them."""
    return fold_levels(graph, ordering, fold_layer_group, fresh, skips_level)


def fold_layer_group(layers: Sequence[TorchLayer]) -> TorchLayer:
    """One layer with one fold per layer; scopes are concatenated, parameters and nested layers are folded.

    Raises: ShapeError unless all layers have the same type.
    """
    first = layers[0]
    other = next((layer for layer in layers if type(layer) is not type(first)), None)
    if other is not None:
        raise ShapeError(f"only layers of one type fold; found {type(first).__name__} and {type(other).__name__}")
    new: dict[str, Any] = {"num_folds": sum(layer.num_folds for layer in layers)}
    if isinstance(first, TorchInputLayer):
        new["scope_idx"] = tuple(
            scope for layer in layers if isinstance(layer, TorchInputLayer) for scope in layer.scope_idx
        )
    for name in parameters_of(first):
        new[name] = fold_parameters([getattr(layer, name) for layer in layers])
    for name in nested_of(first):
        new[name] = fold_layer_group([getattr(layer, name) for layer in layers])
    return replace(first, **new)
