"""Comparisons with the peers libcirkit and PyTensor, for `circuit-explorer bench`; in a checkout only."""

from benchmarks.cases import Case as Case, get_case as get_case
from benchmarks.compile_report import (
    MISSING_PEER as MISSING_PEER,
    compile_table as compile_table,
    compile_to_json as compile_to_json,
    growth_table as growth_table,
)
from benchmarks.compile_times import (
    GROWTH_CASES as GROWTH_CASES,
    PEER_CASES as PEER_CASES,
    CompileTimes as CompileTimes,
    deviations_from_proportional as deviations_from_proportional,
    measure_compile as measure_compile,
    measure_growth as measure_growth,
    measure_recording as measure_recording,
    num_compile_runs as num_compile_runs,
)
from benchmarks.fallback_times import (
    FallbackTime as FallbackTime,
    fallback_table as fallback_table,
    fallback_to_json as fallback_to_json,
    measure_fallback as measure_fallback,
)
from benchmarks.growing_graphs import SHAPES as SHAPES
from benchmarks.identities import IDENTITY_CASES as IDENTITY_CASES
from benchmarks.identity_counts import (
    IdentityCount as IdentityCount,
    identities_table as identities_table,
    identities_to_json as identities_to_json,
    measure_identities as measure_identities,
)
from benchmarks.peer import PACKAGE as PACKAGE, peer_is_installed as peer_is_installed
from benchmarks.program_peaks import (
    ProgramPeak as ProgramPeak,
    measure_peak as measure_peak,
    peaks_table as peaks_table,
    peaks_to_json as peaks_to_json,
)
from benchmarks.program_times import (
    FOLDED_CASES as FOLDED_CASES,
    UNFOLDED_SIZES as UNFOLDED_SIZES,
    LoweringTime as LoweringTime,
    lowering_table as lowering_table,
    lowering_to_json as lowering_to_json,
    measure_lowering as measure_lowering,
)
from benchmarks.read_counts import (
    OrderedReads as OrderedReads,
    ReadCounts as ReadCounts,
    measure_reads as measure_reads,
    reads_table as reads_table,
    reads_to_json as reads_to_json,
)
from benchmarks.rewrite_times import (
    MISSING_PYTENSOR as MISSING_PYTENSOR,
    SIZES as SIZES,
    RewriteTime as RewriteTime,
    measure_rewriting as measure_rewriting,
    rewrite_table as rewrite_table,
)
from benchmarks.robustness import (
    ROBUSTNESS_CASES as ROBUSTNESS_CASES,
    Robustness as Robustness,
    measure_robustness as measure_robustness,
    measure_trained as measure_trained,
    robustness_table as robustness_table,
    robustness_to_json as robustness_to_json,
    share_again as share_again,
)
from benchmarks.roofline import (
    Roofline as Roofline,
    limits_text as limits_text,
    measure_roofline as measure_roofline,
    roofline_table as roofline_table,
    roofline_to_json as roofline_to_json,
)
from benchmarks.scaling import (
    BATCH_SIZES as BATCH_SIZES,
    IMAGE_SIZES as IMAGE_SIZES,
    Scaling as Scaling,
    measure_scaling as measure_scaling,
    scaling_table as scaling_table,
    scaling_to_json as scaling_to_json,
)
from benchmarks.scaling_svg import scaling_svg as scaling_svg
from benchmarks.suite import SUITE_CASES as SUITE_CASES, SuiteRow as SuiteRow, measure_suite as measure_suite
from benchmarks.suite_entrants import NAMES as NAMES, names_for as names_for
from benchmarks.suite_report import (
    suite_markdown as suite_markdown,
    suite_notes as suite_notes,
    suite_table as suite_table,
    suite_to_json as suite_to_json,
    wanted_table as wanted_table,
)
from benchmarks.tensor_counts import (
    TensorCounts as TensorCounts,
    measure_tensor as measure_tensor,
    tensor_table as tensor_table,
    tensor_to_json as tensor_to_json,
)
from benchmarks.wanted import outcomes as outcomes
