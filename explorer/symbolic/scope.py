"""Scopes: the variables of a function, as an ascending tuple of variable indices."""

from collections.abc import Iterable
from typing import cast

from explorer.errors import ScopeError
from explorer.files import MAX_VARIABLE
from explorer.symbolic.checks import is_integer

Scope = tuple[int, ...]


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
