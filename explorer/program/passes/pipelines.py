"""The default pipeline."""

from explorer.rewrite import ConvergenceMode, DCERequiredMode, FunctionPassConfig, FunctionPassPipeline

_PASSES = (
    *("MakeWeightsConst", "DSE", "OptimizeInserts", "OptimizeExtracts", "ShareBuffers", "Peephole"),
    *("DeleteDeadAllocs", "HoistDealloc", "SinkAllocas", "PlanMemory", "StackDataParallel"),
)

MEMORY_PIPELINE = FunctionPassPipeline(
    tuple(FunctionPassConfig(name, ConvergenceMode.ONE_PASS, dce=DCERequiredMode.NONE) for name in _PASSES)
)
"""All memory passes, in the order of Glow: fewer buffers, shorter lives, then a place for each, and stacks."""
