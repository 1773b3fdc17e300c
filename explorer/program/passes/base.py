"""A pass on a program, and the registry of all passes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import getdoc
from itertools import count
from types import FunctionType

from explorer.program.editing import Edit, Rule, WorkingProgram
from explorer.rewrite import CompilationMode, PassRegistry, source_of_function


@dataclass(frozen=True)
class ProgramPass:
    """A named pass with one rule of the same name."""

    name: str
    doc: str
    rule: Rule = field(compare=False)
    source: str = ""
    """Where the rule is written."""

    def rule_names(self) -> tuple[str, ...]:
        """Its rule."""
        return (self.name,)

    def run(self, graph: WorkingProgram, mode: CompilationMode = CompilationMode.INFER) -> None:
        """Look at the whole program once, and change it."""
        graph.apply(self.name, self.rule)

    def remaining_changes(self, graph: WorkingProgram) -> str | None:
        """What another round would still change, in words; None if nothing."""
        found = self.rule(graph.program, count(graph.program.next_id))
        left = sum(isinstance(one, Edit) for one in found)
        return f"{left} {'change was' if left == 1 else 'changes were'} still possible" if left else None


passes: PassRegistry[WorkingProgram] = PassRegistry()
"""All passes on programs, by Glow's names."""


def find_pass(name: str) -> ProgramPass | None:
    """The pass with a rule that has this name."""
    found = passes.passes.get(name)
    return found if isinstance(found, ProgramPass) else None


def program_pass(name: str) -> Callable[[Rule], Rule]:
    """Register a rule as a pass; the first line of its docstring says what it does.

    Raises: DuplicateNameError if the name is taken.
    """

    def register(rule: Rule) -> Rule:
        source = source_of_function(rule) if isinstance(rule, FunctionType) else ""
        doc = (getdoc(rule) or "").partition("\n")[0]
        passes.register(ProgramPass(name, doc, rule, source))
        return rule

    return register
