"""The registry of named circuits: a name, what the circuit teaches, and how it is built."""

from collections.abc import Callable
from dataclasses import dataclass, field

from explorer.errors import CircuitError, DuplicateNameError, unknown_name
from explorer.symbolic import Circuit

CircuitMaker = Callable[[], Circuit]


@dataclass(frozen=True, slots=True)
class Gallery:
    """Named circuits. `add` is a decorator; the first line of the docstring says what the circuit teaches.

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

    def add(self, name: str) -> Callable[[CircuitMaker], CircuitMaker]:
        """A decorator that adds a function without arguments under this name.

        Raises: DuplicateNameError if the name is taken; CircuitError if the function has no docstring.
        """

        def register(make: CircuitMaker) -> CircuitMaker:
            if name in self._makers:
                raise DuplicateNameError(f"the gallery has a circuit named {name!r} already; choose another name")
            if not (make.__doc__ or "").strip():
                raise CircuitError(f"the gallery circuit {name!r} needs a docstring that says what it teaches")
            self._makers[name] = make
            return make

        return register

    def names(self) -> tuple[str, ...]:
        """The names of all circuits, in the order in which they were added."""
        return tuple(self._makers)

    def describe(self, name: str) -> str:
        """What the circuit teaches, in a line. Raises: UnknownNameError."""
        return (self._maker(name).__doc__ or "").strip().splitlines()[0]

    def load_named(self, name: str) -> Circuit:
        """The circuit of this name, built anew. Raises: UnknownNameError."""
        return self._maker(name)()

    def _maker(self, name: str) -> CircuitMaker:
        if name not in self._makers:
            raise unknown_name("gallery circuit", name, list(self._makers))
        return self._makers[name]


GALLERY = Gallery()
