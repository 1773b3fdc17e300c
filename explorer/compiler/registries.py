"""The registry of compile rules: the function that compiles each type of symbolic object.

A compiler copies its registries, so rules added to one compiler never leak into another.
"""

from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from explorer.backend import compiled_class_of
from explorer.errors import CircuitError, DuplicateNameError

CompileRule = Callable[[Any, Any], Any]


@dataclass(eq=False)
class CompilerRegistry(ABC):
    """Type of symbolic object -> function (compiler, object) -> compiled object."""

    what: ClassVar[str]
    decorator: ClassVar[str]
    rule_for: ClassVar[Callable[[Any], CompileRule] | None] = None
    """Returns the rule of a compiled class that declares what it compiles; None: no class can declare it."""

    rules: dict[type, CompileRule] = field(default_factory=dict)

    def rule(self, symbolic_type: type) -> Callable[[CompileRule], CompileRule]:
        """Decorator: register the compile rule of a type. Raises: DuplicateNameError if it has one."""
        if self._rule_of(symbolic_type) is not None:
            raise DuplicateNameError(f"{self.what} {symbolic_type.__name__} has a compile rule already")

        def register(function: CompileRule) -> CompileRule:
            self.rules[symbolic_type] = function
            return function

        return register

    def __getitem__(self, symbolic: object) -> CompileRule:
        """The rule for an object, by its exact type. Raises: CircuitError with the decorator to use."""
        rule = self._rule_of(type(symbolic))
        if rule is None:
            name = type(symbolic).__name__
            declare = "" if self.rule_for is None else f"declare `compiles = {name}` in its compiled class, or "
            raise CircuitError(
                f"no compile rule for {self.what} {name} ({symbolic!r}); "
                f"{declare}register one with @compiler.{self.decorator}.rule({name})"
            )
        return rule

    def copy(self) -> Self:
        """A copy that can be extended without changing this one."""
        return type(self)(dict(self.rules))

    def _rule_of(self, symbolic_type: type) -> CompileRule | None:
        rule = self.rules.get(symbolic_type)
        if rule is not None or self.rule_for is None:
            return rule
        compiled = compiled_class_of(symbolic_type)
        return None if compiled is None else self.rule_for(compiled)
