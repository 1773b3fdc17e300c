"""The registries of compile rules: by type of symbolic layer, parameter node and initializer.

Source: handbook, Compilation (CompilerLayerRegistry, ParameterRegistry, InitializerRegistry). A compiler takes
copies, so rules added to one compiler never leak into another.
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

    rules: dict[type, CompileRule] = field(default_factory=dict)

    def rule(self, symbolic_type: type) -> Callable[[CompileRule], CompileRule]:
        """Decorator: register the compile rule of a type. Raises: DuplicateNameError if it has one."""
        if symbolic_type in self.rules:
            raise DuplicateNameError(f"{self.what} {symbolic_type.__name__} has a compile rule already")

        def register(function: CompileRule) -> CompileRule:
            self.rules[symbolic_type] = function
            return function

        return register

    def __getitem__(self, symbolic: object) -> CompileRule:
        """The rule for an object, by its exact type. Raises: CircuitError with the decorator to use."""
        rule = self.rules.get(type(symbolic))
        if rule is None:
            name = type(symbolic).__name__
            raise CircuitError(
                f"no compile rule for {self.what} {name} ({symbolic!r}) in backend 'torch'; "
                f"register one with @compiler.{self.decorator}.rule({name})"
            )
        return rule


@dataclass(eq=False)
class CompilerLayerRegistry(CompilerRegistry):
    """Compile rules of layers."""

    what = "layer"
    decorator = "layer_rules"


@dataclass(eq=False)
class CompilerParameterRegistry(CompilerRegistry):
    """Compile rules of parameter nodes."""

    what = "parameter node"
    decorator = "parameter_rules"


@dataclass(eq=False)
class CompilerInitializerRegistry(CompilerRegistry):
    """Compile rules of initializers."""

    what = "initializer"
    decorator = "initializer_rules"
