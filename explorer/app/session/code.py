"""The formula and the source of the class of a layer."""

import inspect
from collections.abc import Sequence
from functools import cache
from textwrap import dedent

from explorer.backend.layers import TorchLayer
from explorer.views import TraceIndex, find_plate
from explorer_widgets.schema import CodeView, DetailsView


def add_code(
    index: TraceIndex, step: int, ids: Sequence[int], found: DetailsView, *, before: bool = False
) -> DetailsView:
    """Add the formula and the source of the layer's class to the close-up of the plate of these nodes."""
    shown, plate = found.get("closeup"), find_plate(index, step, ids, before=before)
    if shown is None or plate is None:
        return found
    at, drawn = plate
    layer = index.step(at).snapshot.graph.nodes[drawn.ids[0]]
    kind = type(layer) if isinstance(layer, TorchLayer) else _newest_class(shown["code"]["type"])
    if kind is None:
        return found
    formula, source, where = _code_of(kind)
    code: CodeView = {**shown["code"], "formula": formula, "source": source, "where": where}
    return {**found, "closeup": {**shown, "code": code}}


@cache
def _code_of(kind: type[TorchLayer]) -> tuple[str, str, str]:
    """Return the formula, the method `forward` and its location."""
    formula = " ".join(inspect.cleandoc(kind.__doc__ or "").split("Shapes:")[0].split())
    try:
        lines, first = inspect.getsourcelines(kind.forward)
        where = f"{kind.forward.__module__}, line {first}"
    except (OSError, TypeError):  # defined where there is no source
        return formula, "", ""
    return formula, dedent("".join(lines)).rstrip(), where


def _newest_class(name: str) -> type[TorchLayer] | None:
    """Return the class of this name, for a trace that was loaded from a file; None if it is not there."""
    return next((kind for kind in reversed(_classes(TorchLayer)) if kind.__name__ == name), None)


def _classes(kind: type[TorchLayer]) -> list[type[TorchLayer]]:
    """Return a class and those derived from it; of those with the same base the oldest first."""
    return [kind, *(one for below in kind.__subclasses__() for one in _classes(below))]
