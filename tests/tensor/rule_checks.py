"""Helpers for tests of rules: build small graphs, rewrite them, compare values before and after."""

import torch

from explorer.tensor import Constant, FunctionGraph, TensorType, Variable, to_module
from explorer.tensor.rewriting import Declined, EquilibriumRewriter, LocalRewriter, in2out
from explorer.tensor.rules import canonicalize, specialize, stabilize
from tests.tensor.text_form import expression

aten = torch.ops.aten


def tensor(name, *shape, dtype=torch.float32):
    """An input of a graph."""
    return Variable(TensorType(dtype, shape), name=name)


def tensors(dtype=torch.float32, **shapes):
    """Inputs by name."""
    return {name: tensor(name, *shape, dtype=dtype) for name, shape in shapes.items()}


def graph_of(inputs, *outputs):
    """A graph of copies, so that a test may use its variables again."""
    return FunctionGraph(inputs, outputs)


def sample(graph, seed=0, low=0.2, high=1.5):
    """Values for the inputs, positive, so that logs and divisions are defined."""
    torch.manual_seed(seed)
    found = []
    for variable in graph.inputs:
        kind = variable.tensor_type
        if kind.dtype.is_floating_point:
            found.append((torch.rand(kind.shape, dtype=torch.float64) * (high - low) + low).to(kind.dtype))
        else:
            found.append(torch.randint(0, 2, kind.shape).to(kind.dtype))
    return found


def values(graph, arguments) -> tuple[torch.Tensor, ...]:
    """The outputs for these values, as a tuple."""
    with torch.no_grad():
        found = to_module(graph)(*[argument.clone() for argument in arguments])
    return found if isinstance(found, tuple) else (found,)


def same_bits(left, right) -> bool:
    """Whether two tensors have equal dtypes, shapes and bits; all NaN are equal."""
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    if not (left.is_floating_point() or left.is_complex()):
        return torch.equal(left, right)
    left, right = (torch.view_as_real(v) if v.is_complex() else v for v in (left, right))
    nan, zero = left.isnan(), left == 0
    return (
        torch.equal(nan, right.isnan())
        and torch.equal(left[~nan], right[~nan])
        and torch.equal(left[zero].signbit(), right[zero].signbit())
    )


def apply(rewriter, inputs, *outputs, exact=False, low=0.2, high=1.5):
    """Rewrite a graph; check that values stay and that it is a fixpoint. Returns the graph."""
    graph = graph_of(inputs, *outputs)
    if isinstance(rewriter, LocalRewriter):
        rewriter = EquilibriumRewriter([rewriter])
    arguments = sample(graph, low=low, high=high)
    before = values(graph, arguments)
    rewriter.rewrite(graph)
    graph.verify()
    after = values(graph, arguments)
    for old, new in zip(before, after, strict=True):
        assert old.dtype == new.dtype
        if exact:
            assert torch.equal(old, new)
        else:
            torch.testing.assert_close(new, old, rtol=1e-5, atol=1e-6, equal_nan=True)  # one rounding or two
    text = graph.text()
    rewriter.rewrite(graph)
    assert graph.text() == text, "it is not a fixpoint"
    return graph


def check_rewrite(database, before, after, variables, **options):
    """Rewrite the expression `before` with the rules of a database: the graph becomes `after`, its values stay."""
    graph = apply(database.query("+fast_run"), *read(before, variables), **options)
    assert repr(graph) == f"[{after}]", repr(graph)


def check_declined(rule, before, reason, variables):
    """A rule declines the last application in the expression `before`: its reason contains `reason`."""
    found = decline_reason(rule, *read(before, variables))
    assert reason in found, found


def read(text, variables):
    """The variables that are not constants, and the values of an expression."""
    found = expression(text, variables)
    inputs = [variable for variable in variables.values() if not isinstance(variable, Constant)]
    return inputs, *(found if isinstance(found, list) else [found])


def canonical(inputs, *outputs, **options):
    """The graph after `canonicalize`, as an expression."""
    return repr(apply(canonicalize.query("+fast_run"), inputs, *outputs, **options))


def stable(inputs, *outputs, **options):
    """The graph after `stabilize`, as an expression."""
    return repr(apply(stabilize.query("+fast_run"), inputs, *outputs, **options))


def special(inputs, *outputs, **options):
    """The graph after `specialize`, as an expression."""
    return repr(apply(specialize.query("+fast_run"), inputs, *outputs, **options))


def decline_reason(rule, inputs, *outputs):
    """The reason why a rule declines the last application; the graph must not change."""
    graph = graph_of(inputs, *outputs)
    text = repr(graph)
    reasons = [rule.transform(node) for node in graph.toposort()]
    in2out(rule).rewrite(graph)
    assert repr(graph) == text
    found = [reason.reason for reason in reasons if isinstance(reason, Declined)]
    return found[-1] if found else ""
