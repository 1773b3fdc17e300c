"""The databases of the rules of this package, and functions that register rules in them.

Source: Theano, register_canonicalize, register_stabilize, register_specialize.
"""

from typing import TypeVar

from explorer.tensor.rewriting import EquilibriumDB, LocalRewriter, SweepDB

R = TypeVar("R", bound=LocalRewriter)

canonicalize = EquilibriumDB("canonicalize", ignore_newtrees=False)
"""Rules that bring a graph into a canonical form: rare operators become elementary, constants are evaluated."""

stabilize = EquilibriumDB("stabilize")
"""Rules that replace operators that overflow, underflow or lose digits by stable ones."""

specialize = EquilibriumDB("specialize")
"""Rules that replace several operators by one that is faster or more exact."""

overwrite = SweepDB("overwrite")
"""Rules that let an operator overwrite an input that is no longer needed."""


def register_canonicalize(rule: R) -> R:
    """Register a rule in `canonicalize` for both modes, tagged with its exactness."""
    canonicalize.register(rule.label, rule, "fast_run", "fast_compile", rule.exactness.value)
    return rule


def register_stabilize(rule: R) -> R:
    """Register a rule in `stabilize` for both modes, tagged with its exactness."""
    stabilize.register(rule.label, rule, "fast_run", "fast_compile", rule.exactness.value)
    return rule


def register_specialize(rule: R) -> R:
    """Register a rule in `specialize`, which `fast_compile` omits, tagged with its exactness."""
    specialize.register(rule.label, rule, "fast_run", rule.exactness.value)
    return rule


def register_overwrite(rule: R) -> R:
    """Register a rule in `overwrite`, which comes after the mark for in-place rules, tagged with its exactness."""
    overwrite.register(rule.label, rule, "fast_run", "inplace", rule.exactness.value)
    return rule
