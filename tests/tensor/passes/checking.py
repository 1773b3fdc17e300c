"""Running passes in tests: the graph afterwards is legal, and gives the values that the graph before gave."""

import torch

from explorer.rewrite import (
    CompilationMode,
    ConvergenceMode,
    DCERequiredMode,
    Exactness,
    FunctionPassConfig,
    FunctionPassPipeline,
    PassManager,
    PassOptions,
)
from explorer.tensor import Constant, FunctionGraph, TensorType, Variable, to_module
from explorer.tensor.passes import GraphPass, passes

aten = torch.ops.aten

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}
"""Of results of the size of 1 that are rounded a few times."""


def tensor(*shape, dtype=torch.float32, name="x"):
    """An input of a graph."""
    return Variable(TensorType(dtype, shape), name=name)


def constant(*shape, dtype=torch.float32, seed=0, name=""):
    """A constant with random numbers between 0.5 and 1.5, so that one can divide by it."""
    generator = torch.Generator().manual_seed(seed)
    return Constant(torch.rand(shape, generator=generator, dtype=torch.float64).to(dtype) + 0.5, name)


def full(number, *shape, dtype=torch.float32):
    """A constant with one number everywhere."""
    return Constant(torch.full(shape, number, dtype=dtype))


def values(graph, seed=0):
    """Random values for the inputs."""
    generator = torch.Generator().manual_seed(seed)
    return [
        (torch.randn(v.tensor_type.shape, generator=generator, dtype=torch.float64) * 3).to(v.tensor_type.dtype)
        for v in graph.inputs
    ]


def results(graph, given):
    """What a graph gives, as a list."""
    found = to_module(graph)(*given)
    return list(found) if isinstance(found, tuple) else [found]


def optimized(inputs, outputs, *names, mode=CompilationMode.INFER, until_fixed_point=False, exactness=None, given=None):
    """The graph after some passes, which is legal and gives what it gave, as exactly as the passes promise."""
    outputs = outputs if isinstance(outputs, list) else [outputs]
    graph = FunctionGraph(inputs, outputs)
    run(graph, *names, mode=mode, until_fixed_point=until_fixed_point, exactness=exactness, given=given)
    return graph


def run(graph, *names, mode=CompilationMode.INFER, until_fixed_point=False, exactness=None, given=None):
    """Run passes on a graph and compare its values; gives what each pass did."""
    given = values(graph) if given is None else given
    before = results(graph, given)
    convergence = ConvergenceMode.UNTIL_FIXED_POINT if until_fixed_point else ConvergenceMode.ONE_PASS
    configs = [FunctionPassConfig(name, convergence, dce=DCERequiredMode.NONE) for name in names]
    manager = PassManager(FunctionPassPipeline.of(*configs), passes, PassOptions(verify_before="all"))
    done = manager.run(graph, mode)
    promised = [graph_pass(name).exactness for name in names]
    if exactness is None:
        exactness = Exactness.EXACT if all(p is Exactness.EXACT for p in promised) else Exactness.REAL
    for old, new in zip(before, results(graph, given), strict=True):
        assert old.dtype is new.dtype
        assert old.shape == new.shape
        if exactness is Exactness.EXACT:
            assert torch.equal(old.nan_to_num(7.0), new.nan_to_num(7.0))
        else:
            torch.testing.assert_close(new, old, rtol=TOLERANCE.get(old.dtype, 0), atol=TOLERANCE.get(old.dtype, 0))
    return done


def held(variable) -> Constant:
    """A variable that must be a constant."""
    assert isinstance(variable, Constant)
    return variable


def graph_pass(name) -> GraphPass:
    """A pass by name."""
    made = passes[name]
    assert isinstance(made, GraphPass)
    return made


def ops(graph):
    """The names of its operators, inputs first."""
    return [node.op.name for node in graph.toposort()]


def reasons(inputs, outputs, *names):
    """Why the rules of some passes did not apply, as they say it; the graph must not change."""
    from explorer.rewrite import CompilationMode
    from explorer.trace import AttemptsRefused

    told = []

    def listen(event):
        if isinstance(event, AttemptsRefused):
            told.extend(str(refusal.found) for refusal in event.refusals)

    graph = FunctionGraph(inputs, outputs if isinstance(outputs, list) else [outputs], listeners=[listen])
    before = graph.text()
    manager = PassManager(FunctionPassPipeline.of(*names), passes)
    done = manager.run(graph, CompilationMode.INFER)
    assert not any(entry.changed for entry in done)
    assert graph.text() == before
    return told
