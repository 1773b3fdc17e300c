"""The default pipelines of graph passes.

`GLOW_PIPELINE` has the passes of Glow's documentation in the order of its source: `FOLD_PIPELINE` finds operators that
were written out in parts, `OPTIMIZATION_PIPELINE` is the rest. `DEFAULT_PIPELINE` brings the graph into one form before
it, specializes it behind, and omits the passes that cost time or digits with PyTorch's kernels. Passes that are for
inference only say so in their configuration, so that one pipeline serves both modes. The passes on regression and
pooling, which later versions of Glow do not have, come first and after the sinking.
"""

from explorer.rewrite import CompilationMode, ConvergenceMode, DCERequiredMode, FunctionPassConfig, FunctionPassPipeline

INFER = frozenset((CompilationMode.INFER,))


def _fixed_point(pass_id: str) -> FunctionPassConfig:
    return FunctionPassConfig(pass_id, ConvergenceMode.UNTIL_FIXED_POINT)


def _inference(pass_id: str, convergence: ConvergenceMode = ConvergenceMode.ONE_PASS) -> FunctionPassConfig:
    return FunctionPassConfig(pass_id, convergence, INFER)


DCE = FunctionPassConfig("DCE", dce=DCERequiredMode.NONE)

FOLD_PIPELINE = FunctionPassPipeline.of(
    _inference("RaiseQuantization", ConvergenceMode.UNTIL_FIXED_POINT),
    "OptimizeArithmeticNodes",
    "OptimizeReshape",
    "FoldLeakyRelu",
    "FoldChannelShuffle",
    "FoldMatMulAddIntoFullyConnected",
    "FoldMinMaxToClip",
    "FoldExpSumDivIntoSoftmax",
    _inference("FoldArithmeticChainUnderConvIntoBN"),
    DCE,
)
"""Replaces operators written out in parts."""

OPTIMIZATION_PIPELINE = FunctionPassPipeline.of(
    "EliminateNoop",
    _inference("EliminateIndices"),
    _inference("OptimizeRegression"),
    _fixed_point("SinkCode"),
    "OptimizeTransposeIntoReshape",
    "OptimizeArithmeticNodes",
    "FoldLayerNormArithmetic",
    "OptimizeReshape",
    _inference("TransposeConstants"),
    "CSE",
    "MergePadIntoConvolution",
    "MergeMatMulOnLHS",
    "MergeMatMulOnRHS",
    "OptimizeReduceMean",
    "EliminateNoop",
    "CSE",
    "OptimizeArithmeticNodes",
    "OptimizeSplat",
    "OptimizeConcatNodes",
    "EliminateConcatSlice",
    "MergeTransposeIntoMatMulOrFC",
    "OptimizeConversions",
    "OptimizeQuantFCFloatRelu",
    "OptimizeClips",
    _fixed_point("OptimizeQuantization"),
    "OptimizeConcatQuantization",
    "OptimizeReshape",
    "ConstantFold",
    "GatherToSlice",
    "OptimizeQuantizeClip",
    "RemoveIdentityRelu",
    "RemoveIdentityClip",
    "OptimizeReshape",
    _fixed_point("SinkCode"),
    "OptimizePool",
    _inference("FoldBatchNormalizationWithArithmeticChain"),
    _inference("OptimizeBatchNorm", ConvergenceMode.UNTIL_FIXED_POINT),
    "EliminateSliceConcat",
    "CSE",
    _fixed_point("SinkReshapes"),
    "OptimizeReshape",
    "ConvertQuantizedConstants",
    DCE,
)
"""All other passes that make a graph smaller or faster without changing its values beyond rounding."""

GLOW_PIPELINE = FOLD_PIPELINE + OPTIMIZATION_PIPELINE
"""Both, one after the other."""

OMITTED_BY_DEFAULT = frozenset(("OptimizeReduceMean",))
"""Glow's passes that make PyTorch's programs worse: `avg_pool2d` adds the numbers of a window one by one, where `mean`
adds in blocks. Pooling is 2 to 6 times slower on the processor, and its error grows with the size of the window."""

DEFAULT_PIPELINE = FunctionPassPipeline.of(
    GLOW_PIPELINE[0],  # before another pass changes pairs of quantize and dequantize
    "CSE",
    "Canonicalize",
    "Stabilize",
    *(config for config in GLOW_PIPELINE.configs[1:] if config.pass_id not in OMITTED_BY_DEFAULT),
    "Specialize",
    "CSE",
    DCE,
)
"""The passes that a graph goes through by default."""
