"""Quantized graphs in tests: made in few words, and compared before and after passes in quanta."""

from typing import Any

import torch

from explorer.rewrite import ConvergenceMode, Exactness, FunctionPassConfig, FunctionPassPipeline, PassManager
from explorer.tensor import FunctionGraph, Observer, Quantization, TensorType, Variable, quantized, to_module
from explorer.tensor.passes import GraphPass, GraphPasses, passes
from explorer.trace import AttemptsRefused

aten = torch.ops.aten
A, B, C = Quantization(0.05, 3), Quantization(0.11, -20), Quantization(0.3, 0)
"""Three quantizations; none is a multiple of another."""

SHAPE = (2, 3, 4, 4)


def integers(of=A, *shape, name="x") -> Any:
    """An input of a graph, quantized in 8 bits."""
    return Variable(TensorType(torch.int8, shape or SHAPE, quantization=of), name=name)


def reals(*shape, name="x") -> Any:
    """An input of a graph in floating point."""
    return Variable(TensorType(torch.float32, shape or SHAPE), name=name)


def values(graph, seed=0):
    """Random values for the inputs: all integers of 8 bits, real numbers of the size of 3."""
    generator = torch.Generator().manual_seed(seed)

    def made(kind):
        if kind.dtype is torch.int8:
            return torch.randint(-128, 128, kind.shape, generator=generator).to(torch.int8)
        return torch.randn(kind.shape, generator=generator) * 3

    return [made(v.type) for v in graph.inputs]


def results(graph, given):
    """The results of a graph, as a list."""
    found = to_module(graph)(*given)
    return list(found) if isinstance(found, tuple) else [found]


def manager(*names, registry=passes):
    """Runs these passes, each until it changes nothing."""
    configs = [FunctionPassConfig(name, ConvergenceMode.UNTIL_FIXED_POINT) for name in names]
    return PassManager(FunctionPassPipeline.of(*configs), registry)


def optimize(inputs, outputs, *names, within=0.0, given=None) -> Any:
    """The graph after some passes, which is legal and differs by at most `within` quanta (of floats: units)."""
    graph = FunctionGraph(inputs, outputs if isinstance(outputs, list) else [outputs])
    run(graph, *names, within=within, given=given)
    return graph


def run(graph, *names, within=0.0, given=None, registry=passes):
    """Run passes on a graph and compare its values; lossy passes need a bound."""
    given = values(graph) if given is None else given
    before = results(graph, given)
    done = manager(*names, registry=registry).run(graph)
    graph.verify()
    lossy = any(exactness(name, registry) is Exactness.LOSSY for name in names)
    assert lossy == (within > 0), "a pass with lossy rules needs a bound, and no other"
    for old, new in zip(before, results(graph, given), strict=True):
        assert (old.dtype, old.shape) == (new.dtype, new.shape)
        assert (old.double() - new.double()).abs().max().item() <= within
    return done


def exactness(name, registry=passes):
    """The exactness of a pass."""
    made = registry[name]
    assert isinstance(made, GraphPass)
    return made.exactness


def ops(graph):
    """The names of its operators, inputs first."""
    return [node.op.name for node in graph.toposort()]


def reasons(inputs, outputs, *names):
    """The reasons why the rules of some passes did not apply; the graph must not change."""
    declined = []

    def listen(event):
        if isinstance(event, AttemptsRefused):
            declined.extend(str(refusal.found) for refusal in event.refusals)

    graph = FunctionGraph(inputs, outputs if isinstance(outputs, list) else [outputs], features=[Observer([listen])])
    before = graph.text()
    assert not any(entry.changed for entry in manager(*names).run(graph))
    assert graph.text() == before
    return declined


def with_passes(*made):
    """A registry with DCE and these passes."""
    registry = GraphPasses()
    registry.register(passes["DCE"])
    for one in made:
        registry.register(one)
    return registry


def binary(target, x, y, to=C):
    """A quantized operator on two tensors."""
    return quantized.apply(target, [x, y], to)
