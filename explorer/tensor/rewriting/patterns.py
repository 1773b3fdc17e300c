"""`PatternSub`: replaces one pattern by another, as in `PatternSub((div, (mul, "x", "y"), "y"), "x")`."""

from collections.abc import Sequence
from typing import Any

from explorer.errors import RuleError
from explorer.rewrite import Exactness, source_of_caller
from explorer.tensor.graph.rewrites import Declined, Rewrite
from explorer.tensor.ir.ops import Op, apply_op
from explorer.tensor.ir.schemas import aten
from explorer.tensor.ir.types import TensorType
from explorer.tensor.ir.variables import Apply, Variable
from explorer.tensor.rewriting.matching import PatternMatch, Search, match_pattern
from explorer.tensor.rewriting.pattern_language import build, check_pattern, check_replacement, names_in, pattern_text
from explorer.tensor.rewriting.rewriters import LocalRewriter, Tracked
from explorer.trace import Check, Refusal, RefusalKind


class PatternSub(LocalRewriter):
    """Replaces all occurrences of one pattern by another; see `pattern_language` for patterns.

    `replacement` is a pattern as well (a string: the variable bound to it; a number: a constant), or a function of
    (root, bindings) that returns a variable, False, or `Declined`. Unless `allow_multiple_clients`, only the root and
    the bound variables may be used outside of a match. With `commutative` the inputs of sums and products are tried in
    both orders, the given one first. A replacement whose dtype differs is cast if `allow_cast`; one of another type is
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
