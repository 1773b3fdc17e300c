"""The registry of all passes on programs, each with one rule."""

from collections.abc import Callable

from explorer.levels import StatePass
from explorer.program.editing import Rule, WorkingProgram
from explorer.rewrite import PassRegistry
from explorer.trace import PROGRAM

passes: PassRegistry[WorkingProgram] = PassRegistry()
"""All passes on programs, by Glow's names."""


def program_pass(name: str) -> Callable[[Rule], Rule]:
    """Register a rule as a pass; the first line of its docstring describes it.

    Raises: DuplicateNameError if the name is taken.
    """

    def register(rule: Rule) -> Rule:
        passes.register(StatePass(name, rule, PROGRAM))
        return rule

    return register
