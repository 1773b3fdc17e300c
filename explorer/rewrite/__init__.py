"""Pattern rewriting: patterns, matching with reasons, conflicts, rules, and the driver that applies them."""

from explorer.rewrite.driver import RewriteContext, is_possible, optimize_graph
from explorer.rewrite.matching import GraphOptMatch, Search, match_pattern, match_pattern_graph
from explorer.rewrite.patterns import (
    Condition,
    GraphOptPattern,
    LayerOptPattern,
    ParameterOptPattern,
    all_of,
    at_least,
    at_most,
    other_than,
    source_of_caller,
    source_of_function,
)
from explorer.rewrite.rules import ApplyFunction, Exactness, LayerOptRegistry, OptRegistry, ParameterOptRegistry, Rule
from explorer.rewrite.strategies import Conflict, Matches, OptMatchStrategy, match_optimization_patterns

__all__ = [
    "ApplyFunction",
    "Condition",
    "Conflict",
    "Exactness",
    "GraphOptMatch",
    "GraphOptPattern",
    "LayerOptPattern",
    "LayerOptRegistry",
    "Matches",
    "OptMatchStrategy",
    "OptRegistry",
    "ParameterOptPattern",
    "ParameterOptRegistry",
    "RewriteContext",
    "Rule",
    "Search",
    "all_of",
    "at_least",
    "at_most",
    "is_possible",
    "match_optimization_patterns",
    "match_pattern",
    "match_pattern_graph",
    "optimize_graph",
    "other_than",
    "source_of_caller",
    "source_of_function",
]
