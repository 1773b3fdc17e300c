"""Running passes in tests: the graph stays legal and keeps its values."""

import re
from functools import partial

import torch

from explorer.passes import GLOW_FOLD, GLOW_OPTIMIZE, RAISING
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
from explorer.tensor import Constant, FunctionGraph, Observer, TensorType, Variable, call, to_module
from explorer.tensor.passes import GraphPass, passes
from explorer.tensor.passes.base import WEAKEST
from tests.tensor.text_form import expression, type_of

aten = torch.ops.aten

GLOW_PIPELINE = FunctionPassPipeline.of_listed((*RAISING, *GLOW_FOLD, *GLOW_OPTIMIZE))
"""Glow's passes without Theano's."""

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}
"""Of results of the size of 1 that are rounded a few times."""


def tensor(*shape, dtype=torch.float32, name="x"):
    """An input of a graph."""
    return Variable(TensorType(dtype, shape), name=name)


def constant(*shape, dtype=torch.float32, seed=0, name=""):
    """A constant with random numbers between 0.5 and 1.5, so that one can divide by it."""
    generator = torch.Generator().manual_seed(seed)
    return Constant(torch.rand(shape, generator=generator, dtype=torch.float64).to(dtype) + 0.5, name)


def trained(*shape, dtype=torch.float32, name="w"):
    """A constant that is trained, with random numbers."""
    return Constant(torch.nn.Parameter(constant(*shape, dtype=dtype).data), name, trainable=True)


def full(number, *shape, dtype=torch.float32):
    """A constant filled with one number."""
    return Constant(torch.full(shape, number, dtype=dtype))


def norm(x, *parts, eps=1e-3):
    """A batch norm in inference; weight, bias, mean and variance are random if they are not given."""
    kind = x.tensor_type
    parts = parts or [constant(kind.shape[1], dtype=kind.dtype, seed=i) for i in range(4)]
    return call(aten._native_batch_norm_legit_no_training.default, x, *parts, 0.1, eps)[0]


def values(graph, seed=0):
    """Random values for the inputs."""
    generator = torch.Generator().manual_seed(seed)
    return [
        (torch.randn(v.tensor_type.shape, generator=generator, dtype=torch.float64) * 3).to(v.tensor_type.dtype)
        for v in graph.inputs
    ]


SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 6.0, 1e-30, -1e-30, float("inf"), float("-inf"), float("nan"))


def special_values(graph, seed=0):
    """Values for the inputs, half of them special ones: zeros of both signs, infinities, NaN, ends of integers."""
    generator = torch.Generator().manual_seed(seed)
    return [_special(v.tensor_type, generator) for v in graph.inputs]


def _special(kind, generator):
    if kind.dtype.is_floating_point:
        special = torch.tensor(SPECIAL, dtype=torch.float64)
        plain = torch.randn(kind.shape, generator=generator, dtype=torch.float64) * 3
    else:
        ends = (0, 1) if kind.dtype is torch.bool else (torch.iinfo(kind.dtype).min, torch.iinfo(kind.dtype).max)
        special = torch.tensor([*ends, 0, 1], dtype=torch.int64)
        plain = torch.randint(max(ends[0], -9), min(ends[1], 9) + 1, kind.shape, generator=generator)
    picked = special[torch.randint(len(special), kind.shape, generator=generator)]
    mask = torch.rand(kind.shape, generator=generator) < 0.5
    return torch.where(mask, picked, plain).to(kind.dtype)


def bits(value):
    """The bits of a tensor; all NaN are equal."""
    value = torch.view_as_real(value) if value.is_complex() else value
    value = value.detach().clone(memory_format=torch.contiguous_format)
    if not value.dtype.is_floating_point:
        return value
    value[value.isnan()] = float("nan")
    return value.view({2: torch.int16, 4: torch.int32, 8: torch.int64}[value.dtype.itemsize])


def assert_same_bits(found, wanted):
    """Two lists of results are the same, including signs of zeros and NaN."""
    for new, old in zip(found, wanted, strict=True):
        assert (new.dtype, new.shape) == (old.dtype, old.shape)
        assert torch.equal(bits(new), bits(old)), f"{new} differs from {old}"


def weakest_exactness(graph, mark, *names):
    """The weakest promise among the rules of some passes that changed a graph since a mark."""
    applied = {str(change.reason) for change in graph.changes[mark:]}
    found = [Exactness.EXACT]
    for made in map(graph_pass, names):
        rules = made.local_rewriters()
        found += [rule.exactness for rule in rules if rule.label in applied]
        found += [] if rules or not applied else [made.exactness]
    return max(found, key=WEAKEST.index)


def results(graph, given):
    """The outputs of a graph as a list."""
    return outputs_of(to_module(graph), given)


def outputs_of(module, given):
    """The outputs of a module as a list."""
    found = module(*given)
    return list(found) if isinstance(found, tuple) else [found]


