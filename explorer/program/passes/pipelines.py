"""The default pipeline."""

from explorer.passes import PASSES
from explorer.rewrite import DCERequiredMode, FunctionPassPipeline
from explorer.trace import PROGRAM

MEMORY_PIPELINE = FunctionPassPipeline.of_listed(PASSES[PROGRAM], DCERequiredMode.NONE)
"""All memory passes, in the order of Glow: fewer buffers, shorter lives, then a place for each, and stacks."""
