"""The formula and the source of the class of a layer."""

import inspect
from functools import cache
from textwrap import dedent

from explorer.backend.layers import TorchLayer
from widgets.schema import CodeView, DetailsView


def add_code(found: DetailsView) -> DetailsView:
    """Add the formula and the source of the layer's class to the close-up of a plate."""
    shown = found.get("closeup")
    if shown is None:
        return found
    formula, source, where = _code_of(shown["code"]["type"])
    code: CodeView = {**shown["code"], "formula": formula, "source": source, "where": where}
    return {**found, "closeup": {**shown, "code": code}}


@cache
def _code_of(name: str) -> tuple[str, str, str]:
    """Return the formula, the method `forward` and its location; empty for a class that is not there."""
    kind = next((kind for kind in _classes(TorchLayer) if kind.__name__ == name), None)
    if kind is None:
        return "", "", ""
    formula = " ".join(inspect.cleandoc(kind.__doc__ or "").split("Shapes:")[0].split())
    try:
        lines, first = inspect.getsourcelines(kind.forward)
        where = f"{kind.forward.__module__}, line {first}"
    except (OSError, TypeError):  # defined where there is no source
        return formula, "", ""
    return formula, dedent("".join(lines)).rstrip(), where


def _classes(kind: type) -> list[type]:
    return [kind, *(one for below in kind.__subclasses__() for one in _classes(below))]
