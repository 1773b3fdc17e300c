"""Patterns of expressions: `PatternSub((div, (mul, "x", "y"), "y"), "x")`.

A pattern is a tuple of an operator and the patterns of its inputs; a text is a variable of the pattern, a number a
constant whose elements all are that number, a `Constant` one of the same content, `Asterisk("xs")` all inputs that
are left; `{"pattern": p, "constraint": f}` asks f about the variable that p matched. Source: Theano, PatternSub.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import inf
from typing import Any

import torch
from torch._ops import OpOverload, OpOverloadPacket

from explorer.errors import RuleError
from explorer.rewrite import Exactness, source_of_caller
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.ops import Op, apply_op, number_constant
from explorer.tensor.ir.types import TensorType
from explorer.tensor.ir.variables import Apply, Constant, Variable
from explorer.tensor.rewriting.rewriters import LocalRewriter, OpPattern, Tracked, is_tracked, tracked_name
from explorer.trace import Check, Refusal, RefusalKind

aten = torch.ops.aten
COMMUTATIVE = frozenset((aten.add.Tensor, aten.mul.Tensor, aten.maximum.default, aten.minimum.default))
"""Operators whose two inputs may change places; `add` only without a factor."""


@dataclass(frozen=True, slots=True)
class Asterisk:
    """As the last input of a pattern: all inputs that are left, none too; the name stands for a tuple of variables."""

    name: str


Bindings = Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class PatternMatch:
    """A pattern found: what its variables stand for, and the applications it covers, the root first."""

    bindings: Bindings
    nodes: tuple[Apply, ...]


@dataclass(slots=True)
class _Search:
    """One attempt; keeps the failure that came furthest."""

    pattern: str
    root: Apply
    allow_multiple_clients: bool
    commutative: bool
    checks: list[Check] | None = None
    furthest: Refusal | None = None

    def refuse(self, entry: int, node: Apply, kind: RefusalKind, **facts: Any) -> None:
        """Keep a failure if none came further."""
        if self.furthest is None or entry >= self.furthest.entry:
            self.furthest = Refusal(self.pattern, self.root.id, entry, node.id, kind, **facts)

    def ask(self, entry: int, node: Apply, question: str, passed: bool) -> bool:
        if self.checks is not None:
            self.checks.append(Check(entry, node.id, question, passed))
        return passed


class PatternSub(LocalRewriter):
    """Replaces all occurrences of one pattern by another.

    `replacement` is a pattern as well (a text: what the variable stands for; a number: a constant), or a function of
    (root, bindings) that gives a variable, False, or `Declined`. Unless `allow_multiple_clients`, nothing inside of a
    match may be read from outside; the root and what variables stand for may. With `commutative` the inputs of sums
    and products are tried in any order, as they stand first. A replacement of another type is cast if `allow_cast`
    and only the dtype differs, else it is declined.
    Raises: RuleError for what is no pattern.
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
            raise RuleError(f"a pattern is a tuple that begins with an operator; found {pattern!r}")
        _check(pattern)
        self.pattern: tuple[Any, ...] = pattern
        self.replacement = replacement
        self.name = name or f"{pattern_text(pattern)} -> {pattern_text(replacement)}"
        self.allow_multiple_clients = allow_multiple_clients
        self.commutative = commutative
        self.allow_cast = allow_cast
        self.exactness = exactness
        self.reentrant = reentrant
        self._doc = doc
        self._source = source_of_caller()
        self._last: PatternMatch | None = None
        unbound = _names(replacement) - _names(pattern) if not callable(replacement) else set[str]()
        if unbound:
            raise RuleError(f"the replacement of {self.name} uses {', '.join(sorted(unbound))}, not in the pattern")

    @property
    def doc(self) -> str:
        return self._doc or f"{pattern_text(self.pattern)} is {pattern_text(self.replacement)}."

    @property
    def source(self) -> str:
        return self._source

    def tracks(self) -> Sequence[Tracked]:
        return (self.pattern[0],)

    def matched(self, node: Apply) -> Sequence[Apply]:
        last = self._last
        return last.nodes if last is not None and last.nodes[0] is node else (node,)

    def match(self, node: Apply, checks: list[Check] | None = None) -> "PatternMatch | Refusal":
        """The pattern at an application: what it stands for, or why it does not match. Tells `checks` its questions."""
        search = _Search(self.label, node, self.allow_multiple_clients, self.commutative, checks)
        if len(node.outputs) != 1:
            count = len(node.outputs)
            search.refuse(0, node, RefusalKind.CONFIG_DIFFERS, what="number of results", found=count, wanted=1)
        else:
            for bindings, nodes in _match(search, self.pattern, node.outputs[0], {}, (), 0, None):
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
            else _reify(self.replacement, found.bindings, node.outputs[0])
        )
        if given is False or given is None or isinstance(given, Declined):
            return given
        fitted = self._fitted(node, given)
        if isinstance(fitted, Variable):
            self._last = found
            return [fitted]
        return fitted

    def _fitted(self, node: Apply, given: Any) -> "Variable | Declined":
        old = node.outputs[0]
        if not isinstance(given, Variable):
            raise RuleError(f"the replacement gave {given!r}; give a variable, False or Declined")
        if given.type == old.type:
            return given
        new, wanted = given.type, old.type
        if isinstance(new, TensorType) and isinstance(wanted, TensorType) and new.shape == wanted.shape:
            plain = new.quantization is None and wanted.quantization is None
            if self.allow_cast and plain and new.dtype != wanted.dtype:
                return apply_op(Op.of(aten._to_copy.default, dtype=wanted.dtype), [given]).outputs[0]
        return Declined(f"the replacement is a {new}, and what it replaces a {wanted}")


