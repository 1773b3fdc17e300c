"""Which boxes of a picture represent some nodes, and which layers are cells of selected plates."""

from collections.abc import Mapping, Sequence

from explorer.views import Picture


def boxes_of(shown: Picture) -> dict[str, tuple[int, ...]]:
    """Return the boxes of a picture, and the nodes that each represents."""
    view = shown.view
    nodes = [*view["nodes"], *(view["other"]["nodes"] if "other" in view else ())]
    return {node["id"]: tuple(node["ids"]) for node in nodes}


def boxes_with(nodes: Sequence[int], boxes: Mapping[str, tuple[int, ...]], last: Sequence[int] = ()) -> tuple[str, ...]:
    """Return the boxes that represent one of some nodes, and behind them those of the `last` ones."""
    wanted, final = set(nodes), set(last)
    found = [box for box, held in boxes.items() if not wanted.isdisjoint(held)] if wanted else []
    return tuple(sorted(found, key=lambda box: not final.isdisjoint(boxes[box])))


def layers_in(shown: Picture, boxes: Sequence[str], layers: Sequence[int]) -> tuple[int, ...]:
    """Return the layers that are cells of one of the boxes, which must be plates."""
    nodes = shown.view["nodes"] if layers else []
    cells = {cell for node in nodes if node["id"] in boxes and "plate" in node for cell in node["plate"]["cells"]}
    return tuple(layer for layer in layers if layer in cells)


def parts_of(known: Mapping[str, Sequence[int]], boxes: Sequence[str], nodes: Sequence[int]) -> tuple[int, ...]:
    """Return the nodes in those of the boxes that represent further nodes, too."""
    wanted = set(nodes)
    parts = {node for box in boxes if not wanted.issuperset(known[box]) for node in known[box]}
    return tuple(node for node in nodes if node in parts)
