"""The default pipelines on random programs: records and equal values; real models: test_rewritten_models.py."""

import pytest
import torch

from explorer.errors import DuplicateNameError
from explorer.rewrite import (
    CompilationMode,
    ConvergenceMode,
    Exactness,
    FunctionPassConfig,
    FunctionPassPipeline,
    PassManager,
    PassOptions,
    pipeline_from_yaml,
    pipeline_to_yaml,
)
from explorer.tensor import FunctionGraph, Observer, call, to_module
from explorer.tensor.passes import GraphPass, GraphPasses, passes
from explorer.tensor.passes.base import DEFAULT_PIPELINE
from explorer.tensor.rewriting import Rewriter
from explorer.tensor.rules import canonicalize
from explorer.trace import StepStarted
from tests.fuzzing import seeded
from tests.tensor.models import plain_kernels
from tests.tensor.passes.checking import (
    GLOW_PIPELINE,
    assert_same_bits,
    aten,
    graph_pass,
    ops,
    results,
    special_values,
    tensor,
    weakest_exactness,
)
from tests.tensor.passes.random_programs import random_graph, random_values


@pytest.fixture(autouse=True, scope="module")
def without_kernels_by_shape():
    with plain_kernels():
        yield


def test_in_training_the_gradients_are_the_same_after_the_passes():
    torch.manual_seed(0)
    layers = [torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.ReLU(), torch.nn.Linear(6, 2)]
    module = torch.nn.Sequential(*layers).double()
    from explorer.tensor import from_module

    x = torch.randn(5, 4, dtype=torch.float64)
    graph = from_module(module, (x,), training=True)
    PassManager(GLOW_PIPELINE, passes).run(graph, CompilationMode.TRAIN)
    assert ops(graph) == ["linear", "relu", "linear"]
    rewritten = to_module(graph)
    module(x).square().sum().backward()
    rewritten(x).square().sum().backward()
    gradients = dict(rewritten.named_parameters())
    for name, parameter in module.named_parameters():
        torch.testing.assert_close(gradients[name].grad, parameter.grad)


@pytest.mark.parametrize("kind", [torch.float64, torch.float32, torch.int32], ids=["f64", "f32", "i32"])
@seeded(10, also=(381624338,))
def test_every_pass_preserves_the_values_of_random_programs_and_terminates(seed, kind):
    """Every pass is compared with the graph before it, as exactly as its applied rules promise."""
    graph = random_graph(seed, kind, length=6 + seed % 14)
    plain, special = random_values(graph, seed), special_values(graph, seed)
    before = [results(graph, plain), results(graph, special)]
    seen = graph.checkpoint()

    def compare(when, name, present):
        nonlocal before, seen
        if present.checkpoint() == seen:
            return
        found = [results(present, plain), results(present, special)]
        if weakest_exactness(present, seen, name) is Exactness.EXACT:
            assert_same_bits([*found[0], *found[1]], [*before[0], *before[1]])
        near = {torch.float64: 1e-9, torch.float32: 1e-4}.get(kind, 0)  # numbers cancel on the way
        for old, new in zip(before[0], found[0], strict=True):
            torch.testing.assert_close(new, old, rtol=near, atol=near * (1 + float(old.abs().max())))
        before, seen = found, present.checkpoint()

    options = PassOptions(verify_before="all", dump_after="all", dump=compare)
    texts = [graph.text()]
    while texts[-1] not in texts[:-1] and len(texts) < 6:  # what one pass prepares, an earlier one uses in the next run
        PassManager(GLOW_PIPELINE, passes, options).run(graph)
        texts.append(graph.text())
    assert texts[-1] == texts[-2]


def test_rounds_of_a_fixed_point_are_steps_below_the_pass():
    x = tensor(2, 3, 4)
    y = call(aten.relu.default, call(aten.permute.default, x, [1, 0, 2]))
    events = []
    graph = FunctionGraph(
        [x], [y], features=[Observer([lambda event: events.append(event) if isinstance(event, StepStarted) else None])]
    )
    pipeline = FunctionPassPipeline.of(FunctionPassConfig("SinkCode", ConvergenceMode.UNTIL_FIXED_POINT), "CSE")
    PassManager(pipeline, passes).run(graph)
    assert [event.path for event in events] == ["SinkCode/round 1", "SinkCode/round 2", "CSE"]
    assert "transpose_below_elementwise" in events[0].rules


def test_a_pass_continues_after_a_node_that_does_not_match():
    """Glow leaves a whole pass at the first layer that does not fit; here the next one is looked at."""
    x, y = tensor(2, 3, 4, 4), tensor(2, 3, 4, 4, name="y")
    shared = call(aten.relu.default, x)
    outputs = [
        call(aten.max_pool2d.default, shared, [2, 2]),
        shared,
        call(aten.max_pool2d.default, call(aten.relu.default, y), [2, 2]),
    ]
    graph = FunctionGraph([x, y], outputs)
    PassManager(FunctionPassPipeline.of("OptimizePool"), passes).run(graph)
    assert ops(FunctionGraph(graph.inputs, graph.outputs[2:])) == ["max_pool2d", "relu"]


def test_every_pass_has_a_doc_and_is_as_exact_as_its_rules():
    for made in passes:
        assert isinstance(made, GraphPass)
        assert made.doc
        assert made.doc.endswith(".")
        assert made.rule_names()
        assert made.exactness is not Exactness.LOSSY or made.name not in GLOW_PIPELINE.pass_ids
        for rule in made.local_rewriters():
            assert rule.doc, rule.label
            assert rule.source.partition(":")[0].endswith(".py")


def test_the_default_pipelines_round_trip_through_a_file():
    for pipeline in (DEFAULT_PIPELINE, GLOW_PIPELINE):
        assert pipeline_from_yaml(pipeline_to_yaml(pipeline), passes.names) == pipeline


def test_a_pass_and_a_rule_are_registered_once():
    registry = GraphPasses()
    made = registry.new("Mine", "Does something.")
    with pytest.raises(DuplicateNameError, match="'Mine' is registered already"):
        registry.new("Mine", "Does something else.")
    made.add(*graph_pass("OptimizePool").rules)
    with pytest.raises(DuplicateNameError, match="Mine already has a rule named 'relu_below_max_pool'"):
        made.add(*graph_pass("OptimizePool").rules)


def test_a_rule_registered_later_is_used_by_the_passes(monkeypatch):
    class Later(Rewriter):
        name = "registered later"

        def apply(self, graph):
            return None

    monkeypatch.setattr(canonicalize, "query", lambda query: Later())
    assert graph_pass("Canonicalize").rule_names() == ("registered later",)


@pytest.mark.parametrize("axes", [[2, 3], [-1, -2]])
def test_a_mean_stays_a_mean_by_default(axes):
    x = tensor(1, 1, 1024, 1024)
    graph = FunctionGraph([x], [call(aten.mean.dim, x, axes)])
    given = [torch.rand(1, 1, 1024, 1024, generator=torch.Generator().manual_seed(0)) + 0.5]
    wanted = given[0].double().mean((2, 3)).float()
    PassManager(DEFAULT_PIPELINE, passes).run(graph)
    assert ops(graph) == ["mean"]
    torch.testing.assert_close(results(graph, given), [wanted], rtol=3e-7, atol=0)
