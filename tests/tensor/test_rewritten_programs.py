"""Whole programs through `optdb`: circuits, and modules of PyTorch. Values stay; what should vanish has vanished."""

import warnings
from collections import Counter

import pytest
import torch
from torch import nn

from explorer.tensor import from_module, to_module
from explorer.tensor.optdb import optdb
from tests.tensor.circuits import compiled, imported, rows

VIEWS = {"view", "squeeze", "unsqueeze", "transpose", "clone", "contiguous", "alias", "t", "_unsafe_view"}


def rewritten(module, *arguments, query="+fast_run", graph=None):
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
    """How often each operator stands in a graph."""
    return Counter(node.op.name for node in graph.toposort())


@pytest.mark.parametrize("name", ["hmm", "near-misses"])
def test_a_circuit_has_its_softmaxes_computed_and_its_views_merged(name):
    start = len(imported(name))
    graph = rewritten(compiled(name), rows(name), graph=imported(name).clone())
    found = counts(graph)
    assert not VIEWS & set(found)
    assert not {"softmax", "log_softmax"} & set(found), "they are constants now"
    assert {"exp_", "log_", "sub_"} <= set(found)
    assert len(graph) < 0.65 * start


def test_the_digits_circuit_in_numbers():
    given = compiled("digits"), rows("digits")
    graph = rewritten(*given, graph=imported("digits").clone())
    found = counts(graph)
    assert len(graph) == 45
    assert (found["sum"], found["select"], found["bmm"], found["permute"]) == (3, 0, 4, 1)
    names = {constant.name for constant in graph.constants}
    assert {"tensors.0.log_softmax.moved", "tensors.1.softmax.moved"} <= names
    assert "_." not in rewritten(*given, query="+fast_compile", graph=imported("digits").clone()).text()


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
    torch.manual_seed(0)
    module.eval()
    data = torch.randn(shape)
    graph = from_module(module, (data,), level=level)
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


def test_a_rewritten_program_goes_through_the_compiler_of_pytorch():
    module, data = nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Flatten()).eval(), torch.randn(3, 6)
    program = to_module(rewritten(module, data))
    exported = torch.export.export(program, (data,)).module()
    with torch.no_grad():
        torch.testing.assert_close(exported(data), module(data))