def _match(
    search: _Search,
    pattern: Any,
    variable: Variable,
    bindings: dict[str, Any],
    nodes: tuple[Apply, ...],
    entry: int,
    reader: Apply | None,
) -> Iterator[tuple[dict[str, Any], tuple[Apply, ...]]]:
    """All ways in which a pattern stands for a variable; `entry` counts the parts of the pattern from the root."""
    here = reader or search.root
    if isinstance(pattern, dict):
        for found, seen in _match(search, pattern["pattern"], variable, bindings, nodes, entry, reader):
            said = pattern["constraint"](variable)
            if search.ask(entry, here, f"does {_function_name(pattern['constraint'])} hold?", bool(said)):
                yield found, seen
            else:
                wanted = _function_name(pattern["constraint"])
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
        if search.ask(entry, here, f"can {pattern!r} stand here?", known is None or _same(known, variable)):
            yield {**bindings, pattern: variable}, nodes
        else:
            facts = {"what": pattern, "found": _number(variable), "wanted": _number(known)}
            search.refuse(entry, here, RefusalKind.OTHER_VALUE, **facts)
        return
    if isinstance(pattern, int | float | Constant):
        if search.ask(entry, here, f"is it the constant {pattern_text(pattern)}?", _is_constant(variable, pattern)):
            yield bindings, nodes
        else:
            facts = {"what": "input", "found": _described(variable), "wanted": pattern_text(pattern)}
            search.refuse(entry, here, RefusalKind.CONFIG_DIFFERS, **facts)
        return
    yield from _match_operator(search, pattern, variable, bindings, nodes, entry, here, is_root=reader is None)


