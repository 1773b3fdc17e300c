"""The default pipelines of graph passes; their entries are in `explorer.passes`.

`GLOW_PIPELINE` has the passes of Glow's documentation in the order of its source: `FOLD_PIPELINE` finds operators that
were written out in parts, `OPTIMIZATION_PIPELINE` is the rest. `DEFAULT_PIPELINE` brings the graph into one form before
it, specializes it behind, and omits the passes that cost time or digits with PyTorch's kernels. Passes that are for
inference only say so in their configuration, so that one pipeline serves both modes. The passes on regression and
pooling, which later versions of Glow do not have, come first and after the sinking.
"""

from explorer.passes import (
    GLOW_FOLD,
    GLOW_OPTIMIZE,
    OMITTED_BY_DEFAULT as OMITTED_BY_DEFAULT,
    PASSES,
    RAISING,
)
from explorer.rewrite import FunctionPassPipeline
from explorer.trace import TENSOR

FOLD_PIPELINE = FunctionPassPipeline.of_listed((*RAISING, *GLOW_FOLD))
"""Replaces operators written out in parts."""

OPTIMIZATION_PIPELINE = FunctionPassPipeline.of_listed(GLOW_OPTIMIZE)
"""All other passes that make a graph smaller or faster without changing its values beyond rounding."""

GLOW_PIPELINE = FOLD_PIPELINE + OPTIMIZATION_PIPELINE
"""Both, one after the other."""

DEFAULT_PIPELINE = FunctionPassPipeline.of_listed(
    entry for entry in PASSES[TENSOR] if entry.name not in OMITTED_BY_DEFAULT
)
"""The passes that a graph goes through by default."""
