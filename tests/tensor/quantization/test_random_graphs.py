"""Random quantized graphs: the exact passes keep every bit, and the lossy ones do not hide in them."""

import random

import torch

from explorer.rewrite import Exactness, PassManager
from explorer.tensor import Constant, FunctionGraph, Quantization, call, quantized
from explorer.tensor.passes import passes
from explorer.tensor.passes.base import DEFAULT_PIPELINE
from tests.fuzzing import seeded
from tests.tensor.quantization.building import SHAPE, A, B, C, aten, exactness, integers, manager, results, run, values

SCALES = (A, B, C, Quantization(0.02, -128), Quantization(0.05, 127))
EXACT = tuple(
    made.name
    for made in passes
    if exactness(made.name) is Exactness.EXACT
    and any(
        word in made.name for word in ("Quant", "Identity", "Clip", "Sink", "Concat", "Transpose", "Constant", "CSE")
    )
)


def random_graph(seed, length):
    """Arithmetic, conversions and moves on tensors of one shape, with two scales for everything."""
    draw = random.Random(seed)
    inputs = [integers(of, name=f"x{i}") for i, of in enumerate(draw.sample(SCALES, 2))]
    number = torch.full(SHAPE, draw.choice((-128, 0, 40)), dtype=torch.int8)
    found = [*inputs, Constant(number, quantization=draw.choice(SCALES))]

    def scale():
        return draw.choice(SCALES)

    def convert(x, between):
        return quantized.quantize(between(quantized.dequantize(x)), scale())

    steps = [
        lambda x, y: quantized.apply(quantized.add, [x, y], scale()),
        lambda x, y: quantized.apply(quantized.maximum, [x, y], scale()),
        lambda x, y: quantized.apply(quantized.maximum, [quantized.rescale(x, A), quantized.rescale(y, A)], A),
        lambda x, y: quantized.apply(quantized.mul, [x, y], scale()),
        lambda x, _: quantized.apply(quantized.relu, [x], scale()),
        lambda x, _: quantized.apply(quantized.clip, [x], scale(), min=-30.0, max=30.0),
        lambda x, _: quantized.rescale(x, scale()),
        lambda x, _: quantized.rescale(x, scale()),
        lambda x, _: convert(x, lambda r: r),
        lambda x, _: convert(x, lambda r: call(aten.relu.default, r)),
        lambda x, _: convert(x, lambda r: call(aten.clamp.default, r, -9.0, 40.0)),
        lambda x, _: convert(x, lambda r: call(aten.permute.default, r, [0, 1, 3, 2])),
        lambda x, _: call(aten.max_pool2d.default, x, [3, 3], [1, 1], [1, 1]),
        lambda x, _: call(aten.permute.default, x, [0, 1, 3, 2]),
        lambda x, _: call(aten.view.default, call(aten.reshape.default, x, [2, 3, 16]), list(SHAPE)),
        lambda x, y: call(
            aten.slice.Tensor, convert(x, lambda r: call(aten.cat.default, [r, quantized.dequantize(y)], 1)), 1, 2, 5
        ),
    ]
    for _ in range(length):
        found.append(draw.choice(steps)(*draw.choices(found[-4:], k=2)))
    return FunctionGraph(inputs, [found[-1], quantized.dequantize(found[-2])])


@seeded(20)
def test_exact_passes_keep_every_bit(seed):
    graph = random_graph(seed, 5 + seed % 12)
    run(graph, *EXACT, given=values(graph, seed))


@seeded(6)
def test_the_default_pipeline_keeps_every_bit(seed):
    graph = random_graph(100 + seed, 14)
    given = values(graph, seed)
    before = results(graph, given)
    PassManager(DEFAULT_PIPELINE, passes).run(graph)
    for old, new in zip(before, results(graph, given), strict=True):
        assert torch.equal(old, new)


def test_this_check_detects_lossy_passes():
    """Else the comparison above is blind: on some of these graphs the lossy passes give other bits."""
    different = 0
    for seed in range(20):
        graph = random_graph(seed, 5 + seed % 12)
        given = values(graph, seed)
        before = results(graph, given)
        manager("OptimizeQuantizationLossy", "OptimizeQuantizeClipLossy").run(graph)
        graph.verify()
        different += any(not torch.equal(a, b) for a, b in zip(before, results(graph, given), strict=True))
    assert different >= 5


def test_no_lossy_pass_is_in_the_default_pipeline():
    assert "OptimizeQuantization" in DEFAULT_PIPELINE.pass_ids
    wanted = [name for name in DEFAULT_PIPELINE.pass_ids if exactness(name) is Exactness.LOSSY]
    assert wanted == []
