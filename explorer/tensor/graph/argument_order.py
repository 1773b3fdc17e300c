"""Arguments in the order in which they were exported: keywords and dicts may come in any other one."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from torch.utils import _pytree as pytree

from explorer.errors import OperatorError


def in_order(args: tuple[Any, ...], kwargs: dict[str, Any], spec: pytree.TreeSpec, collected: Sequence[str]) -> Any:
    """The arguments with the keys of keywords and dicts in the order of the export, where they are the same keys.

    `collected` are the keywords that the module collects (`**kwargs`): it sees their order.
    Raises: OperatorError if these come in another order than in the export.
    """
    found = [name for name in kwargs if name in collected]
    if found != list(collected) and set(found) == set(collected):
        raise OperatorError(
            f"expected the keywords {', '.join(collected)} in this order, as when the module was exported, got "
            f"{', '.join(found)}: the module collects them in one dict, whose order it may use; call it in this order, "
            "or export again"
        )
    return _reorder((args, kwargs), spec)


def why_not_same(wanted: pytree.TreeSpec, found: pytree.TreeSpec) -> str:
    """The first difference of two structures of arguments: `expected X, got Y`."""
    names = [set(spec.child(1).context) for spec in (wanted, found)]
    if wanted.child(0).num_children != found.child(0).num_children or names[0] != names[1]:
        return f"expected {_describe(wanted)}, as when the module was exported, got {_describe(found)}"
    where = [f"argument {i}" for i in range(wanted.child(0).num_children)]
    where += [f"the keyword {name}" for name in wanted.child(1).context]
    pairs = [pair for i in (0, 1) for pair in zip(wanted.child(i).children(), found.child(i).children(), strict=True)]
    place, (one, other) = next((name, pair) for name, pair in zip(where, pairs, strict=True) if pair[0] != pair[1])
    while _kind(one) == _kind(other):
        i = next(i for i in range(one.num_children) if one.child(i) != other.child(i))
        place += f"[{one.context[i]!r}]" if one.type in (dict, OrderedDict) else f"[{i}]"
        one, other = one.child(i), other.child(i)
    return f"expected {_kind(one)} as {place}, as when the module was exported, got {_kind(other)}"


def _reorder(value: Any, spec: pytree.TreeSpec) -> Any:
    kind = pytree._get_node_type(value)
    if spec.is_leaf() or kind is not spec.type:
        return value
    handler = pytree.SUPPORTED_NODES[kind]
    children, context = handler.flatten_fn(value)
    if kind in (dict, OrderedDict) and set(context) == set(spec.context):
        by_key = dict(zip(context, children, strict=True))
        children, context = [by_key[key] for key in spec.context], spec.context
    if len(children) != spec.num_children:
        return value
    return handler.unflatten_fn(map(_reorder, children, spec.children()), context)


def _describe(spec: pytree.TreeSpec) -> str:
    positional, named = spec.children()
    parts = [_count(positional.num_children, "positional argument")]
    if named.num_children:
        parts.append(f"the keywords {', '.join(named.context)}")
    return f"{' and '.join(parts)} with {_count(spec.num_leaves, 'value')}"


def _kind(spec: pytree.TreeSpec) -> str:
    """A structure in words, without what is inside."""
    if spec.is_leaf():
        return "one value"
    if spec.type in (dict, OrderedDict):
        return f"a {spec.type.__name__} with {_count(spec.num_children, 'key')} ({', '.join(map(repr, spec.context))})"
    return f"a {spec.type.__name__} with {_count(spec.num_children, 'part')}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
