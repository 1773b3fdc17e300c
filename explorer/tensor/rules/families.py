"""The databases that hold the rules of this package, and how a rule is put into one.

Source: Theano, register_canonicalize, register_stabilize, register_specialize.
"""

from typing import TypeVar

from explorer.tensor.rewriting import EquilibriumDB, LocalRewriter, SweepDB

R = TypeVar("R", bound=LocalRewriter)

canonicalize = EquilibriumDB("canonicalize", ignore_newtrees=False)
"""Rules that bring a graph into one form: rare operators become elementary ones, constants are computed."""

stabilize = EquilibriumDB("stabilize")
"""Rules that replace what overflows, underflows or loses digits by an operator that does not."""

specialize = EquilibriumDB("specialize")
"""Rules that replace several operators by one that does the same, but better."""

overwrite = SweepDB("overwrite")
"""Rules that let an operator write its result over an input that nothing needs any more."""


def register_canonicalize(rule: R) -> R:
    """Put a rule into `canonicalize`; both modes use it. Its exactness is one of its tags."""
    canonicalize.register(rule.label, rule, "fast_run", "fast_compile", rule.exactness.value)
    return rule


def register_stabilize(rule: R) -> R:
    """Put a rule into `stabilize`; both modes use it. Its exactness is one of its tags."""
    stabilize.register(rule.label, rule, "fast_run", "fast_compile", rule.exactness.value)
    return rule


def register_specialize(rule: R) -> R:
    """Put a rule into `specialize`, which a fast compilation leaves out. Its exactness is one of its tags."""
    specialize.register(rule.label, rule, "fast_run", rule.exactness.value)
    return rule


def register_overwrite(rule: R) -> R:
    """Put a rule into `overwrite`, which stands behind the mark for such rules. Its exactness is one of its tags."""
    overwrite.register(rule.label, rule, "fast_run", "inplace", rule.exactness.value)
    return rule
