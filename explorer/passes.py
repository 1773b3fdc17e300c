"""Every pass of every level, by name and in order, with its purpose.

All levels run their passes in the order of this page, and `circuit-explorer rules` prints it. A pass that runs several
times has its purpose where it runs first. Passes in `ON_REQUEST` are in no default pipeline.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

COMPILED, TENSOR, PROGRAM, KERNELS = "compiled", "tensor", "program", "kernels"
WATCHED = "watched"
"""The names of the levels; `explorer.trace.LEVELS` has what each supports. The last has passes of other compilers."""


@dataclass(frozen=True, slots=True)
class Listed:
    """An entry of a pipeline: a pass, its purpose, whether it runs to its fixed point, and whether in training too."""

    name: str
    purpose: str = ""
    repeats: bool = False
    trains: bool = True


# ---- compiled: layers. The first three are one round, repeated until nothing changes; then the circuit is folded.

ROUND = (
    Listed("parameters", "Apply the rules on parameters to the parameter graphs of all layers."),
    Listed("shatter", "Replace one layer by several smaller ones."),
    Listed("fuse", "Replace several layers by one."),
)
FOLDING = (
    Listed("order slices", "Order the slices of folded layers so that more reads are views, if the option is set."),
    Listed("fold", "Fold the layers of each level that agree into one, level by level."),
)
"""The compiler runs these two itself, as one depends on an option and the other has a step per level of the circuit."""

# ---- tensor: operators.

RAISING = (
    Listed(
        "RaiseQuantization",
        "Replace dequantize, a floating-point operator and quantize by one quantized operator.",
        repeats=True,
        trains=False,
    ),
)
"""Runs before another pass changes pairs of quantize and dequantize."""

THEANO = (
    Listed("CSE", "Merge equal constants, and equal operators on the same inputs."),
    Listed(
        "Canonicalize",
        "Bring the graph into a canonical form: elementary operators, evaluated constants, until nothing changes.",
    ),
    Listed("Stabilize", "Replace operators that overflow or lose digits, until nothing changes."),
)
"""Theano's rules bring the graph into one form before Glow's passes, and specialize it behind them."""

GLOW_FOLD = (
    Listed("OptimizeArithmeticNodes", "Remove sums with 0 and products with 0 and 1; move constants to the right."),
    Listed("OptimizeReshape", "Merge consecutive reshapes; remove a reshape to the same shape."),
    Listed("FoldLeakyRelu", "Replace the maximum of x and s x, with s at most 1, by a leaky relu."),
    Listed("FoldChannelShuffle", "Replace a reshape, a transpose and a reshape by a channel shuffle."),
    Listed("FoldMatMulAddIntoFullyConnected", "Replace a matrix product and a sum by a linear layer."),
    Listed("FoldMinMaxToClip", "Replace the minimum and maximum with two numbers by a clip."),
    Listed("FoldExpSumDivIntoSoftmax", "Replace exponentials over their sum by a softmax."),
    Listed(
        "FoldArithmeticChainUnderConvIntoBN",
        "Replace sums, products and quotients with constants after a convolution by a batch norm.",
        trains=False,
    ),
    Listed("DCE", "Do not compute unused results."),
)
"""Glow's passes that find operators that were written out in parts, in the order of its source."""

GLOW_OPTIMIZE = (
    Listed("EliminateNoop", "Remove copies, empty paddings, whole slices and other no-ops."),
    Listed("EliminateIndices", "Drop unused argmax indices: `max.dim` becomes `amax`.", trains=False),
    Listed("OptimizeRegression", "Replace a regression by its input. For inference only.", trains=False),
    Listed(
        "SinkCode",
        "Move transposes, reshapes, clips and batch norms below other operators, where they meet and cancel.",
        repeats=True,
    ),
    Listed("OptimizeTransposeIntoReshape", "Replace a transpose that moves only axes of size 1 by a reshape."),
    Listed("OptimizeArithmeticNodes"),
    Listed(
        "FoldLayerNormArithmetic", "Fold products and sums with constants after a layer norm into its weight and bias."
    ),
    Listed("OptimizeReshape"),
    Listed("TransposeConstants", "Evaluate transposes of constants.", trains=False),
    Listed("CSE"),
    Listed("MergePadIntoConvolution", "Fold zero padding into the convolution after it."),
    Listed("MergeMatMulOnLHS", "Merge products that share their left factor."),
    Listed("MergeMatMulOnRHS", "Merge products that share their right factor."),
    Listed("EliminateNoop"),
    Listed("CSE"),
    Listed("OptimizeArithmeticNodes"),
    Listed("OptimizeSplat", "Evaluate slices, transposes, reshapes and clips of splats."),
    Listed("OptimizeConcatNodes", "Flatten nested concats and remove no-op concats."),
    Listed("EliminateConcatSlice", "Replace a slice of a concat by the input that it is a part of."),
    Listed(
        "MergeTransposeIntoMatMulOrFC", "Apply a transpose before a product with a constant to the constant instead."
    ),
    Listed("OptimizeConversions", "Merge a conversion to a wider type with the one after it."),
    Listed("OptimizeQuantFCFloatRelu", "Apply a relu of a dequantized linear layer to the integers."),
    Listed("OptimizeClips", "Merge nested clips."),
    Listed("OptimizeQuantization", "Remove conversions between real numbers and integers.", repeats=True),
    Listed(
        "OptimizeConcatQuantization",
        "Concatenate rescaled integers instead of dequantized tensors that are quantized again.",
    ),
    Listed("OptimizeReshape"),
    Listed("ConstantFold", "Evaluate operators on constants at compile time."),
    Listed("GatherToSlice", "Replace a gather at consecutive constant indices by a slice."),
    Listed("OptimizeQuantizeClip", "Remove a clip next to integers that cannot represent more."),
    Listed("RemoveIdentityRelu", "Remove a relu whose input is never below 0."),
    Listed("RemoveIdentityClip", "Remove a clip whose input is within its bounds."),
    Listed("OptimizeReshape"),
    Listed("SinkCode", repeats=True),
    Listed("OptimizePool", "Move a relu below max pooling, where there are fewer numbers."),
    Listed(
        "FoldBatchNormalizationWithArithmeticChain",
        "Fold sums, products and quotients with constants after a batch norm into it.",
        trains=False,
    ),
    Listed(
        "OptimizeBatchNorm",
        "Fold a batch norm into the convolution before it; remove identity batch norms.",
        repeats=True,
        trains=False,
    ),
    Listed("EliminateSliceConcat", "Replace a concat of adjacent slices by one slice."),
    Listed("CSE"),
    Listed("SinkReshapes", "Move reshapes below elementwise operators.", repeats=True),
    Listed("OptimizeReshape"),
    Listed("ConvertQuantizedConstants", "Store quantized constants as integers."),
    Listed("DCE"),
)
"""Glow's other passes: they make a graph smaller or faster without changing its values beyond rounding."""

