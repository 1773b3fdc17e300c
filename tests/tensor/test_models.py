"""Real models as tensor graphs: importing, exporting and training."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from explorer.tensor import from_exported, from_module, to_module
from explorer.tensor.ir import ops
from tests.tensor.models import (
    MODELS,
    InvertedResidual,
    ShuffleUnit,
    each,
    example,
    import_model,
    model,
    plain_kernels,
    with_fixed_weights,
)

aten = torch.ops.aten
AT_CORE_LEVEL = ("resnet18", "resnet_small", "squeezenet1_1", "squeezenet_small", "transformer", "transformer_sdpa")
"""The other models have no operators at core level that these do not have."""


@pytest.fixture(autouse=True, scope="module")
def with_plain_kernels():
    with plain_kernels():
        yield


def counts(graph):
    found = {}
    for node in graph.nodes:
        found[node.op.name] = found.get(node.op.name, 0) + 1
    return found


def operators_named(graph, *names):
    return [node for node in graph.toposort() if node.op.name in names]


def below(node, index=0):
    """The name of the operator that an input comes from."""
    owner = node.inputs[index].owner
    return owner.op.name if owner else ""


@pytest.mark.parametrize("name", each(*MODELS))
def test_a_functional_graph_is_bit_equal_to_the_model(name):
    graph = import_model(name)
    graph.verify()
    original, computed, x = model(name), to_module(graph), example(name)
    with torch.no_grad():
        assert torch.equal(computed(x), original(x))
        assert torch.equal(computed.double()(x.double()), original.double()(x.double()))


@pytest.mark.parametrize("name", each(*AT_CORE_LEVEL))
def test_a_core_graph_computes_the_values_of_the_model(name):
    graph = import_model(name, "core")
    graph.verify()
    original, computed, x = model(name), to_module(graph), example(name)
    with torch.no_grad():
        # sums of linear layers and of attention may be taken in another order
        assert torch.allclose(computed(x), original(x), rtol=1e-4, atol=1e-5)
        assert torch.allclose(computed.double()(x.double()), original.double()(x.double()), rtol=1e-12, atol=1e-13)


def test_an_import_uses_the_types_that_the_export_inferred(monkeypatch):
    """To run every operator on fake tensors once more would take a quarter of it; `verify` compares the two."""
    monkeypatch.setattr(ops, "infer_types", None)
    graph = from_module(nn.Sequential(nn.Linear(3, 4), nn.ReLU()).eval(), (torch.randn(2, 3),))
    assert [str(v.type) for node in graph.toposort() for v in node.outputs] == ["f32[2,4]", "f32[2,4]"]


def test_a_module_of_doubles_becomes_a_graph_of_doubles():
    made, x = model("transformer").double(), example("transformer").double()
    program = torch.export.export(made, (x,))
    for level in ("functional", "core"):
        graph = from_exported(program, level=level)
        assert {v.tensor_type.dtype for node in graph.nodes for v in node.outputs} == {torch.float64}
        assert torch.allclose(to_module(graph)(x), made(x), rtol=1e-12, atol=1e-13)


# ---------------------------------------------------------------------- what there is to rewrite


@pytest.mark.parametrize(
    ("name", "behind_conv", "others"),
    each(
        ("resnet18", 20, 0),
        ("resnet_small", 6, 0),
        ("mobilenet_v2", 52, 0),
        ("mobilenet_small", 13, 0),
        ("shufflenet_v2", 56, 0),
        ("shufflenet_small", 15, 0),
        ("squeezenet1_1", 0, 0),
        ("squeezenet_small", 0, 0),
        ("densenet121", 59, 62),
        ("densenet_small", 6, 7),
    ),
)
def test_batch_norms_follow_convolutions_as_in_the_papers(name, behind_conv, others):
    norms = operators_named(import_model(name), "_native_batch_norm_legit_no_training")
    assert sum(below(node) == "conv2d" for node in norms) == behind_conv
    assert sum(below(node) != "conv2d" for node in norms) == others


@pytest.mark.parametrize(("name", "count"), each(("mobilenet_v2", 35), ("mobilenet_small", 9)))
def test_mobilenet_clips(name, count):
    clips = operators_named(import_model(name), "hardtanh")
    assert [(node.op["min_val"], node.op["max_val"]) for node in clips] == [(0, 6)] * count


@pytest.mark.parametrize(
    ("name", "expected"),
    each(("squeezenet1_1", 8), ("squeezenet_small", 2), ("shufflenet_v2", 3), ("shufflenet_small", 2)),
)
def test_relus_are_joined_by_concatenations(name, expected):
    joined = operators_named(import_model(name), "cat")
    assert sum(all(below(node, i) == "relu" for i in range(len(node.inputs))) for node in joined) == expected


@pytest.mark.parametrize(("name", "count"), each(("shufflenet_v2", 16), ("shufflenet_small", 3)))
def test_shufflenet_shuffles(name, count):
    shuffles = 0
    for node in operators_named(import_model(name), "view"):
        copied = node.inputs[0].owner
        turned = copied.inputs[0].owner if copied else None
        chain = [copied, turned, turned.inputs[0].owner if turned else None]
        shuffles += [part.op.name for part in chain if part] == ["clone", "transpose", "view"]
    assert shuffles == count


@pytest.mark.parametrize("name", ["transformer", "transformer_sdpa"])
def test_query_key_and_value_read_one_input(name):
    readers = {}
    for node in operators_named(import_model(name), "linear"):
        readers.setdefault(node.inputs[0], []).append(node)
    assert [len(nodes) for nodes in readers.values()] == [3, 1, 1, 1]


def test_core_level_decomposes_operators():
    assert counts(import_model("resnet_small")) == {
        "conv2d": 6,
        "_native_batch_norm_legit_no_training": 6,
        "relu": 5,
        "add": 2,
        "max_pool2d": 1,
        "adaptive_avg_pool2d": 1,
        "view": 1,
        "linear": 1,
    }
    core = counts(import_model("transformer", "core"))
    assert {name: core[name] for name in ("view", "permute", "addmm", "expand", "clone")} == {
        "view": 22,
        "permute": 11,
        "addmm": 6,
        "expand": 4,
        "clone": 4,
    }


def test_operators_have_their_module_and_source_line():
    node = operators_named(import_model("resnet_small"), "conv2d")[1]
    assert node.location.module == "4.conv1"
    assert node.location.line.startswith("models.py:")


def test_constants_have_the_names_and_values_of_parameters_and_buffers():
    held = {constant.name: constant.data for constant in import_model("mobilenet_small").constants}
    wanted = {k: v for k, v in model("mobilenet_small").state_dict().items() if "num_batches" not in k}
    assert held.keys() == wanted.keys()
    assert all(torch.equal(held[name], wanted[name]) for name in wanted)


# ---------------------------------------------------------------------- back to PyTorch


@pytest.mark.parametrize("name", ["transformer", pytest.param("squeezenet_small", marks=pytest.mark.fuzz)])
def test_the_resulting_module_compiles_and_can_be_exported_again(name):
    graph, x = import_model(name), example(name)
    module = to_module(graph)
    with torch.no_grad():
        expected = module(x)
        assert torch.equal(torch.compile(module, backend="eager", fullgraph=True)(x), expected)
    again, wanted = from_module(module, (x,)), counts(graph)
    wanted["view"] += wanted.pop("_unsafe_view", 0)  # a view is computed as a reshape, which an export makes a view
    assert counts(again) == wanted
    assert torch.equal(to_module(again)(x), expected)


class Dressed(nn.Module):
    """Accepts and returns tensors inside structures, and a number."""

    def forward(self, pair, *, scale, named):
        return {"sum": pair[0] + scale * pair[1], "rest": [named["a"] - named["b"]]}


def test_arguments_and_results_keep_their_structure():
    x, y = torch.randn(2, 3), torch.randn(2, 3)
    module = to_module(from_module(Dressed(), ((x, y),), {"scale": 3, "named": {"a": x, "b": y}}))
    for given in ({"scale": 3, "named": {"a": y, "b": x}}, {"named": {"a": y, "b": x}, "scale": 3}):
        results = module((y, x), **given)
        assert results.keys() == {"sum", "rest"}
        assert torch.equal(results["sum"], y + 3 * x)
        assert torch.equal(results["rest"][0], y - x)


# ---------------------------------------------------------------------- training


class Small(nn.Module):
    """A convolution, norms, units with a way past, a mean; small enough to train in a test."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 2, 1)
        self.units = nn.Sequential(InvertedResidual(8, 8, 1, 2), ShuffleUnit(8, 8, 1), ShuffleUnit(8, 16, 2))
        self.top = nn.Linear(16, 5)

    def forward(self, x):
        return self.top(F.adaptive_avg_pool2d(self.units(self.stem(x)), 1).flatten(1))