def _match_operator(
    search: _Search,
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
            facts = {"what": "input", "found": _described(variable), "wanted": wanted}
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
    if not search.ask(entry, owner, f"does it take {len(fixed)} inputs?", enough):
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
    search: _Search,
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
    size = _parts(patterns[0])
    for found, seen in _match(search, patterns[0], variables[0], bindings, nodes, entry, owner):
        yield from _match_inputs(search, patterns[1:], variables[1:], found, seen, entry + size, owner)


def _orders(search: _Search, owner: Apply, whole: bool) -> Iterator[tuple[int, ...]]:
    """The orders in which the inputs are tried."""
    straight = tuple(range(len(owner.inputs)))
    yield straight
    if search.commutative and whole and is_commutative(owner.op):
        yield from (order for order in permutations(straight) if order != straight)


def is_commutative(op: Op) -> bool:
    """Whether the two inputs of an operator may change places."""
    return op.target in COMMUTATIVE and dict(op.arguments).get("alpha", 1) == 1


def _parts(pattern: Any) -> int:
    """How many entries a pattern has."""
    if isinstance(pattern, dict):
        return _parts(pattern["pattern"])
    return 1 + sum(_parts(part) for part in pattern[1:]) if isinstance(pattern, tuple) else 1


def _reify(pattern: Any, bindings: Bindings, like: Variable) -> Variable:
    """The variable that a pattern makes of what its variables stand for."""
    if isinstance(pattern, str):
        return bindings[pattern]
    if isinstance(pattern, Constant):
        return pattern
    if isinstance(pattern, int | float):
        kind = like.tensor_type
        return Constant(torch.full(kind.shape, pattern, dtype=kind.dtype))
    head, *parts = pattern
    inputs: list[Any] = []
    for part in parts:
        if isinstance(part, Asterisk):
            inputs.extend(bindings[part.name])
        else:
            inputs.append(part if isinstance(part, int | float) else _reify(part, bindings, like))
    known = [value for value in inputs if isinstance(value, Variable)]
    inputs = [value if isinstance(value, Variable) else number_constant(value, known) for value in inputs]
    return apply_op(_operator(head), inputs).outputs[0]


def _operator(head: Any) -> Op:
    if isinstance(head, Op):
        return head
    if isinstance(head, OpPattern) and isinstance(head.target, OpOverload):
        return Op.of(head.target, **dict(head.attributes))
    if isinstance(head, OpOverload):
        return Op.of(head)
    raise RuleError(f"a replacement needs an overload; {head} names several")


def _check(pattern: Any) -> None:
    """Raises: RuleError for what is no pattern."""
    if isinstance(pattern, tuple):
        if not pattern or not isinstance(pattern[0], Op | OpOverload | OpOverloadPacket | OpPattern):
            raise RuleError(f"a pattern is a tuple that begins with an operator; found {pattern!r}")
        _check_count(pattern)
        for i, part in enumerate(pattern[1:]):
            if isinstance(part, Asterisk):
                if i != len(pattern) - 2:
                    raise RuleError(f"Asterisk({part.name!r}) must be the last input of its operator")
                continue
            _check(part)
    elif isinstance(pattern, dict):
        if set(pattern) != {"pattern", "constraint"} or not callable(pattern["constraint"]):
            raise RuleError(f"give a dictionary with 'pattern' and 'constraint'; found {sorted(map(str, pattern))}")
        _check(pattern["pattern"])
    elif isinstance(pattern, bool) or not isinstance(pattern, str | int | float | Constant):
        raise RuleError(f"a pattern is made of tuples, names, numbers and constants; found {pattern!r}")


def _check_count(pattern: tuple[Any, ...]) -> None:
    """Raises: RuleError if an operator has fewer or more inputs than it takes."""
    target: Any = pattern[0].target if isinstance(pattern[0], OpPattern) else pattern[0]
    is_packet = isinstance(target, OpOverloadPacket)
    overloads: list[Any] = [getattr(target, name) for name in target.overloads()] if is_packet else [target]
    counts = dict.fromkeys(map(_counts, overloads))
    given = len(pattern) - 1
    several = given > 0 and isinstance(pattern[-1], Asterisk)
    if not any(given <= most and (several or least <= given) for least, most in counts):
        said = " or ".join(f"{least}" if least == most else f"{least} to {most:g}" for least, most in counts)
        what = tracked_name(pattern[0])
        raise RuleError(f"{what} takes {said} inputs; {given} were given in {pattern_text(pattern)}")


def _counts(target: Op | OpOverload) -> tuple[int, float]:
    """The least and the greatest number of tensors that an operator takes."""
    if isinstance(target, Op):
        return target.num_inputs, target.num_inputs
    kinds = [str(argument.type) for argument in target._schema.arguments]
    if any(kind.startswith("List[") and "Tensor" in kind for kind in kinds):
        return 0, inf
    return kinds.count("Tensor"), kinds.count("Tensor") + kinds.count("Optional[Tensor]")


def _names(pattern: Any) -> set[str]:
    if isinstance(pattern, str):
        return {pattern}
    if isinstance(pattern, Asterisk):
        return {pattern.name}
    if isinstance(pattern, dict):
        return _names(pattern["pattern"])
    return {name for part in pattern[1:] for name in _names(part)} if isinstance(pattern, tuple) else set()


def pattern_text(pattern: Any) -> str:
    """A pattern as one would write the expression: `div(mul(x, y), y)`."""
    if isinstance(pattern, tuple):
        return f"{tracked_name(pattern[0])}({', '.join(map(pattern_text, pattern[1:]))})"
    if isinstance(pattern, dict):
        return f"{pattern_text(pattern['pattern'])} with {_function_name(pattern['constraint'])}"
    if isinstance(pattern, Asterisk):
        return f"*{pattern.name}"
    if callable(pattern):
        return _function_name(pattern)
    return pattern if isinstance(pattern, str) else repr(pattern)


def _function_name(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    return "a condition" if name == "<lambda>" else name


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
        return variable.owner.id if variable.owner is not None else variable.name or _described(variable)
    return str(variable)


def _described(variable: Variable) -> str:
    if variable.owner is not None:
        return variable.owner.op.name
    if isinstance(variable, Constant):
        number = variable.number
        if number is None:
            return variable.name or "a constant"
        return f"{number:g}" if isinstance(number, float) else str(number)
    return variable.name or "an input"
