"""Real models in few lines, with random weights: what graphs of practice look like, without a download.

The structure follows the papers and torchvision, operator by operator. The statistics of batch norms are those
of random data, and their weights are random, so that a wrong channel, sign or epsilon shows in the result.
"""

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.export import ExportedProgram
from torch.nn import functional as F

from explorer.tensor import Constant, FunctionGraph, Variable, from_exported, to_module
from explorer.tensor.ir.ops import apply_op
from explorer.trace.equivalence import ROUNDING

SIDE = 64
"""Height and width of the pictures that the tests use."""


def conv_norm(inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> list[nn.Module]:
    """A convolution that keeps the size at stride 1, and its batch norm."""
    padding = (kernel - 1) // 2
    conv = nn.Conv2d(inputs, outputs, kernel, stride, padding, groups=groups, bias=False)
    return [conv, nn.BatchNorm2d(outputs)]


class Residual(nn.Module):
    """Two 3x3 convolutions and a way past them. Source: He et al. 2015."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = conv_norm(inputs, outputs, 3, stride)
        self.conv2, self.bn2 = conv_norm(outputs, outputs, 3)
        self.relu = nn.ReLU(inplace=True)
        same = stride == 1 and inputs == outputs
        self.downsample = None if same else nn.Sequential(*conv_norm(inputs, outputs, 1, stride))

    def forward(self, x: Tensor) -> Tensor:
        past = x if self.downsample is None else self.downsample(x)
        inner = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        inner += past
        return self.relu(inner)


def resnet18(large: bool = True) -> nn.Module:
    """18 layers in four stages of two blocks, or a block of each kind."""
    stem = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
    blocks: list[nn.Module] = []
    inputs = 64
    for outputs, repeats in ((64, 2), (128, 2), (256, 2), (512, 2)) if large else ((64, 1), (128, 1)):
        for _ in range(repeats):
            blocks.append(Residual(inputs, outputs, 2 if inputs < outputs else 1))
            inputs = outputs
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(), nn.Linear(inputs, 1000))


class InvertedResidual(nn.Module):
    """Widen, convolve each channel, narrow; with a way past if the shape stays. Source: Sandler et al. 2018."""

    def __init__(self, inputs: int, outputs: int, stride: int, widen: int) -> None:
        super().__init__()
        wide = inputs * widen
        wider = [] if widen == 1 else [*conv_norm(inputs, wide, 1), nn.ReLU6(inplace=True)]
        each = [*conv_norm(wide, wide, 3, stride, groups=wide), nn.ReLU6(inplace=True)]
        self.conv = nn.Sequential(*wider, *each, *conv_norm(wide, outputs, 1))
        self.keeps = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(x) if self.keeps else self.conv(x)


def mobilenet_v2(large: bool = True) -> nn.Module:
    """Inverted residuals between two convolutions: 17 of them, or 4 with each kind among them."""
    layers: list[nn.Module] = [*conv_norm(3, 32, 3, 2), nn.ReLU6(inplace=True)]
    inputs = 32
    stages = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    for widen, outputs, repeats, stride in stages if large else [*stages[:2], (6, 320, 1, 2)]:
        for i in range(repeats):
            layers.append(InvertedResidual(inputs, outputs, stride if i == 0 else 1, widen))
            inputs = outputs
    head = nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(), nn.Dropout(0.2), nn.Linear(1280, 1000)
    return nn.Sequential(*layers, *conv_norm(320, 1280, 1), nn.ReLU6(inplace=True), *head)


class ShuffleUnit(nn.Module):
    """Half of the channels pass by, then all are shuffled. Source: Ma et al. 2018."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        half = outputs // 2
        first = [*conv_norm(inputs, inputs, 3, stride, groups=inputs), *conv_norm(inputs, half, 1), nn.ReLU(True)]
        self.branch1 = nn.Sequential(*first) if stride > 1 else None
        self.branch2 = nn.Sequential(
            *conv_norm(inputs if stride > 1 else half, half, 1),
            nn.ReLU(inplace=True),
            *conv_norm(half, half, 3, stride, groups=half),
            *conv_norm(half, half, 1),
            nn.ReLU(inplace=True),
        )

    def forward(self, x: Tensor) -> Tensor:
        if self.branch1 is None:
            kept, changed = x.chunk(2, dim=1)
            x = torch.cat((kept, self.branch2(changed)), dim=1)
        else:
            x = torch.cat((self.branch1(x), self.branch2(x)), dim=1)
        batch, channels, height, width = x.shape
        x = x.view(batch, 2, channels // 2, height, width)
        return torch.transpose(x, 1, 2).contiguous().view(batch, channels, height, width)


class ShuffleNet(nn.Module):
    """16 shuffle units in three stages of width x1.0, or 3 units in two stages."""

    def __init__(self, large: bool = True) -> None:
        super().__init__()
        self.stem = nn.Sequential(*conv_norm(3, 24, 3, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1))
        units: list[nn.Module] = []
        inputs = 24
        for outputs, repeats in ((116, 4), (232, 8), (464, 4)) if large else ((116, 2), (464, 1)):
            units += [ShuffleUnit(inputs if i == 0 else outputs, outputs, 2 if i == 0 else 1) for i in range(repeats)]
            inputs = outputs
        self.units = nn.Sequential(*units)
        self.top = nn.Sequential(*conv_norm(464, 1024, 1), nn.ReLU(inplace=True))
        self.fc = nn.Linear(1024, 1000)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.top(self.units(self.stem(x))).mean([2, 3]))


class Fire(nn.Module):
    """Squeeze to few channels, expand by 1x1 and 3x3 in parallel. Source: Iandola et al. 2016."""

    def __init__(self, inputs: int, few: int, each: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(inputs, few, 1)
        self.expand1, self.expand3 = nn.Conv2d(few, each, 1), nn.Conv2d(few, each, 3, padding=1)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        x = self.relu(self.squeeze(x))
        return torch.cat((self.relu(self.expand1(x)), self.relu(self.expand3(x))), 1)


def squeezenet1_1(large: bool = True) -> nn.Module:
    """8 fire modules, or 2; no batch norm."""

    def pool() -> nn.Module:
        return nn.MaxPool2d(3, 2, ceil_mode=True)

    more = (
        *(Fire(128, 32, 128), Fire(256, 32, 128), pool()),
        *(Fire(256, 48, 192), Fire(384, 48, 192), Fire(384, 64, 256), Fire(512, 64, 256)),
    )
    return nn.Sequential(
        *(nn.Conv2d(3, 64, 3, 2), nn.ReLU(inplace=True), pool()),
        *(Fire(64, 16, 64), Fire(128, 16, 64), pool(), *(more if large else ())),
        *(nn.Dropout(0.5), nn.Conv2d(512 if large else 128, 1000, 1), nn.ReLU(inplace=True)),
        *(nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten()),
    )


class DenseLayer(nn.Module):
    """Norm before convolution, twice, of all that came before in the block. Source: Huang et al. 2016."""

    def __init__(self, inputs: int, growth: int) -> None:
        super().__init__()
        self.norm1, self.relu1 = nn.BatchNorm2d(inputs), nn.ReLU(inplace=True)
        self.conv1, self.norm2 = conv_norm(inputs, 4 * growth, 1)
        self.relu2, self.conv2 = nn.ReLU(inplace=True), nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, before: Sequence[Tensor]) -> Tensor:
        inner = self.conv1(self.relu1(self.norm1(torch.cat(tuple(before), 1))))
        return self.conv2(self.relu2(self.norm2(inner)))


class DenseBlock(nn.Module):
    """Dense layers; the result is all of them side by side."""

    def __init__(self, inputs: int, count: int, growth: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(DenseLayer(inputs + i * growth, growth) for i in range(count))

    def forward(self, x: Tensor) -> Tensor:
        found = [x]
        for layer in self.layers:
            found.append(layer(found))
        return torch.cat(found, 1)


def densenet(blocks: Sequence[int] = (6, 12, 24, 16)) -> nn.Module:
    """DenseNet with these numbers of layers in its blocks; (6, 12, 24, 16) is DenseNet-121."""
    layers: list[nn.Module] = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True)]
    layers.append(nn.MaxPool2d(3, 2, 1))
    width = 64
    for i, count in enumerate(blocks):
        layers.append(DenseBlock(width, count, 32))
        width += count * 32
        layers += nn.BatchNorm2d(width), nn.ReLU(inplace=True)
        if i < len(blocks) - 1:
            layers += nn.Conv2d(width, width // 2, 1, bias=False), nn.AvgPool2d(2, 2)
            width //= 2
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(), nn.Linear(width, 1000))


