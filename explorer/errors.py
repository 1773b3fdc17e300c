"""Every error a user can meet, one class per kind, all from `CircuitError`.

A message says what was asked, what was found, where, and what to do.
"""

from difflib import get_close_matches

MOST_NAMES = 60
"""So many names are listed in a message; of more only the nearest."""


class CircuitError(Exception):
    """Base of every error this package raises for bad input or a failing rule.

    `trace` is the trace up to the failure if a compilation that was being recorded ended with this error.
    """

    trace: object | None = None


class GraphError(CircuitError):
    """A graph is malformed: a node reads one that is missing, or an output does not exist."""


class CycleError(GraphError):
    """The nodes of a graph read each other in a circle."""


class ShapeError(CircuitError):
    """A shape, arity or number of units differs from what is needed."""


class ScopeError(CircuitError):
    """Variables overlap, are missing, or are named twice."""


class StructureError(CircuitError):
    """A circuit lacks a property (smooth, decomposable ...) that was asked for."""


class DataTypeError(CircuitError):
    """Data or a parameter has a type that the place does not take."""


class ValueRangeError(CircuitError):
    """A number lies outside of the range in which it has a meaning."""


class UnknownNameError(CircuitError):
    """A name (semiring, rule, preset, step, circuit ...) is not known; the message lists those that are."""


class DuplicateNameError(CircuitError):
    """A name is already taken."""


class FileFormatError(CircuitError):
    """A file is truncated, foreign, or of a version that this program does not read."""


class RuleError(CircuitError):
    """A rewrite rule failed or broke its promise; the message names rule, match and step."""


class QueryError(CircuitError):
    """A query of a rewrite database cannot be read; the message shows how to write it."""


class OperatorError(CircuitError):
    """A tensor operator is unknown, got arguments that do not fit, or its result has no fixed shape."""


class TypeMismatchError(CircuitError):
    """A variable of a tensor graph cannot stand for another one: their types differ."""


class InconsistencyError(CircuitError):
    """A change of a graph was refused by what watches over it; the graph is as it was before."""


class ExportError(CircuitError):
    """A module cannot be made into a tensor graph; the message says which part of it and what to do."""


class MissingPackageError(CircuitError):
    """An optional package is not installed; the message says which command installs it."""


class FormError(CircuitError):
    """A field of a form that was filled in holds something that makes no sense; `field` is its place in the form."""

    field: str = ""


class LimitWarning(UserWarning):
    """A bound on rounds or rewrites was hit while more was possible."""


def unknown_name(kind: str, asked: object, known: "list[str] | tuple[str, ...]") -> UnknownNameError:
    """Make the error for a name that is not known: `kind` is what was looked up, `known` are the names that exist.

    Of many names those that look most like the one that was asked for are listed.
    """
    names = [str(name) for name in known]
    if len(names) <= MOST_NAMES:
        return UnknownNameError(f"no {kind} named {asked!r}; known are: {', '.join(names) or '(none)'}")
    near = get_close_matches(str(asked), names, n=5, cutoff=0.0)
    return UnknownNameError(f"no {kind} named {asked!r}; of {len(names)} that are known the nearest: {', '.join(near)}")