def optimize(inputs, outputs, *names, mode=CompilationMode.INFER, until_fixed_point=False, given=None):
    """The graph after some passes; it is legal and keeps its values as exactly as the rules promise."""
    outputs = outputs if isinstance(outputs, list) else [outputs]
    graph = FunctionGraph(inputs, outputs)
    run(graph, *names, mode=mode, until_fixed_point=until_fixed_point, given=given)
    return graph


def check_pass(names, before, after, shapes, dtype=torch.float32, **options):
    """Run passes on the expression `before`: the graph becomes `after`, and keeps its values as in `optimize`.

    Returns the graph. `names` are passes, separated by spaces. `shapes` are the shapes of the inputs and
    constants by name; see `leaves`. `splat(5.0, 2, 3)` in `before` is a constant filled with a number, `constant` in
    `after` one without a name; `norm(x)` is a batch norm.
    """
    graph = optimize(*read(before, shapes, dtype), *names.split(), **options)
    found = shown(graph)
    assert found == after, found
    return graph


def shown(graph):
    """A graph as an expression, its constants without digests, and batch norms as `norm` makes them as `norm(x)`."""
    text = re.sub(r"\bconstant [0-9a-f]{8}", "constant", repr(graph)[1:-1])
    text = text.replace("_native_batch_norm_legit_no_training(", "norm(")
    return text.replace(", constant, constant, constant, constant, momentum=0.1, eps=0.001)::0", ")")


def check_reason(names, before, reason, shapes, dtype=torch.float32):
    """Passes leave the expression `before` as it is, for this reason."""
    found = reasons(*read(before, shapes, dtype), *names.split())
    assert found == [reason], found


def leaves(shapes, dtype):
    """An input for each name, and a constant with random numbers for each name in capitals.

    In place of a shape may be a type such as "i64[3]", or the constant itself.
    """
    return {name: leaf(name, shape, dtype) for name, shape in shapes.items()}


def leaf(name, shape, dtype):
    """The variable of a name."""
    if isinstance(shape, Constant):
        return shape
    kind = type_of(shape) if isinstance(shape, str) else TensorType(dtype, shape)
    if name.isupper():
        return constant(*kind.shape, dtype=kind.dtype, seed=sum(name.encode()), name=name)
    return Variable(kind, name=name)


def read(text, shapes, dtype=torch.float32):
    """The inputs that an expression reads, and a list of its values."""
    known = leaves({name: shape for name, shape in shapes.items() if re.search(rf"\b{name}\b", text)}, dtype)
    found = expression(text, known | {"splat": partial(full, dtype=dtype), "norm": norm})
    inputs = [variable for variable in known.values() if not isinstance(variable, Constant)]
    return inputs, found if isinstance(found, list) else [found]


def run(graph, *names, mode=CompilationMode.INFER, until_fixed_point=False, given=None):
    """Run passes on a graph and compare its values; returns what each pass did.

    Where all rules that were applied promise the same bits, special values are tried too.
    """
    given = values(graph) if given is None else given
    special = special_values(graph)
    module = to_module(graph)
    before, specially = outputs_of(module, given), outputs_of(module, special)
    mark = graph.checkpoint()
    convergence = ConvergenceMode.UNTIL_FIXED_POINT if until_fixed_point else ConvergenceMode.ONE_PASS
    configs = [FunctionPassConfig(name, convergence, dce=DCERequiredMode.NONE) for name in names]
    manager = PassManager(FunctionPassPipeline.of(*configs), passes, PassOptions(verify_before="all"))
    done = manager.run(graph, mode)
    module = to_module(graph)
    if weakest_exactness(graph, mark, *names) is Exactness.EXACT:
        assert_same_bits(outputs_of(module, given), before)
        assert_same_bits(outputs_of(module, special), specially)
        return done
    for old, new in zip(before, outputs_of(module, given), strict=True):
        assert old.dtype is new.dtype
        assert old.shape == new.shape
        near = TOLERANCE.get(old.dtype, 0)
        torch.testing.assert_close(new, old, rtol=near, atol=near, equal_nan=True)
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


def nodes(graph):
    """Count nodes as Glow does: the operators, and for each output one that saves it."""
    return len(graph) + len(graph.outputs)


def reasons(inputs, outputs, *names):
    """The reasons why the rules of some passes decline; the graph must not change."""
    from explorer.rewrite import CompilationMode
    from explorer.trace import AttemptsRefused

    declined = []

    def listen(event):
        if isinstance(event, AttemptsRefused):
            declined.extend(str(refusal.found) for refusal in event.refusals)

    graph = FunctionGraph(inputs, outputs if isinstance(outputs, list) else [outputs], features=[Observer([listen])])
    before = graph.text()
    manager = PassManager(FunctionPassPipeline.of(*names), passes)
    done = manager.run(graph, CompilationMode.INFER)
    assert not any(entry.changed for entry in done)
    assert graph.text() == before
    return declined