class TransformerBlock(nn.Module):
    """Attention with three projections of one input, and two linear layers; norms behind the sums.

    `fused`: attention is one operator; else it is written out. Source: Vaswani et al. 2017.
    """

    def __init__(self, width: int = 64, heads: int = 4, *, fused: bool = False) -> None:
        super().__init__()
        self.heads, self.fused = heads, fused
        self.query, self.key, self.value = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape

        def split(y: Tensor) -> Tensor:
            return y.view(batch, length, self.heads, width // self.heads).transpose(1, 2)

        q, k, v = split(self.query(x)), split(self.key(x)), split(self.value(x))
        if self.fused:
            seen = F.scaled_dot_product_attention(q, k, v)
        else:
            scores = torch.matmul(q, k.transpose(-2, -1)) / (width // self.heads) ** 0.5
            seen = torch.matmul(torch.softmax(scores, dim=-1), v)
        x = self.norm1(x + self.out(seen.transpose(1, 2).reshape(batch, length, width)))
        return self.norm2(x + self.narrow(F.gelu(self.wide(x))))


PICTURES: dict[str, Callable[[], nn.Module]] = {
    "resnet18": resnet18,
    "mobilenet_v2": mobilenet_v2,
    "shufflenet_v2": ShuffleNet,
    "squeezenet1_1": squeezenet1_1,
    "densenet121": densenet,
    "resnet_small": lambda: resnet18(large=False),
    "squeezenet_small": lambda: squeezenet1_1(large=False),
    "mobilenet_small": lambda: mobilenet_v2(large=False),
    "shufflenet_small": lambda: ShuffleNet(large=False),
    "densenet_small": lambda: densenet((2, 3)),
}
"""Models that take pictures (B, 3, SIDE, SIDE)."""

MODELS: dict[str, Callable[[], nn.Module]] = {
    **PICTURES,
    "transformer": TransformerBlock,
    "transformer_sdpa": lambda: TransformerBlock(fused=True),
}


LARGE = ("resnet18", "squeezenet1_1", "mobilenet_v2", "shufflenet_v2", "densenet121")
"""The models that `make fuzz` tests in full size; other runs use small ones with the same kinds of parts."""


def each(*cases: Any) -> list[Any]:
    """The cases of a test, names of models or tuples that begin with one; large models are left to `make fuzz`."""
    names = [case[0] if isinstance(case, tuple) else case for case in cases]
    slow = [[pytest.mark.fuzz] if name in LARGE else [] for name in names]
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=marks)
        for case, marks in zip(cases, slow, strict=True)
    ]


