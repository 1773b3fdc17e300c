"""The calling convention of a tensor graph: structure of arguments and results, and the state that a call changes.

Keywords may come in another order than in the export, but not the keys of dicts: a module may use their order.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from explorer.errors import OperatorError
from explorer.tensor.ir.schemas import exact


def restore_order(
    args: tuple[Any, ...], kwargs: dict[str, Any], spec: pytree.TreeSpec, collected: Sequence[str]
) -> Any:
    """Put keywords into the order of the export, where they are the same.

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
    names = spec.child(1).context
    return args, {name: kwargs[name] for name in names} if set(names) == set(kwargs) else kwargs


def why_not_same(wanted: pytree.TreeSpec, found: pytree.TreeSpec) -> str:
    """Return the first difference of two structures of arguments: `expected X, got Y`."""
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
    words = f"expected {_kind(one)} as {place}, as when the module was exported, got {_kind(other)}"
    is_reordered = one.type is other.type and one.type in (dict, OrderedDict) and set(one.context) == set(other.context)
    return words + (": the module may use the order of the keys" if is_reordered else "")


def _describe(spec: pytree.TreeSpec) -> str:
    positional, named = spec.children()
    parts = [_count(positional.num_children, "positional argument")]
    if named.num_children:
        parts.append(f"the keywords {', '.join(named.context)}")
    return f"{' and '.join(parts)} with {_count(spec.num_leaves, 'value')}"


def _kind(spec: pytree.TreeSpec) -> str:
    """Describe a structure without its contents."""
    if spec.is_leaf():
        return "one value"
    if spec.type in (dict, OrderedDict):
        return f"a {spec.type.__name__} with {_count(spec.num_children, 'key')} ({', '.join(map(repr, spec.context))})"
    return f"a {spec.type.__name__} with {_count(spec.num_children, 'part')}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


@dataclass(frozen=True, slots=True, eq=False)
class Mutation:
    """A buffer that a call updates: its name, and the tensor that holds it."""

    name: str
    data: torch.Tensor


class Arguments(tuple[Any, ...]):
    """The positional arguments of a call, with its keyword arguments."""

    by_name: Mapping[str, Any]

    def __new__(cls, positional: Sequence[Any], by_name: Mapping[str, Any] | None = None) -> "Arguments":
        made = super().__new__(cls, positional)
        made.by_name = dict(by_name or {})
        return made


def _flatten(arguments: Arguments) -> tuple[list[Any], tuple[str, ...]]:
    return [*arguments, *arguments.by_name.values()], tuple(arguments.by_name)


def _unflatten(values: Iterable[Any], names: tuple[str, ...]) -> Arguments:
    given = list(values)
    split = len(given) - len(names)
    return Arguments(given[:split], dict(zip(names, given[split:], strict=True)))


pytree.register_pytree_node(
    Arguments, _flatten, _unflatten, serialized_type_name="explorer.tensor.graph.interface.Arguments"
)


@dataclass(frozen=True, slots=True, eq=False)
class ModuleTensor:
    """A parameter, buffer or other tensor of the module that a graph was imported from.

    `saved`: it is in the module's state dict. `spare`: the graph never read it, so no rewrite can have replaced it.
    """

    name: str
    data: torch.Tensor
    saved: bool
    trainable: bool
    spare: bool


@dataclass(frozen=True)
class Sharing:
    """The inputs, constants and earlier outputs with which an output shares memory."""

    inputs: frozenset[int] = frozenset()
    constants: bool = False
    outputs: frozenset[int] = frozenset()

    def is_within(self, other: "Sharing") -> bool:
        """Return whether the other shares at least as much."""
        return self.inputs <= other.inputs and self.constants <= other.constants and self.outputs <= other.outputs


