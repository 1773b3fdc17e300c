"""Whole programs through `optdb`: circuits, and modules of PyTorch. Values stay; what should vanish has vanished."""

import copy
import os
import shutil
import warnings
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
import torch
from torch import nn
from torch._inductor import config as inductor
from torch.nn import functional as F

from explorer.rewrite import CompilationMode, PassManager
from explorer.tensor import from_exported, from_module, to_fx, to_module
from explorer.tensor.passes import passes
from explorer.tensor.passes.base import DEFAULT_PIPELINE
from explorer.tensor.rules import optdb
from tests.needed import is_missing
from tests.tensor.circuits import compile_circuit, import_circuit, rows
from tests.tensor.models import with_fixed_weights

VIEWS = {"view", "squeeze", "unsqueeze", "transpose", "clone", "contiguous", "alias", "t", "_unsafe_view"}


def rewrite(module, *arguments, query="+fast_run", graph=None):
    """The graph of a module after a query, checked against the module."""
    graph = from_module(module, arguments) if graph is None else graph
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optdb.query(query).rewrite(graph)
    graph.verify()
    before = [argument.clone() for argument in arguments]
    with torch.no_grad():
        wanted, found = module(*arguments), to_module(graph)(*arguments)
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)  # other kernels round otherwise
    assert all(map(torch.equal, before, arguments))
    return graph


def counts(graph):
    """Count each operator in a graph."""
    return Counter(node.op.name for node in graph.toposort())


@pytest.mark.parametrize(
    "name", ["kronecker", *(pytest.param(name, marks=pytest.mark.fuzz) for name in ("hmm", "near-misses"))]
)
def test_a_circuit_has_its_softmaxes_computed_and_its_views_merged(name):
    start = len(import_circuit(name))
    graph = rewrite(compile_circuit(name), rows(name), graph=import_circuit(name).clone())
    found = counts(graph)
    assert not VIEWS & set(found)
    assert not {"softmax", "log_softmax"} & set(found), "they are constants now"
    assert {"exp_", "log_", "sub_"} <= set(found)
    assert len(graph) < 0.65 * start


def test_the_digits_circuit_in_numbers():
    given = compile_circuit("digits"), rows("digits")
    graph = rewrite(*given, graph=import_circuit("digits").clone())
    found = counts(graph)
    assert len(graph) == 45
    assert (found["sum"], found["select"], found["bmm"], found["permute"]) == (3, 0, 4, 1)
    names = {constant.name for constant in graph.constants}
    assert {"tensors.0.log_softmax.moved", "tensors.1.softmax.moved"} <= names
    assert "_." not in rewrite(*given, query="+fast_compile", graph=import_circuit("digits").clone()).text()


class Block(nn.Module):
    """A transformer's block."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)
        self.out = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Dropout(0.1), nn.Linear(32, 16))

    def forward(self, x):
        h = self.norm(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.out(self.norm(x))


class Image(nn.Module):
    """Two convolutions with a shortcut."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)

    def forward(self, x):
        h = torch.relu(self.norm(self.first(x)))
        h = torch.relu(self.second(h) + h)
        return torch.log(torch.softmax(h.mean((2, 3)) * 2 / 2, dim=1))


@cache
def exported(module, shape):
    """A module as PyTorch exports it, for both levels; made once."""
    return torch.export.export(module.eval(), (torch.zeros(shape),))


@pytest.mark.parametrize("level", ["functional", "core"])
@pytest.mark.parametrize(
    ("module", "shape"),
    [
        (Block(), (2, 5, 16)),
        (Image(), (2, 3, 8, 8)),
        (nn.Sequential(nn.Flatten(), nn.Linear(12, 4), nn.SiLU()), (3, 3, 4)),
    ],
    ids=["transformer", "convolutions", "perceptron"],
)
def test_a_module_keeps_its_values(module, shape, level):
    data = torch.randn(shape)
    graph = from_exported(exported(module, shape), level=level)
    before = len(graph)
    optdb.query("+fast_run").rewrite(graph)
    graph.verify()
    with torch.no_grad():
        torch.testing.assert_close(to_module(graph)(data), module(data), rtol=1e-4, atol=1e-5)
    assert len(graph) <= before
    assert not {"dropout", "clone", "alias"} & set(counts(graph))


def test_a_module_in_training_is_trained_by_the_rewritten_graph_as_by_itself():
    torch.manual_seed(0)
    module, data = nn.Sequential(nn.Linear(6, 4), nn.Softmax(-1)), torch.randn(3, 6)
    graph = from_module(module, (data,), training=True)
    optdb.query("+fast_run").rewrite(graph)
    program = to_module(graph)
    torch.log(program(data)).sum().backward()
    found = {
        name: parameter.grad.clone() for name, parameter in module.named_parameters() if parameter.grad is not None
    }
    module.zero_grad()
    torch.log(module(data)).sum().backward()
    for name, parameter in module.named_parameters():
        torch.testing.assert_close(found[name], parameter.grad, rtol=1e-5, atol=1e-6)


# ---------------------------------------------------------------------- through PyTorch again


