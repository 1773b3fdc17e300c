"""Glow's passes on instructions, by Glow's names. A file in this folder is imported on its own."""

from importlib import import_module
from pkgutil import iter_modules

from explorer.program.passes.base import passes as passes, program_pass as program_pass

for _module in sorted(info.name for info in iter_modules(__path__)):
    import_module(f"{__name__}.{_module}")
