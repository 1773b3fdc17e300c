"""`PatternSub`: replaces one pattern by another, as in `PatternSub((div, (mul, "x", "y"), "y"), "x")`.

Matching keeps the reason why a pattern does not match.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from explorer.errors import RuleError
from explorer.rewrite import Exactness, source_of_caller
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.ops import Op, apply_op
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.types import TensorType
from explorer.tensor.ir.variables import Apply, Constant, Variable
from explorer.tensor.rewriting.pattern_language import (
    Asterisk,
    Bindings,
    build,
    check_pattern,
    check_replacement,
    function_name,
    names_in,
    num_entries,
    pattern_text,
)
from explorer.tensor.rewriting.rewriters import LocalRewriter, Tracked, is_tracked, tracked_name
from explorer.trace import Check, Refusal, RefusalKind

COMMUTATIVE = frozenset((aten.add.Tensor, aten.mul.Tensor, aten.maximum.default, aten.minimum.default))
"""Commutative operators; `add` only with alpha=1."""


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
    """Yield all matches of a pattern at a variable; `entry` counts the entries of the pattern from the root."""
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
    """Yield the orders in which the inputs are tried, the given one first."""
    straight = tuple(range(len(owner.inputs)))
    yield straight
    if search.commutative and whole and is_commutative(owner.op):
        yield from (order for order in permutations(straight) if order != straight)


def is_commutative(op: Op) -> bool:
    """Return whether the two inputs of an operator may be exchanged."""
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


class PatternSub(LocalRewriter):
    """Replaces all occurrences of one pattern by another; see `pattern_language` for patterns.

    `replacement` is a pattern as well (a string: the variable bound to it; a number: a constant), or a function of
    (root, bindings) that returns a variable, False, or `Declined`. Unless `allow_multiple_clients`, only the root and
    the bound variables may be used outside of a match. With `commutative` the inputs of sums and products are tried in
    both orders, the given one first. A replacement of another dtype is cast if `allow_cast`; one of another type is
    declined.
    Raises: RuleError if `pattern` is not a valid pattern, or `replacement` is not valid or uses names that are
    not in it.
    """

    def __init__(
        self,
        pattern: Any,
        replacement: Any,
        *,
        name: str = "",
        allow_multiple_clients: bool = False,
        commutative: bool = False,
        allow_cast: bool = True,
        exactness: Exactness = Exactness.REAL,
        doc: str = "",
        reentrant: bool = True,
    ) -> None:
        if not isinstance(pattern, tuple) or not pattern:
            raise RuleError(f"expected a tuple that begins with an operator, got {pattern!r}")
        check_pattern(pattern)
        if not callable(replacement):
            check_replacement(replacement)
        self.pattern: tuple[Any, ...] = pattern
        self.replacement = replacement
        self.name = name or f"{pattern_text(pattern)} -> {pattern_text(replacement)}"
        self.allow_multiple_clients = allow_multiple_clients
        self.commutative = commutative
        self.allow_cast = allow_cast
        self.exactness = exactness
        self.reentrant = reentrant
        self._doc = doc or f"Replace {pattern_text(pattern)} by {pattern_text(replacement)}."
        self._source = source_of_caller()
        self._last: PatternMatch | None = None
        unbound = names_in(replacement) - names_in(pattern) if not callable(replacement) else set[str]()
        if unbound:
            raise RuleError(f"the replacement of {self.name} uses {', '.join(sorted(unbound))}, not in the pattern")

    def tracks(self) -> Sequence[Tracked]:
        return (self.pattern[0],)

    def matched_nodes(self, node: Apply) -> Sequence[Apply]:
        last = self._last
        return last.nodes if last is not None and last.nodes[0] is node else (node,)

    def match(self, node: Apply, checks: list[Check] | None = None) -> "PatternMatch | Refusal":
        """Match the pattern at an application, or say why it does not match. Appends its questions to `checks`."""
        search = Search(self.label, node, self.allow_multiple_clients, self.commutative, checks)
        if len(node.outputs) != 1:
            count = len(node.outputs)
            search.refuse(0, node, RefusalKind.CONFIG_DIFFERS, what="number of results", found=count, wanted=1)
        else:
            for bindings, nodes in match_pattern(search, self.pattern, node.outputs[0], {}, (), 0, None):
                return PatternMatch(bindings, nodes)
        assert search.furthest is not None
        return search.furthest

    def transform(self, node: Apply) -> Rewrite:
        self._last = None
        found = self.match(node)
        if isinstance(found, Refusal):
            return found
        given = (
            self.replacement(node, found.bindings)
            if callable(self.replacement)
            else build(self.replacement, found.bindings, node.outputs[0])
        )
        if given is False or given is None or isinstance(given, Declined):
            return given
        result = self._cast(node, given)
        if isinstance(result, Variable):
            self._last = found
            return [result]
        return result

    def _cast(self, node: Apply, given: Any) -> "Variable | Declined":
        old = node.outputs[0]
        if not isinstance(given, Variable):
            raise RuleError(f"the replacement returned {given!r}; expected a variable, False or Declined")
        if given.type == old.type:
            return given
        new, wanted = given.type, old.type
        if isinstance(new, TensorType) and isinstance(wanted, TensorType) and new.shape == wanted.shape:
            plain = new.quantization is None and wanted.quantization is None
            if self.allow_cast and plain and new.dtype != wanted.dtype:
                return apply_op(Op.of(aten._to_copy.default, dtype=wanted.dtype), [given]).outputs[0]
        return Declined(f"the replacement is a {new}, and the replaced variable a {wanted}")
