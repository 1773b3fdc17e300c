"""Whatever is raised while a graph changes, and wherever: the graph is as it was, and features know it."""

import sys

import pytest
import torch

from explorer.errors import GraphError, InconsistencyError, RuleError
from explorer.tensor import Constant, Feature, FunctionGraph, Observer, Op, Variable, call, doubles
from explorer.tensor.graph import wiring
from explorer.tensor.graph.features import ChangeTracker, NodeFinder
from explorer.tensor.ir.scalars import add, mul
from explorer.tensor.rewriting import FailurePolicy, RewriteWarning, TopoRewriter, node_rewriter
from explorer.trace import AttemptsRefused, RefusalKind

aten = torch.ops.aten
neg = Op.of(aten.neg.default)
x, y = doubles("x y")
HOOKS = ("on_import", "on_prune", "on_change_input", "on_validate")
ERRORS = (ValueError, KeyboardInterrupt, InconsistencyError)


class Raising(Feature):
    """Raises in one of the hooks after it is armed, a number of times."""

    def __init__(self, hook, error: type[BaseException] = ValueError, times=1):
        self.armed, self.times = False, times
        self.error = error
        setattr(self, hook, self._raise)

    def _raise(self, *arguments):
        if self.armed and self.times:
            self.times -= 1
            raise self.error("no luck")


class Known(Feature):
    """The applications that it was notified of."""

    def __init__(self):
        self.nodes = set()

    def on_import(self, graph, node, reason):
        assert node not in self.nodes
        self.nodes.add(node)

    def on_prune(self, graph, node, reason):
        self.nodes.remove(node)


def graph_with(*features):
    """Products of sums; a replacement of one of them brings several applications, and drops several."""
    inner = mul(add(x, y), neg(x))
    return FunctionGraph([x, y], [add(inner, inner), neg(inner)], features=features)


def replacements(graph):
    """Replacements: nothing else needs half of the replaced variables."""
    old = graph.outputs[0].owner.inputs[0]
    return [(old, mul(neg(old.owner.inputs[1]), add(neg(graph.inputs[1]), Constant(torch.tensor(2.0).double()))))]


def state(graph):
    """All that a transaction changes."""
    variables = [*graph.inputs, *graph.constants, *(v for node in graph.nodes for v in node.outputs)]
    return {
        "text": graph.text(),
        "nodes": {node: tuple(node.inputs) for node in graph.nodes},
        "outputs": tuple(graph.outputs),
        "clients": {v: set(v.clients) for v in variables if v.clients},
        "trained": {v: v.requires_grad for v in variables},
        "labels": dict(graph.order._label),
        "made by": dict(graph.made_by),
        "changes": graph.checkpoint(),
    }


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("hook", HOOKS)
def test_the_graph_is_restored_whatever_a_feature_raises(hook, error):
    raising, finder, known = Raising(hook, error), NodeFinder(), Known()
    graph = graph_with(known, raising, finder)
    before = state(graph)
    raising.armed = True
    with pytest.raises(error, match="no luck"):
        graph.replace_all_validate(replacements(graph))
    assert state(graph) == before
    graph.verify()
    assert known.nodes == set(graph.nodes)
    assert {n for n in graph.nodes if n in finder.get_nodes(n.op)} == set(graph.nodes)
    assert sum(len(finder.get_nodes(op)) for op in finder._nodes) == len(graph)
    graph.replace_all_validate(replacements(graph))
    graph.verify()
    assert known.nodes == set(graph.nodes)


@pytest.mark.parametrize("hook", HOOKS)
def test_a_feature_that_raises_during_revert_does_not_corrupt_the_graph(hook):
    raising, known = Raising(hook, times=-1), Known()
    graph = graph_with(raising, known)
    before = state(graph)
    raising.armed = True
    with pytest.raises(ValueError, match="no luck"):
        graph.replace_all_validate(replacements(graph))
    assert state(graph) == before
    assert known.nodes == set(graph.nodes)


@pytest.mark.parametrize("hook", HOOKS[:-1])
def test_unvalidated_changes_are_reverted_too(hook):
    raising = Raising(hook)
    graph = graph_with(raising)
    before = state(graph)
    raising.armed = True
    with pytest.raises(ValueError, match="no luck"):
        graph.replace_all(replacements(graph))
    assert state(graph) == before
    raising.times = 1
    with pytest.raises(ValueError, match="no luck"):
        graph.change_node_input(None, 0, neg(neg(graph.inputs[1])))
    assert state(graph) == before


def test_a_refusal_while_a_feature_fails_raises_the_error_of_the_feature():
    class Broken(Feature):
        def on_prune(self, graph, node, reason):
            if isinstance(reason, tuple):
                raise ZeroDivisionError("broken")

    refusing = Raising("on_validate", InconsistencyError)
    graph = graph_with(refusing, Broken())
    before = state(graph)
    refusing.armed = True
    with pytest.raises(ZeroDivisionError, match="broken") as raised:
        graph.replace_all_validate(replacements(graph))
    assert isinstance(raised.value.__cause__, InconsistencyError)
    assert state(graph) == before


