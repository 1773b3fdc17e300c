"""The errors of this package, one class per kind, all subclasses of `CircuitError`; its warnings.

A message says what was asked, what was found, where, and what to do.
"""

import sys
import warnings
from collections.abc import Collection, Generator, Iterable, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TypeVar, cast

Value = TypeVar("Value")

MAX_NAMES = 60
"""Maximum number of names in a message; of more names, only the nearest are listed."""
MAX_MESSAGE_CHARS = 2000
"""Maximum length of a message about a file."""
MAX_NAME_CHARS = 400
"""Maximum length of an unknown name in a message: a file may have one of any length."""
MIN_SIMILARITY = 0.6
"""Minimum share of equal characters of a name that a message suggests."""


class CircuitError(Exception):
    """Base of every error that this package raises for invalid input or a failing rule.

    `trace` is the trace up to the failure, if a recorded compilation ended with this error.
    """

    trace: object | None = None


class GraphError(CircuitError):
    """A graph is malformed: an input or an output does not exist."""


class CycleError(GraphError):
    """The nodes of a graph form a cycle."""


class ShapeError(CircuitError):
    """A shape, arity or number of units differs from the required one."""


class ScopeError(CircuitError):
    """Variables overlap, are missing, or are named twice."""


class StructureError(CircuitError):
    """A circuit lacks a required property (smooth, decomposable ...)."""


class DataTypeError(CircuitError):
    """Data or a parameter has the wrong type."""


class ValueRangeError(CircuitError):
    """A number is out of range."""


class UnknownNameError(CircuitError):
    """A name (semiring, rule, preset, step, circuit ...) is unknown; the message lists the known ones."""


class DuplicateNameError(CircuitError):
    """A name is already taken."""


class FileFormatError(CircuitError):
    """A file cannot be read or written, is truncated, of a different format, or of an unsupported version.

    The message is cut after `MAX_MESSAGE_CHARS`, since it may quote the file.
    """

    def __str__(self) -> str:
        text = super().__str__()
        return text if len(text) <= MAX_MESSAGE_CHARS else f"{text[:MAX_MESSAGE_CHARS]} ..."


class RuleError(CircuitError):
    """A rewrite rule failed or returned an invalid replacement; the message names rule, match and step."""


class LearningError(CircuitError):
    """A circuit or a parameter cannot be learned in the way that was asked for; the message names it."""


class QueryError(CircuitError):
    """A query of a rewrite database is invalid; the message shows the correct form."""


class OperatorError(CircuitError):
    """A tensor operator is unknown, received invalid arguments, or its result has no fixed shape."""


class TypeMismatchError(CircuitError):
    """A variable of a tensor graph cannot replace another one, because their types differ."""


class InconsistencyError(CircuitError):
    """A feature of a graph refused a change; the graph is unchanged."""


class ExportError(CircuitError):
    """A module cannot be converted to a tensor graph; the message names the part and what to do."""


class LoweringError(CircuitError):
    """A circuit or graph has no form at the level or in the backend that was asked for."""


class ConversionError(CircuitError):
    """A circuit of another package has a part without an equal here, or the reverse; the message names it and where."""


class UserCodeError(CircuitError):
    """A function or module of the user raised an error; the message contains its traceback, or its line and reason."""


class MissingPackageError(CircuitError):
    """An optional package is not installed; the message contains the command that installs it."""


class NoKernelError(CircuitError, AttributeError):
    """An attribute of a widget was used on a static picture, which no kernel is connected to."""


class FormError(CircuitError):
    """A form contains an invalid value; `field` is the path of the field."""

    field: str = ""


class LimitWarning(UserWarning):
    """A limit on rounds or rewrites was reached although more rewrites were possible."""


class BackendWarning(UserWarning):
    """A slower backend is used because this machine lacks what a faster one needs."""


class CertificateWarning(UserWarning):
    """A call of a fast circuit has no certificate: the circuit itself answered it, in its own precision."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn with the location of the nearest caller outside of this package, and of PyTorch, which calls modules."""
    inside = (__name__.partition(".")[0], "torch")
    frame, level = sys._getframe(1), 2  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in inside:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def look_up(kind: str, name: str, known: Mapping[str, Value]) -> Value:
    """The value of a name of this kind. Raises: UnknownNameError, which lists the known names."""
    check_name(kind, name, known)
    return known[name]


def check_name(kind: str, name: object, known: Collection[str]) -> None:
    """Raises: UnknownNameError, which lists the known names, if the name of this kind is not among them."""
    if not isinstance(name, str) or name not in known:
        raise unknown_name(kind, name, list(known))


def check_type(what: str, value: object, kind: type, advice: str = "") -> None:
    """Raises: DataTypeError unless this is of a type; `what` names it, and `advice` says what to do."""
    if not isinstance(value, kind):
        do = f"; {advice}" if advice else ""
        wanted, found = kind.__name__, type(value).__name__
        if wanted == found:
            found += f" of {type(value).__module__}"
        raise DataTypeError(f"{what} must be of type {wanted}; found {found}{do}")


def unknown_name(kind: str, name: object, known: "list[str] | tuple[str, ...]", advice: str = "") -> UnknownNameError:
    """Make the error for an unknown name of this kind; `known` are the existing names, `advice` says what to do.

    Of many names, only similar ones are listed.
    """
    shown = repr(name) if len(repr(name)) <= MAX_NAME_CHARS else f"{repr(name)[:MAX_NAME_CHARS]} ..."
    names, do = [str(item) for item in known], f"; {advice}" if advice else ""
    if len(names) <= MAX_NAMES:
        near = did_you_mean(str(name), names)
        return UnknownNameError(f"no {kind} named {shown}; known are: {listed(names)}{near and f'; {near}'}{do}")
    near = get_close_matches(str(name), names, n=5, cutoff=MIN_SIMILARITY)
    if not near:
        return UnknownNameError(f"no {kind} named {shown}, and none of the {len(names)} known ones is similar{do}")
    return UnknownNameError(f"no {kind} named {shown}; of {len(names)} known ones the nearest are: {listed(near)}{do}")


def did_you_mean(name: str, known: Collection[str]) -> str:
    """Ask for the known name that is most like a name, as `did you mean digits?`; empty if none is similar.

    `known` may map names to what is written for them, such as a file in its folder.
    """
    written = cast("Mapping[str, str]", known) if isinstance(known, Mapping) else {item: item for item in known}
    by_lower = {item.lower(): shown for item, shown in written.items()}
    near = get_close_matches(name.lower(), by_lower, n=1, cutoff=MIN_SIMILARITY)
    return f"did you mean {listed([by_lower[near[0]]])}?" if near else ""


def listed(names: Iterable[str], most: int | None = None) -> str:
    """The first names; one with a comma is quoted, since it would look like two.

    >>> listed(["sex", "age, years", "BMI"], 2)
    "sex, 'age, years' ..."
    """
    found = [repr(name) if "," in name else name for name in names]
    return (", ".join(found[:most]) or "(none)") + (" ..." if len(found) > (most or len(found)) else "")


@contextmanager
def located(where: str) -> Generator[None, None, None]:
    """Put where it happened before the message of a `CircuitError`: `where: message`."""
    try:
        yield
    except CircuitError as error:
        error.args = (f"{where}: {error}",)
        raise
