"""Pattern rewriting: patterns, matching with reasons, conflicts, rules, and the driver that applies them."""

from explorer.rewrite.databases import (
    Entry as Entry,
    FromQuery as FromQuery,
    Named as Named,
    Origin as Origin,
    Position as Position,
    Query as Query,
    RewriteDatabase as RewriteDatabase,
)
from explorer.rewrite.driver import (
    Conflict as Conflict,
    Matches as Matches,
    OptMatchStrategy as OptMatchStrategy,
    RewriteContext as RewriteContext,
    get_strategy as get_strategy,
    is_possible as is_possible,
    match_optimization_patterns as match_optimization_patterns,
    optimize_graph as optimize_graph,
)
from explorer.rewrite.matching import (
    GraphOptMatch as GraphOptMatch,
    KnownResults as KnownResults,
    SearchResult as SearchResult,
    match_pattern as match_pattern,
    match_pattern_graph as match_pattern_graph,
    questions_of as questions_of,
)
from explorer.rewrite.pass_manager import (
    Pass as Pass,
    PassGraph as PassGraph,
    PassManager as PassManager,
    PassObserver as PassObserver,
    PassOptions as PassOptions,
    PassRegistry as PassRegistry,
    PassRun as PassRun,
)
from explorer.rewrite.patterns import (
    Condition as Condition,
    GraphOptPattern as GraphOptPattern,
    LayerOptPattern as LayerOptPattern,
    ParameterOptPattern as ParameterOptPattern,
    all_of as all_of,
    at_least as at_least,
    at_most as at_most,
    other_than as other_than,
    source_of_caller as source_of_caller,
    source_of_function as source_of_function,
)
from explorer.rewrite.pipelines import (
    DCE_PASS as DCE_PASS,
    MAX_YAML_BYTES as MAX_YAML_BYTES,
    CompilationMode as CompilationMode,
    ConvergenceMode as ConvergenceMode,
    DCERequiredMode as DCERequiredMode,
    FunctionPassConfig as FunctionPassConfig,
    FunctionPassPipeline as FunctionPassPipeline,
    pipeline_from_yaml as pipeline_from_yaml,
    pipeline_to_yaml as pipeline_to_yaml,
    read_pipeline as read_pipeline,
    write_pipeline as write_pipeline,
)
from explorer.rewrite.rules import (
    ApplyFunction as ApplyFunction,
    Exactness as Exactness,
    LayerOptRegistry as LayerOptRegistry,
    OptRegistry as OptRegistry,
    ParameterOptRegistry as ParameterOptRegistry,
    Rule as Rule,
)
