"""The names that the author of a circuit gave to its layers, for the layers that a compilation made of them, too."""

from collections.abc import Sequence

from explorer.views.index import TraceIndex, cached
from explorer.views.words import list_text

MAX_NAMES = 4
"""Maximum number of names in the name of one layer."""


@cached
def name_of(index: TraceIndex, layer: int) -> str:
    """Return the name of a layer, or the names of those that it was made from; empty if they have none."""
    if not index.trace.level.has_circuit or not index.symbolic_names:
        return ""
    names = (index.symbolic_names.get(symbolic) for symbolic in index.trace.lineage(layer).symbolic)
    return list_text([name for name in names if name], MAX_NAMES)


def names_of(index: TraceIndex, layers: Sequence[int]) -> list[str]:
    """Return the name of each layer; a negative id is a slice whose layer is not known."""
    return [name_of(index, layer) if layer >= 0 else "" for layer in layers]
