"""Comparisons with the peers libcirkit and PyTensor, for `circuit-explorer bench`; in a checkout only."""

from benchmarks.cases import Case, case_named
from benchmarks.compile_times import (
    GROWTH_CASES,
    PEER_CASES,
    CompileTimes,
    deviations_from_proportional,
    measure_compile,
    measure_growth,
    num_compile_runs,
)
from benchmarks.forward_times import DEFAULT_CASES, ForwardTimes, measure_forward
from benchmarks.growing_graphs import SHAPES
from benchmarks.peer import PACKAGE, peer_is_installed
from benchmarks.report import (
    MISSING_PEER,
    compile_table,
    compile_to_json,
    forward_table,
    forward_to_json,
    growth_table,
)
from benchmarks.rewrite_times import MISSING_PYTENSOR, SIZES, RewriteTime, measure_rewriting, rewrite_table
from benchmarks.tensor_counts import TensorCounts, measure_tensor, tensor_table, tensor_to_json

__all__ = [
    "DEFAULT_CASES",
    "GROWTH_CASES",
    "MISSING_PEER",
    "MISSING_PYTENSOR",
    "PACKAGE",
    "PEER_CASES",
    "SHAPES",
    "SIZES",
    "Case",
    "CompileTimes",
    "ForwardTimes",
    "RewriteTime",
    "TensorCounts",
    "case_named",
    "compile_table",
    "compile_to_json",
    "deviations_from_proportional",
    "forward_table",
    "forward_to_json",
    "growth_table",
    "measure_compile",
    "measure_forward",
    "measure_growth",
    "measure_rewriting",
    "measure_tensor",
    "num_compile_runs",
    "peer_is_installed",
    "rewrite_table",
    "tensor_table",
    "tensor_to_json",
]