def test_an_error_lists_errors_raised_during_revert():
    class Broken(Feature):
        def on_prune(self, graph, node, reason):
            if isinstance(reason, tuple):
                raise ZeroDivisionError("broken")

    raising = Raising("on_validate")
    graph = graph_with(raising, Broken())
    raising.armed = True
    with pytest.raises(ValueError, match="no luck") as raised:
        graph.replace_all_validate(replacements(graph))
    assert any("while it was reverted, a feature raised ZeroDivisionError: broken" in n for n in raised.value.__notes__)


@pytest.mark.parametrize("hook", HOOKS[:-1])
def test_undo_completes_whatever_a_feature_raises(hook):
    raising, tracker, known = Raising(hook, times=2), ChangeTracker(), Known()
    graph = graph_with(known, raising, tracker)
    before = state(graph)
    graph.replace_all_validate(replacements(graph))
    raising.armed = True
    with pytest.raises(ValueError, match="no luck"):
        graph.undo(0)
    assert state(graph) == before
    assert known.nodes == set(graph.nodes)
    graph.verify()


def test_undo_restores_edges_labels_and_makers():
    graph = graph_with()
    states = [state(graph)]
    for _ in range(3):
        graph.replace_all_validate(replacements(graph), "again")
        graph.verify()
        states.append(state(graph))
    for wanted in states[-2::-1]:
        graph.undo(wanted["changes"])
        assert state(graph) == wanted


def test_a_change_interrupted_anywhere_is_reverted():
    """An interrupt comes between two lines; here between any two of those that change edges."""
    parts = {f.__code__ for f in (wiring.apply_change, wiring._enter, wiring._leave, wiring._rewire, wiring._drop)}
    broken_off = 0
    for line in range(1, 1000):
        graph = graph_with()
        before = state(graph)
        left = line

        def tracer(frame, event, argument):
            nonlocal left
            if frame.f_code not in parts or left <= 0:
                return None
            left -= event == "line"
            if left <= 0:
                raise KeyboardInterrupt
            return tracer

        pairs, outer = replacements(graph), sys.gettrace()
        sys.settrace(tracer)
        try:
            graph.replace_all_validate(pairs, "broken off")
        except KeyboardInterrupt:
            broken_off += 1
        finally:
            sys.settrace(outer)
        graph.verify()
        if left > 0:
            break
        assert state(graph) == before, line
    assert broken_off > 50


def test_replacing_a_variable_that_is_not_an_input_changes_nothing():
    graph = graph_with()
    before, numbers = state(graph), dict(graph.ids)
    foreign = Variable(graph.inputs[0].type, name="foreign")
    with pytest.raises(GraphError, match="foreign is needed"):
        graph.replace(graph.outputs[0], add(Constant(torch.tensor(3.0).double()), foreign))
    assert state(graph) == before
    assert graph.ids == numbers


def test_reverting_a_change_reverts_requires_grad():
    graph = FunctionGraph([x], [neg(neg(x))])
    before = state(graph)
    weight = Constant(torch.nn.Parameter(torch.ones((), dtype=torch.float64)), "w", trainable=True)
    graph.replace(graph.inputs[0], mul(graph.inputs[0], weight))
    assert graph.outputs[0].requires_grad
    graph.undo(0)
    assert state(graph) == before
    assert not graph.outputs[0].requires_grad


@node_rewriter([aten.neg.default])
def twice_removed(node):
    """Minus x is 0 - x."""
    return [call(aten.mul.Tensor, node.inputs[0], -1.0)]


@pytest.mark.parametrize("hook", HOOKS)
def test_a_feature_that_raises_is_a_failure_of_the_rule_and_the_policy_decides(hook):
    def armed(*listeners):
        raising = Raising(hook)
        graph = FunctionGraph([x], [neg(x)], features=[raising, *([Observer(listeners)] if listeners else [])])
        raising.armed = True
        return graph

    graph = armed()
    with pytest.raises(RuleError, match=r"the rule twice_removed .* failed at node 1 \(neg\): ValueError: no luck"):
        TopoRewriter(twice_removed).rewrite(graph)
    assert graph.text() == armed().text()
    graph = armed()
    with pytest.warns(RewriteWarning, match="ValueError: no luck; it was ignored") as warned:
        TopoRewriter(twice_removed, policy=FailurePolicy.WARN).rewrite(graph)
    assert warned[0].filename == __file__
    assert graph.text() == armed().text()
    events = []
    graph = armed(events.append)
    TopoRewriter(twice_removed, policy=FailurePolicy.REVERT).rewrite(graph)
    assert graph.text() == armed().text()
    (refusal,) = [refusal for event in events if isinstance(event, AttemptsRefused) for refusal in event.refusals]
    assert refusal.kind is RefusalKind.REVERTED
    assert "ValueError: no luck" in refusal.reason
