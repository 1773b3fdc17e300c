"""The registry of named circuits: a name, a description, and a function that builds the circuit."""

from collections.abc import Callable
from dataclasses import dataclass, field

from explorer.errors import CircuitError, DuplicateNameError, look_up
from explorer.options import CompilerOptions
from explorer.symbolic import Circuit

CircuitMaker = Callable[[], Circuit]


@dataclass(frozen=True, slots=True)
class Gallery:
    """Named circuits. `add` is a decorator; the first line of the docstring is the description.

    >>> g = Gallery()
    >>> @g.add("coin")
    ... def coin():
    ...     '''One variable.'''
    ...     from explorer.templates import fully_factorized
    ...
    ...     return fully_factorized(1, num_categories=2)
    >>> g.names(), g.describe("coin"), len(g.load_named("coin").layers)
    (('coin',), 'One variable.', 1)
    """

    _makers: dict[str, CircuitMaker] = field(default_factory=dict[str, CircuitMaker])
    _semirings: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, name: str, *, semiring: str | None = None) -> Callable[[CircuitMaker], CircuitMaker]:
        """A decorator that adds a function without arguments under this name.

        `semiring` is the one that its circuit needs, if it is not the default one of the compiler.

        Raises: DuplicateNameError if the name is used already; CircuitError if the function has no docstring.
        """

        def register(make: CircuitMaker) -> CircuitMaker:
            if name in self._makers:
                raise DuplicateNameError(f"the gallery already has a circuit {name!r}; choose a different name")
            if not (make.__doc__ or "").strip():
                raise CircuitError(f"the gallery circuit {name!r} needs a docstring, which describes it")
            self._makers[name] = make
            if semiring is not None:
                self._semirings[name] = semiring
            return make

        return register

    def names(self) -> tuple[str, ...]:
        """The names of all circuits, in the order in which they were added."""
        return tuple(self._makers)

    def describe(self, name: str) -> str:
        """The description of the circuit, in one line. Raises: UnknownNameError."""
        return (self._maker(name).__doc__ or "").strip().splitlines()[0]

    def default_options(self, name: str) -> CompilerOptions:
        """The options to compile a circuit with unless others are chosen; the defaults for names of other circuits."""
        return CompilerOptions(semiring=self._semirings[name]) if name in self._semirings else CompilerOptions()

    def load_named(self, name: str) -> Circuit:
        """A new circuit of this name. Raises: UnknownNameError."""
        return self._maker(name)()

    def _maker(self, name: str) -> CircuitMaker:
        return look_up("gallery circuit", name, self._makers)


GALLERY = Gallery()
