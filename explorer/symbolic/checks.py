"""Type checks: a field of a layer, a parameter node or an initializer has the type of its annotation; scopes.

The annotation is the check, so classes from outside the package are checked too. NumPy scalars become Python numbers.
A class itself checks its fields that are tuples or arrays.

A scope has the variables of a function, as an ascending tuple of variable indices.
"""

import reprlib
from abc import ABC
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from numbers import Real
from types import NoneType, UnionType
from typing import Annotated, Any, Protocol, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from explorer.errors import DataTypeError, ScopeError, ShapeError, ValueRangeError
from explorer.files import MAX_VARIABLE

Scope = tuple[int, ...]


@dataclass(frozen=True)
class AtLeast:
    """The smallest legal value of a field, as part of its annotation: `Annotated[int, AtLeast(0)]`."""

    bound: int


Count = Annotated[int, AtLeast(1)]


def check_fields(node: object) -> None:
    """Check the fields of a frozen node against their annotations, at the beginning of its construction.

    Raises: DataTypeError if a field has a different type, or if the class is abstract; ValueRangeError below a bound.
    """
    for name, kind, taken, bound in _declared_fields(type(node)):
        value = getattr(node, name)
        if type(value) not in taken:
            value = _convert(node, name, value, kind, taken)
            object.__setattr__(node, name, value)
        if bound is not None and value < bound:
            raise ValueRangeError(f"{type(node).__name__} needs {name} >= {bound}; found {value}")


def is_integer(value: object) -> bool:
    """Whether this is a Python or NumPy integer, but not a bool."""
    return type(value) is int or (isinstance(value, (int, np.integer)) and not isinstance(value, bool))


def wrong_type(node: object, name: str, wanted: str, found: object) -> DataTypeError:
    """Make the error for a field of a different type."""
    shown = f"{reprlib.repr(found)} of type {type(found).__name__}"
    return DataTypeError(f"{type(node).__name__}: {name} must be {wanted}; found {shown}")


def check_integers(node: object, name: str, value: object) -> tuple[int, ...]:
    """The value of a field as a tuple of integers. Raises: DataTypeError."""
    entries: Sequence[object] = cast("Sequence[object]", value) if isinstance(value, (tuple, list)) else (None,)
    if not all(map(is_integer, entries)):
        raise wrong_type(node, name, "a tuple of integers", cast("object", value))
    return tuple(int(cast("int", entry)) for entry in entries)


def is_abstract(kind: type) -> bool:
    """Whether a class is abstract, which is to say that ABC is one of its bases."""
    return ABC in kind.__bases__


# For a plain type: the accepted types, the conversion, and the name in errors.
_PLAIN: Mapping[type, tuple[type | UnionType, Callable[[Any], object], str]] = {
    int: (int | np.integer, int, "an integer"),
    float: (Real, lambda value: value if isinstance(value, int) else float(value), "a number"),
    bool: (np.bool_, bool, "True or False"),
    str: (str, str, "a string"),
}
_ADVICE: Mapping[str, str] = {"ParameterNode": " (for fixed values use constant(...))"}

_Declared = tuple[str, type, set[type], int | None]


@cache
def _declared_fields(node_type: type) -> tuple[_Declared, ...]:
    """The fields that are annotated with one class, or with one class or None: name, class, smallest value.

    The set holds the types that need no further check: the annotated ones, and subclasses that were seen before.
    """
    if is_abstract(node_type):
        raise DataTypeError(f"{node_type.__name__} is abstract; use one of its subclasses")
    hints, annotated = get_type_hints(node_type), get_type_hints(node_type, include_extras=True)
    found: list[_Declared] = []
    for name in [field.name for field in fields(node_type) if field.init]:
        options = get_args(hints[name]) if get_origin(hints[name]) in (Union, UnionType) else (hints[name],)
        kinds = [option for option in options if option is not NoneType]
        extras = getattr(annotated[name], "__metadata__", ())
        bound = next((extra.bound for extra in extras if isinstance(extra, AtLeast)), None)
        if len(kinds) == 1 and isinstance(kinds[0], type) and kinds[0] is not Any:
            found.append((name, kinds[0], set(options), bound))
    return tuple(found)


def _convert(node: object, name: str, value: object, kind: type, taken: set[type]) -> Any:
    """The value as the annotated class, with NumPy scalars converted to Python numbers. Raises: DataTypeError."""
    if kind not in _PLAIN:
        if isinstance(value, kind):
            taken.add(type(value))
            return value
        raise wrong_type(node, name, f"a {kind.__name__}{_ADVICE.get(kind.__name__, '')}", value)
    accepted, make, wanted = _PLAIN[kind]
    if isinstance(value, accepted) and not isinstance(value, bool):
        return make(value)
    raise wrong_type(node, name, wanted, value)


class _InnerLayer(Protocol):
    @property
    def num_input_units(self) -> int: ...
    @property
    def num_output_units(self) -> int: ...
    @property
    def arity(self) -> int: ...


def check_output_units(layer: _InnerLayer, wanted: int) -> None:
    """Raises: ShapeError unless an inner layer, symbolic or compiled, has this number of output units."""
    if layer.num_output_units != wanted:
        raise ShapeError(
            f"{type(layer).__name__} of {layer.arity} inputs of {layer.num_input_units} units "
            f"has {wanted} output units; found {layer.num_output_units}"
        )


def make_scope(variables: Iterable[int]) -> Scope:
    """The scope of these variables.

    Raises: ScopeError if a variable is not an integer, negative, duplicate, or above `MAX_VARIABLE`.

    >>> make_scope([3, 1])
    (1, 3)
    """
    given = _indices(variables)
    if any(v < 0 for v in given):
        raise ScopeError(f"variables are non-negative indices; found {given}")
    if max(given, default=0) > MAX_VARIABLE:
        raise ScopeError(
            f"the number of a variable is at most {MAX_VARIABLE}, since rows have a column for each number up to the "
            f"largest; found {max(given)}: number the variables from 0 without gaps"
        )
    if len(set(given)) != len(given):
        raise ScopeError(f"each variable may occur once in a scope; found {given}")
    return tuple(sorted(given))


def union(scopes: Iterable[Scope]) -> Scope:
    """The union of scopes.

    >>> union([(0, 2), (1, 2)])
    (0, 1, 2)
    """
    return tuple(sorted(set[int]().union(*scopes)))


def shared_variables(scopes: Iterable[Scope]) -> Scope:
    """The variables of two or more of the scopes; empty if the scopes are disjoint.

    >>> shared_variables([(0, 1), (1, 2), (3,)])
    (1,)
    """
    seen: set[int] = set()
    twice: set[int] = set()
    for scope in scopes:
        twice |= seen.intersection(scope)
        seen |= set(scope)
    return tuple(sorted(twice))


def _indices(variables: object) -> Scope:
    if not isinstance(variables, Iterable):
        raise ScopeError(f"a scope is a list of variables, like (0,); found {variables!r}")
    given = tuple(cast("Iterable[int]", variables))
    if not all(map(is_integer, given)):
        raise ScopeError(f"variables are integer indices; found {given}")
    return tuple(map(int, given))