def model(name: str) -> nn.Module:
    """A fresh copy of a model in evaluation mode, always with the same weights."""
    return copy.deepcopy(_build(name))


@contextmanager
def plain_kernels() -> Iterator[None]:
    """Inside, convolutions compile no kernels for their shapes and one thread computes: faster for small models."""
    before, threads = torch.backends.mkldnn.set_flags(False), torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.backends.mkldnn.set_flags(before[0])
        torch.set_num_threads(threads)


def example(name: str, batch_size: int = 2, dtype: torch.dtype = torch.float32) -> Tensor:
    """Random data that a model takes."""
    generator = torch.Generator().manual_seed(1)
    shape = (batch_size, 3, SIDE, SIDE) if name in PICTURES else (batch_size, 10, 64)
    return torch.randn(shape, generator=generator, dtype=dtype)


def assert_within_rounding(graph: FunctionGraph, name: str, dtype: torch.dtype = torch.float32) -> None:
    """A graph has the results of a model, up to rewrites that are exact in real arithmetic."""
    x = example(name, dtype=dtype)
    with torch.no_grad():
        wanted, found = model(name).to(dtype)(x), to_module(graph)(x)
    assert found.dtype is dtype
    assert float((found - wanted).abs().max()) <= ROUNDING[str(dtype)] * max(1.0, float(wanted.abs().max()))


@cache
def export_model(name: str) -> ExportedProgram:
    """A model as PyTorch exports it; made once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.export.export(model(name), (example(name),))


@cache
def import_model(name: str, level: str = "functional") -> FunctionGraph:
    """A model as a graph; made once: rewrite a clone of it."""
    return from_exported(export_model(name), level=level)


def in_double(graph: FunctionGraph) -> FunctionGraph:
    """A graph as it would be if its model had been exported in double precision, which takes far longer."""
    made: dict[Variable, Variable] = {}
    for variable in graph.inputs:
        made[variable] = Variable(replace(variable.tensor_type, dtype=torch.float64), name=variable.name)
    for constant in graph.constants:
        data = constant.data
        single = isinstance(data, Tensor) and data.dtype is torch.float32
        made[constant] = Constant(data.double(), constant.name) if single else constant
    for node in graph.toposort():
        new = apply_op(node.op, [made[v] for v in node.inputs], node.location)
        made.update(zip(node.outputs, new.outputs, strict=True))
    return FunctionGraph([made[v] for v in graph.inputs], [made[v] for v in graph.outputs])


@cache
def _build(name: str) -> nn.Module:
    return with_fixed_weights(MODELS[name], example(name, 4))


def with_fixed_weights(build: Callable[[], nn.Module], data: Tensor) -> nn.Module:
    """A module in evaluation mode with fixed weights.

    Weights of norms are random, and the statistics of batch norms come from some data, shifted a little.
    """
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        made = build()
        norms = [part for part in made.modules() if isinstance(part, nn.BatchNorm2d)]
        for part in made.modules():
            if isinstance(part, nn.BatchNorm2d | nn.LayerNorm):
                part.weight.uniform_(0.5, 1.5)
                part.bias.normal_(std=0.3)
            elif isinstance(part, nn.Conv2d):
                part.weight.mul_(6**0.5)  # from PyTorch's deviation to He's: signals keep their size
        for norm in norms:
            norm.momentum = None  # the mean over all data so far: here of one batch
        made.double()(data.double())  # in float32 the first convolution of each shape compiles a kernel
        made.float()
        for norm in norms:
            norm.momentum = 0.1
            norm.get_buffer("running_mean").add_(0.1 * torch.randn(norm.num_features))
            norm.get_buffer("running_var").mul_(0.8 + 0.4 * torch.rand(norm.num_features))
    return made.eval()
