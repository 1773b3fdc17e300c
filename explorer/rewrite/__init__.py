"""Pattern rewriting: patterns, matching with reasons, conflicts, rules, and the driver that applies them."""

from explorer.rewrite.databases import Entry, FromQuery, Named, Origin, Position, Query, RewriteDatabase
from explorer.rewrite.driver import RewriteContext, is_possible, optimize_graph
from explorer.rewrite.matching import GraphOptMatch, Search, match_pattern, match_pattern_graph
from explorer.rewrite.pass_manager import (
    Pass,
    PassGraph,
    PassManager,
    PassObserver,
    PassOptions,
    PassRegistry,
    PassRun,
)
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
from explorer.rewrite.pipeline_files import pipeline_from_yaml, pipeline_to_yaml, read_pipeline, write_pipeline
from explorer.rewrite.pipelines import (
    CompilationMode,
    ConvergenceMode,
    DCERequiredMode,
    FunctionPassConfig,
    FunctionPassPipeline,
)
from explorer.rewrite.rules import ApplyFunction, Exactness, LayerOptRegistry, OptRegistry, ParameterOptRegistry, Rule
from explorer.rewrite.strategies import Conflict, Matches, OptMatchStrategy, match_optimization_patterns

__all__ = [
    "ApplyFunction",
    "CompilationMode",
    "Condition",
    "Conflict",
    "ConvergenceMode",
    "DCERequiredMode",
    "Entry",
    "Exactness",
    "FromQuery",
    "FunctionPassConfig",
    "FunctionPassPipeline",
    "GraphOptMatch",
    "GraphOptPattern",
    "LayerOptPattern",
    "LayerOptRegistry",
    "Matches",
    "Named",
    "OptMatchStrategy",
    "OptRegistry",
    "Origin",
    "ParameterOptPattern",
    "ParameterOptRegistry",
    "Pass",
    "PassGraph",
    "PassManager",
    "PassObserver",
    "PassOptions",
    "PassRegistry",
    "PassRun",
    "Position",
    "Query",
    "RewriteContext",
    "RewriteDatabase",
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
    "pipeline_from_yaml",
    "pipeline_to_yaml",
    "read_pipeline",
    "source_of_caller",
    "source_of_function",
    "write_pipeline",
]
