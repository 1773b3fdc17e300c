"""The registry of compile rules: the function that compiles each type of symbolic object.

A compiler copies its registries, so rules added to one compiler never leak into another.
"""

from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from explorer.errors import CircuitError, DuplicateNameError

CompileRule = Callable[[Any, Any], Any]


@dataclass(eq=False)
class CompilerRegistry(ABC):
    """Type of symbolic object -> function (compiler, object) -> compiled object."""

    what: ClassVar[str]
    decorator: ClassVar[str]
    alternative: ClassVar[str] = ""
    """What else an author can do for a type without a rule, as part of the error."""

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
            raise CircuitError(
                f"no compile rule for {self.what} {name} ({symbolic!r}); "
                f"{self.alternative.format(name)}register one with @compiler.{self.decorator}.rule({name})"
            )
        return rule

    def _rule_of(self, symbolic_type: type) -> CompileRule | None:
        return self.rules.get(symbolic_type) or self._declared_rule(symbolic_type)

    def _declared_rule(self, symbolic_type: type) -> CompileRule | None:
        """Hook: the rule of a type whose compiled class declares `compiles`."""
        return None