@dataclass(frozen=True)
class Interface:
    """Structure of arguments and results; None: positional tensors, and one tensor or a tuple of them.

    `mutations` are the buffers that a call updates; their new values are the first outputs of the graph.
    """

    arguments: pytree.TreeSpec | None = None
    results: pytree.TreeSpec | None = None
    mutations: tuple[Mutation, ...] = ()
    fixed: tuple[tuple[int, Any], ...] = ()
    """Positions and values of flat arguments other than tensors, for which the graph is specialized."""
    shared: tuple[Sharing, ...] | None = None
    """The sharing of each output of the graph at import."""
    state: tuple[ModuleTensor, ...] = ()
    """All tensors of the module."""
    fixed_results: tuple[tuple[int, Any], ...] = ()
    """Positions and values of flat results other than tensors, which are the same in each call."""

    argument_strides: tuple[tuple[int, ...], ...] = ()
    """Strides of the tensors that the module was exported with."""
    result_strides: tuple[tuple[int, ...], ...] = ()
    """Strides of the tensors that it returned."""
    training_modes: frozenset[bool] = frozenset()
    """Modes of its submodules that compute something else in training than in evaluation."""
    collected_keywords: tuple[str, ...] = ()
    """The keywords that the module collects (`**kwargs`), in the order of the export."""

    def __deepcopy__(self, memo: object) -> "Interface":
        return self

    def with_strides(self, results: Sequence[torch.Tensor], arguments: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Copy results, unless a caller can write into and read them like the results of the module.

        Arguments with the strides of the export have results with the strides of the module, if these are dense. For
        other arguments it is only known whether a result of the module has overlapping elements.
        """
        if not self.result_strides:
            return list(results)
        known = zip(arguments, self.argument_strides, strict=True)
        alike = all(same_strides(value.shape, value.stride(), wanted) for value, wanted in known)
        return [_lay_out(value, wanted, alike) for value, wanted in zip(results, self.result_strides, strict=True)]

    def flat_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Return the tensors that the graph accepts, keywords by name.

        Raises: OperatorError for arguments of another structure or value.
        """
        if self.arguments is None:
            if kwargs:
                raise OperatorError(f"expected positional tensors, got the keywords {', '.join(kwargs)}")
            return list(args)
        flat, spec = pytree.tree_flatten((args, kwargs))
        if spec != self.arguments:
            flat, spec = pytree.tree_flatten(self.ordered_arguments(args, kwargs))
        if spec != self.arguments:
            raise OperatorError(why_not_same(self.arguments, spec))
        for position, value in self.fixed:
            if not isinstance(flat[position], type(value)) or exact(flat[position]) != exact(value):
                raise OperatorError(
                    f"expected {value!r} as argument {position}, its value when the module was exported, "
                    f"got {flat[position]!r}; export again to change it"
                )
        known = {position for position, _ in self.fixed}
        return [value for position, value in enumerate(flat) if position not in known]

    def ordered_arguments(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Put arguments into the order of the export. Raises: OperatorError if the module may see another order."""
        if self.arguments is None:
            return args, kwargs
        return restore_order(args, kwargs, self.arguments, self.collected_keywords)

    def structured_results(self, results: list[Any]) -> Any:
        """Return the results in the structure that the module returned."""
        if self.results is None:
            return results[0] if len(results) == 1 else tuple(results)
        flat = list(results)
        for position, value in self.fixed_results:
            flat.insert(position, value)
        return pytree.tree_unflatten(flat, self.results)


def same_strides(shape: Sequence[int], one: Sequence[int], other: Sequence[int]) -> bool:
    """Return whether strides are the same for a shape: axes of size 1, and empty tensors, have no stride."""
    return 0 in shape or all(a == b for size, a, b in zip(shape, one, other, strict=True) if size != 1)


def _lay_out(value: torch.Tensor, wanted: tuple[int, ...], alike: bool) -> torch.Tensor:
    strides = value.stride()
    expanded = any(n > 1 and not now and then for n, now, then in zip(value.shape, strides, wanted, strict=True))
    if not expanded and (not alike or same_strides(value.shape, strides, wanted)):
        return value
    axes = sorted(range(value.ndim), key=lambda axis: -wanted[axis])
    dense = value.permute(axes).clone(memory_format=torch.contiguous_format)
    laid_out = dense.permute([axes.index(axis) for axis in range(value.ndim)])
    return laid_out if expanded or same_strides(value.shape, laid_out.stride(), wanted) else value


PLAIN = Interface()
