"""Matching a pattern at an application, with the reason why it does not match."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from explorer.tensor.ir.ops import Op
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.variables import Apply, Constant, Variable
from explorer.tensor.rewriting.pattern_language import Asterisk, Bindings, function_name, num_entries, pattern_text
from explorer.tensor.rewriting.rewriters import is_tracked, tracked_name
from explorer.trace import Check, Refusal, RefusalKind

COMMUTATIVE = frozenset((aten.add.Tensor, aten.mul.Tensor, aten.maximum.default, aten.minimum.default))
"""Operators whose two inputs may be exchanged; `add` only with alpha=1."""


@dataclass(frozen=True, slots=True, eq=False)
class PatternMatch:
    """A match of a pattern: the bindings of its variables, and the applications that it covers, the root first."""

    bindings: Bindings
    nodes: tuple[Apply, ...]


@dataclass(slots=True)
class Search:
    """One attempt to match; keeps the failure that got furthest."""

    pattern: str
    root: Apply
    allow_multiple_clients: bool
    commutative: bool
    checks: list[Check] | None = None
    furthest: Refusal | None = None

    def refuse(self, entry: int, node: Apply, kind: RefusalKind, **facts: Any) -> None:
        """Keep a failure if none got further."""
        if self.furthest is None or entry >= self.furthest.entry:
            self.furthest = Refusal(self.pattern, self.root.id, entry, node.id, kind, **facts)

    def ask(self, entry: int, node: Apply, question: str, passed: bool) -> bool:
        """Record a question and its answer; returns the answer."""
        if self.checks is not None:
            self.checks.append(Check(entry, node.id, question, passed))
        return passed


def match_pattern(
    search: Search,
    pattern: Any,
    variable: Variable,
    bindings: dict[str, Any],
    nodes: tuple[Apply, ...],
    entry: int,
    reader: Apply | None,
) -> Iterator[tuple[dict[str, Any], tuple[Apply, ...]]]:
    """All matches of a pattern at a variable; `entry` counts the entries of the pattern from the root."""
    here = reader or search.root
    if isinstance(pattern, dict):
        for found, seen in match_pattern(search, pattern["pattern"], variable, bindings, nodes, entry, reader):
            holds = bool(pattern["constraint"](variable))
            if search.ask(entry, here, f"does {function_name(pattern['constraint'])} hold?", holds):
                yield found, seen
            else:
                wanted = function_name(pattern["constraint"])
                search.refuse(
                    entry,
                    variable.owner or here,
                    RefusalKind.CONFIG_DIFFERS,
                    what="constraint",
                    wanted=wanted,
                    found="no",
                )
        return
    if isinstance(pattern, str):
        known = bindings.get(pattern)
        if search.ask(entry, here, f"can {pattern!r} match here?", known is None or _same(known, variable)):
            yield {**bindings, pattern: variable}, nodes
        else:
            facts = {"what": pattern, "found": _number(variable), "wanted": _number(known)}
            search.refuse(entry, here, RefusalKind.OTHER_VALUE, **facts)
        return
    if isinstance(pattern, int | float | Constant):
        if search.ask(entry, here, f"is it the constant {pattern_text(pattern)}?", _is_constant(variable, pattern)):
            yield bindings, nodes
        else:
            facts = {"what": "input", "found": _describe(variable), "wanted": pattern_text(pattern)}
            search.refuse(entry, here, RefusalKind.CONFIG_DIFFERS, **facts)
        return
    yield from _match_operator(search, pattern, variable, bindings, nodes, entry, here, is_root=reader is None)


def _match_operator(
    search: Search,
    pattern: tuple[Any, ...],
    variable: Variable,
    bindings: dict[str, Any],
    nodes: tuple[Apply, ...],
    entry: int,
    here: Apply,
    is_root: bool,
) -> Iterator[tuple[dict[str, Any], tuple[Apply, ...]]]:
    wanted = tracked_name(pattern[0])
    owner = variable.owner
    fits = owner is not None and is_tracked(owner.op, pattern[0])
    if not search.ask(entry, owner or here, f"is it {wanted}?", fits) or owner is None:
        if owner is None:
            facts = {"what": "input", "found": _describe(variable), "wanted": wanted}
            search.refuse(entry, here, RefusalKind.CONFIG_DIFFERS, **facts)
        else:
            search.refuse(entry, owner, RefusalKind.WRONG_TYPE, found=owner.op.name, wanted=wanted)
        return
    if not is_root and not search.allow_multiple_clients:
        count = len(variable.clients)
        if not search.ask(entry, owner, "is it read only here?", count < 2):
            search.refuse(entry, owner, RefusalKind.SEVERAL_USERS, found=count)
            return
    inputs = pattern[1:]
    rest = inputs[-1] if inputs and isinstance(inputs[-1], Asterisk) else None
    fixed = inputs[:-1] if rest is not None else inputs
    enough = len(owner.inputs) >= len(fixed) if rest is not None else len(owner.inputs) == len(fixed)
    if not search.ask(entry, owner, f"does it have {len(fixed)} inputs?", enough):
        facts = {"what": "number of inputs", "found": len(owner.inputs), "wanted": len(fixed)}
        search.refuse(entry, owner, RefusalKind.CONFIG_DIFFERS, **facts)
        return
    seen = (*nodes, owner)
    for order in _orders(search, owner, rest is None):
        for found, covered in _match_inputs(
            search, fixed, [owner.inputs[i] for i in order], bindings, seen, entry + 1, owner
        ):
            if rest is not None:
                found = {**found, rest.name: tuple(owner.inputs[len(fixed) :])}
            yield found, covered


def _match_inputs(
    search: Search,
    patterns: Sequence[Any],
    variables: Sequence[Variable],
    bindings: dict[str, Any],
    nodes: tuple[Apply, ...],
    entry: int,
    owner: Apply,
) -> Iterator[tuple[dict[str, Any], tuple[Apply, ...]]]:
    if not patterns:
        yield bindings, nodes
        return
    size = num_entries(patterns[0])
    for found, seen in match_pattern(search, patterns[0], variables[0], bindings, nodes, entry, owner):
        yield from _match_inputs(search, patterns[1:], variables[1:], found, seen, entry + size, owner)


def _orders(search: Search, owner: Apply, whole: bool) -> Iterator[tuple[int, ...]]:
    """The orders in which the inputs are tried, the given one first."""
    straight = tuple(range(len(owner.inputs)))
    yield straight
    if search.commutative and whole and is_commutative(owner.op):
        yield from (order for order in permutations(straight) if order != straight)


def is_commutative(op: Op) -> bool:
    """Whether the two inputs of an operator may be exchanged."""
    return op.target in COMMUTATIVE and dict(op.arguments).get("alpha", 1) == 1


def _same(known: Any, variable: Variable) -> bool:
    if known is variable:
        return True
    if isinstance(known, Constant) and isinstance(variable, Constant):
        return known.signature == variable.signature
    return False


def _is_constant(variable: Variable, wanted: "float | Constant") -> bool:
    if not isinstance(variable, Constant) or variable.trainable:
        return False
    if isinstance(wanted, Constant):
        return variable.signature == wanted.signature
    return variable.number is not None and variable.number == wanted


def _number(variable: Any) -> object:
    if isinstance(variable, Variable):
        return variable.owner.id if variable.owner is not None else variable.name or _describe(variable)
    return str(variable)


def _describe(variable: Variable) -> str:
    if variable.owner is not None:
        return variable.owner.op.name
    if isinstance(variable, Constant):
        number = variable.number
        if number is None:
            return variable.name or "a constant"
        return f"{number:g}" if isinstance(number, float) else str(number)
    return variable.name or "an input"