SPECIALIZING = (
    Listed("Specialize", "Replace several operators by one that is faster or more exact, until nothing changes."),
    Listed("CSE"),
    Listed("DCE"),
)

# ---- program: instructions, in the order of Glow: fewer buffers, shorter lives, then a place for each, and stacks.

MEMORY = (
    Listed("MakeWeightsConst", "Mark weights that no instruction writes as constants."),
    Listed("DSE", "Remove instructions whose results nothing reads."),
    Listed("OptimizeInserts", "Compute the parts of a tensor in their places instead of copying them there."),
    Listed("OptimizeExtracts", "Read a part of a tensor in its place instead of copying it out."),
    Listed("ShareBuffers", "Write results over inputs that nothing reads later; do not copy whole buffers."),
    Listed("Peephole", "Remove views and copies that do nothing."),
    Listed("DeleteDeadAllocs", "Remove allocations that nothing uses."),
    Listed("HoistDealloc", "Free each buffer right after its last use."),
    Listed("SinkAllocas", "Allocate each buffer right before its first use."),
    Listed("PlanMemory", "Give each buffer its place in one block of memory."),
    Listed("StackDataParallel", "Run consecutive elementwise operators as one instruction."),
)

# ---- kernels: kernel calls.

CALLS = (
    Listed("without-unused", "Remove calls that no output needs."),
    Listed("combine-tables", "Evaluate sums over tables of one variable once, into one table."),
    Listed("multiply-densities", "Multiply normal densities in one call."),
    Listed("split-products", "Split long products, so that each stays in the range of a float."),
    Listed("multiply-within-sums", "Multiply inside the sum that reads the product."),
    Listed("depth-first", "Run each call right before the first one that reads its value."),
    Listed("slots", "Give each value a slot that another value may have had before."),
)

# ---- all levels.

PASSES: Mapping[str, tuple[Listed, ...]] = {
    COMPILED: (*ROUND, *FOLDING),
    TENSOR: (*RAISING, *THEANO, *GLOW_FOLD, *GLOW_OPTIMIZE, *SPECIALIZING),
    PROGRAM: MEMORY,
    KERNELS: CALLS,
    WATCHED: (),
}
"""The passes of each level in the order in which they run."""

ON_REQUEST: Mapping[str, tuple[Listed, ...]] = {
    TENSOR: (
        Listed("DecomposeLayers", "Replace each layer of a circuit by the operators that its `forward` calls."),
        Listed(
            "OptimizeQuantizationLossy",
            "As OptimizeQuantization, but also remove intermediate roundings and clippings, which changes results.",
        ),
        Listed(
            "OptimizeQuantizeClipLossy",
            "As OptimizeQuantizeClip, but also narrow integers to the range of a clip, which changes roundings.",
        ),
        Listed("OptimizeReduceMean", "Replace a mean over height and width by average pooling."),
    )
}
"""The passes of a level that run only where a pipeline names them.

OptimizeReduceMean makes PyTorch's programs worse: `avg_pool2d` adds the numbers of a window one by one, where `mean`
adds in blocks. Pooling is 2 to 6 times slower on the processor, and its error grows with the size of the window.
"""


def purposes_of(level: str) -> Mapping[str, str]:
    """The purpose of each pass of a level by name, in the order of the first runs."""
    entries: Iterable[Listed] = (*PASSES[level], *ON_REQUEST.get(level, ()))
    return {entry.name: entry.purpose for entry in entries if entry.purpose}
