"""Glow's passes on instructions, by Glow's names: their registry and pipeline. Each file of this folder is imported."""

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules

from explorer.levels import StatePass
from explorer.passes import PASSES
from explorer.program.editing import Rule, WorkingProgram
from explorer.rewrite import DCERequiredMode, FunctionPassPipeline, PassRegistry
from explorer.trace import PROGRAM

passes: PassRegistry[WorkingProgram] = PassRegistry()
"""All passes on programs, by Glow's names, each with one rule."""

MEMORY_PIPELINE = FunctionPassPipeline.of_listed(PASSES[PROGRAM], DCERequiredMode.NONE)
"""All memory passes, in the order of Glow: fewer buffers, shorter lives, then a place for each, and stacks."""


def program_pass(name: str) -> Callable[[Rule], Rule]:
    """Register a rule as a pass; the first line of its docstring describes it.

    Raises: DuplicateNameError if the name is taken.
    """

    def register(rule: Rule) -> Rule:
        passes.register(StatePass(name, rule, PROGRAM))
        return rule

    return register


for _module in sorted(info.name for info in iter_modules(__path__)):
    import_module(f"{__name__}.{_module}")
