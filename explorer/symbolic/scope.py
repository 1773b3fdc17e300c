"""Scopes: which variables a function reads, as an ascending tuple of variable indices."""

from collections.abc import Iterable

from explorer.errors import ScopeError

Scope = tuple[int, ...]


def make_scope(variables: Iterable[int]) -> Scope:
    """The scope of these variables.

    Raises: ScopeError if a variable is negative or named twice.

    >>> make_scope([3, 1])
    (1, 3)
    """
    given = tuple(int(v) for v in variables)
    if any(v < 0 for v in given):
        raise ScopeError(f"variables are indices from 0; found {given}")
    if len(set(given)) != len(given):
        raise ScopeError(f"each variable may stand once in a scope; found {given}")
    return tuple(sorted(given))


def union(scopes: Iterable[Scope]) -> Scope:
    """All variables of some scopes.

    >>> union([(0, 2), (1, 2)])
    (0, 1, 2)
    """
    return tuple(sorted(set().union(*scopes)))


def shared_variables(scopes: Iterable[Scope]) -> Scope:
    """The variables that stand in two or more of the scopes: empty if the scopes are disjoint.

    >>> shared_variables([(0, 1), (1, 2), (3,)])
    (1,)
    """
    seen: set[int] = set()
    twice: set[int] = set()
    for scope in scopes:
        twice |= seen.intersection(scope)
        seen |= set(scope)
    return tuple(sorted(twice))
