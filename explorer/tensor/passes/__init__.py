"""Passes on tensor graphs, by Glow's names. Importing this package registers the passes of every file in `passes`."""

from importlib import import_module
from pkgutil import iter_modules

from explorer.tensor.passes.base import GraphPass as GraphPass, GraphPasses as GraphPasses, passes as passes

for _, _name, _ in iter_modules(__path__):  # in the order of the alphabet
    import_module(f"{__name__}.{_name}")
