"""The role of each field of a node: config, parameter graph, scope, number of folds, or a nested node.

A node is a frozen dataclass with its config as fields. A field that is something else says so in its metadata:
`weight: TorchParameter = field(metadata=PARAMETER)`. Fold keys, text, traces and views read the fields through
the functions below, so nothing is declared twice.
"""

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

CONFIG: Mapping[str, str] = MappingProxyType({"role": "config"})
PARAMETER: Mapping[str, str] = MappingProxyType({"role": "parameter"})
SCOPE: Mapping[str, str] = MappingProxyType({"role": "scope"})
FOLDS: Mapping[str, str] = MappingProxyType({"role": "folds"})
NESTED: Mapping[str, str] = MappingProxyType({"role": "nested"})

LayerKind = Literal["input", "sum", "product", "fused", "operator"]
"""The role of a layer, which determines how it is drawn: only rules create fused layers; operator is anything else."""


@cache
def field_names(node_type: type, role: str) -> tuple[str, ...]:
    """Names of the fields of a node class that have a role, in order of declaration."""
    return tuple(f.name for f in fields(node_type) if f.metadata.get("role", "config") == role)


def subclasses(base: type) -> list[type]:
    """A class and all subclasses of it that exist now; of two with one name, the later definition comes later."""
    found = [base]
    for kind in found:
        found.extend(kind.__subclasses__())
    return found


def config_of(node: object) -> dict[str, Any]:
    """The config of a node: name -> value."""
    return {name: getattr(node, name) for name in field_names(node.__class__, "config")}


def config_settings(node: object) -> tuple[tuple[str, Any], ...]:
    """The config of a node as (name, value) pairs."""
    return tuple([(name, getattr(node, name)) for name in field_names(node.__class__, "config")])


def parameters_of(node: object) -> dict[str, Any]:
    """The parameter graphs of a node: name -> graph. A parameter that is absent (None) is left out."""
    names = field_names(node.__class__, "parameter")
    return {name: value for name in names if (value := getattr(node, name)) is not None} if names else {}


NodeKey = tuple[type | str, tuple[tuple[str, Any], ...]]
"""A type, or its name, and (name, value) pairs that the nodes of a group have in common."""


def key_differences(one: NodeKey, other: NodeKey) -> tuple[tuple[str, Any, Any], ...]:
    """The fields in which two keys differ: (name, value here, value there); none if they are equal.

    A field that only one of them has is None in the other. Types are given by name; keys of two types differ in type.

    >>> key_differences(("Sum", (("units", 4),)), ("Sum", (("units", 1),)))
    (('units', 4, 1),)
    """
    if one[0] != other[0]:
        return (("type", _type_name(one[0]), _type_name(other[0])),)
    here, there = dict(one[1]), dict(other[1])
    pairs = [(name, here.get(name), there.get(name)) for name in dict.fromkeys([*here, *there])]
    return tuple((name, _type_name(mine), _type_name(theirs)) for name, mine, theirs in pairs if mine != theirs)


def _type_name(value: Any) -> Any:
    return value.__name__ if isinstance(value, type) else value


def nested_of(node: object) -> dict[str, Any]:
    """The nodes nested in a node (an evidence layer contains the observed layer): name -> node."""
    names = field_names(node.__class__, "nested")
    return {name: getattr(node, name) for name in names} if names else {}