def losses(module, steps=2):
    """The losses of a few steps of gradient descent."""
    generator = torch.Generator().manual_seed(3)
    descent = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
    found = []
    for _ in range(steps):
        x = torch.randn(4, 3, 16, 16, generator=generator, dtype=torch.float64)
        labels = torch.randint(5, (4,), generator=generator)
        descent.zero_grad()
        loss = F.cross_entropy(module(x), labels)
        loss.backward()
        descent.step()
        found.append(float(loss.detach()))
    return found


@pytest.mark.parametrize("level", ["functional", "core"])
def test_training_the_graph_changes_parameters_and_statistics_as_the_module(level):
    original = with_fixed_weights(Small, torch.randn(4, 3, 16, 16)).double().train()
    x = torch.randn(4, 3, 16, 16, dtype=torch.float64)
    graph = from_module(copy.deepcopy(original), (x,), level=level, training=True)
    graph.verify()
    changed = [mutation.name for mutation in graph.interface.mutations]
    assert sorted(changed) == sorted(name for name, _ in original.named_buffers())
    assert len(graph.outputs) == len(changed) + 1
    parameters = [name for name, _ in original.named_parameters()]
    assert sorted(c.name for c in graph.constants if c.trainable) == sorted(parameters + changed)
    computed = to_module(graph)
    before = copy.deepcopy(original.state_dict())
    assert losses(computed) == pytest.approx(losses(original), rel=1e-12)
    after = computed.state_dict()
    for name, value in original.state_dict().items():
        assert torch.allclose(after[name], value, rtol=1e-9, atol=1e-12), name
    for name in (*changed, "top.weight", "stem.weight"):
        assert not torch.equal(after[name], before[name]), name


def test_in_evaluation_parameters_are_constants_and_a_call_changes_nothing():
    graph = import_model("resnet_small")
    assert graph.interface.mutations == ()
    assert not any(constant.trainable for constant in graph.constants)
    assert list(to_module(graph).parameters()) == []


class Remembers(nn.Module):
    """Writes one buffer that it never reads, and counts in another one."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        self.seen = x * 2
        self.count += 1
        return x + self.count


def test_a_buffer_that_is_only_written_is_written():
    module = to_module(from_module(Remembers(), (torch.zeros(3),)))
    x = torch.randn(3)
    assert torch.equal(module(x), x + 1)
    assert torch.equal(module(x), x + 2)
    assert torch.equal(module.get_buffer("seen"), x * 2)


def test_a_copy_of_the_module_keeps_its_own_state():
    module = to_module(from_module(Remembers(), (torch.zeros(3),)))
    other = copy.deepcopy(module)
    module(torch.ones(3))
    assert float(other(torch.zeros(3))[0]) == 1.0