class Picture(nn.Module):
    """A convolution with its norm, clips, a pool, and a linear layer behind one that is normalized by hand."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)
        self.first, self.top = nn.Linear(36, 8), nn.Linear(8, 5)

    def forward(self, x):
        h = F.max_pool2d(F.relu6(F.relu(self.norm(self.conv(x)))), 2)
        h = self.first(h.permute(0, 2, 3, 1).permute(0, 3, 1, 2).flatten(1))
        return torch.log(torch.exp(self.top(h)) / torch.exp(self.top(h)).sum(1, keepdim=True))


PICTURE = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(1))


def through_passes(module, mode=CompilationMode.INFER):
    """The graph of a module after the default passes; they change it."""
    graph = from_module(module, (PICTURE.to(next(module.parameters()).dtype),), training=mode is CompilationMode.TRAIN)
    before = graph.text()
    PassManager(DEFAULT_PIPELINE, passes).run(graph, mode)
    graph.verify()
    assert graph.text() != before
    return graph


@pytest.fixture(scope="module")
def picture():
    """A module with random weights and statistics instead of the initial ones."""
    with torch.random.fork_rng(devices=[]):
        return with_fixed_weights(Picture, PICTURE)


class Clipped(nn.Module):
    """A linear layer and one kernel: each additional kernel takes seconds to compile."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 4)

    def forward(self, x):
        return torch.sigmoid(F.relu(F.relu6(self.linear(x))) * 1.0)


@pytest.mark.filterwarnings("ignore:`torch.jit.script_method`:DeprecationWarning")  # what inductor imports uses it
@pytest.mark.fuzz  # the C++ compiler takes longest
def test_a_rewritten_program_is_compiled_by_torch_compile(tmp_path, monkeypatch):
    """Not only its frontend: the kernels are generated, compiled, and run."""
    if shutil.which(os.environ.get("CXX", "g++")) is None:
        is_missing("a C++ compiler", "apt-get install g++ (or set CXX to one)")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    module, data = Clipped().eval(), torch.randn(3, 6)
    graph = from_module(module, (data,))
    PassManager(DEFAULT_PIPELINE, passes).run(graph)
    assert [node.op.name for node in graph.toposort()] == ["linear", "clamp", "sigmoid"]
    torch.compiler.reset()
    try:
        compiled = torch.compile(to_module(graph), backend="inductor", fullgraph=True)
        with torch.no_grad(), inductor.patch(compile_threads=1):  # a pool of processes would outlive the test
            torch.testing.assert_close(compiled(data), module(data), rtol=1e-5, atol=1e-6)  # exp of another library
    finally:
        torch.compiler.reset()
    assert list(tmp_path.rglob("*.cpp")), "nothing was compiled"


def test_a_rewritten_program_can_be_exported(picture):
    exported = torch.export.export(to_module(through_passes(picture)), (PICTURE,)).module()
    with torch.no_grad():
        torch.testing.assert_close(exported(PICTURE), picture(PICTURE), rtol=1e-4, atol=1e-5)


def test_a_rewritten_program_is_an_fx_module_with_source_locations(picture):
    graph = through_passes(picture)
    program = to_fx(graph)
    program.graph.lint()
    with torch.no_grad():
        (found,) = program(PICTURE)
        torch.testing.assert_close(found, picture(PICTURE), rtol=1e-4, atol=1e-5)
    calls = [node for node in program.graph.nodes if node.op == "call_function"]
    assert [node.target for node in calls] == [node.op.target for node in graph.toposort()]
    for emitted, node in zip(calls, graph.toposort(), strict=True):
        if node.op.name in ("conv2d", "linear", "addmm"):
            assert emitted.meta["stack_trace"] == node.location.stack
            paths = [path for path, _ in emitted.meta["nn_module_stack"].values()]
            assert paths[-1].removeprefix("L['self'].") == node.location.module
            assert Path(__file__).name in node.location.stack
            assert node.location.line.startswith(Path(__file__).name)
            assert node.location.module in ("conv", "first", "top")


def steps_of_descent(call, module, steps=2):
    """The losses of a few steps, in float64."""
    descent = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for i in range(steps):
        descent.zero_grad()
        x = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(i), dtype=torch.float64)
        loss = F.nll_loss(call(x), torch.tensor([1, 3]))
        loss.backward()
        descent.step()
        losses.append(float(loss.detach()))
    return losses


@pytest.mark.parametrize("form", ["module", "fx", "compiled"])
def test_a_rewritten_program_trains_as_the_module_does(picture, form):
    original = copy.deepcopy(picture).double().train()
    graph = through_passes(copy.deepcopy(original), CompilationMode.TRAIN)
    program = to_fx(graph) if form == "fx" else to_module(graph)
    run = torch.compile(program, backend="aot_eager", fullgraph=True) if form == "compiled" else program
    found = steps_of_descent((lambda x: run(x)[-1]) if form == "fx" else run, program)
    torch.compiler.reset()
    assert found == pytest.approx(steps_of_descent(original, original), rel=1e-12)
    assert found[0] != pytest.approx(found[1])
    requires_grad = dict(original.named_parameters())
    assert dict(program.named_parameters()).keys() == requires_grad.keys()
    for name, parameter in program.named_parameters():
        torch.testing.assert_close(parameter, requires_grad[name], rtol=1e-10, atol=1e-12)
    if form != "fx":  # the buffers that a call of an fx module changes are among its results
        for name, buffer in original.named_buffers():
            torch.testing.assert_close(program.get_buffer(name), buffer, rtol=1e-10, atol=1e-12)
