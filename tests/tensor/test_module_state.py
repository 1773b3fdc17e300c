"""An exported module has the state, the arguments and the results of the imported module."""

import copy
import io
import threading

import pytest
import torch
from torch import nn

import explorer
from explorer.errors import ExportError, OperatorError
from explorer.tensor import Constant, FunctionGraph, call, from_module, to_module

X = torch.randn(2, 3, 8, 8)


class Holds(nn.Module):
    """All kinds of state: read and never read, tied, not saved, and a tensor that is not a buffer."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.head = nn.Linear(4, 4)
        self.tied = nn.Linear(4, 4)
        self.tied.weight = self.head.weight
        self.unused = nn.Linear(2, 2)
        self.scale = nn.Parameter(torch.randn(4))
        self.register_buffer("passing", torch.randn(4), persistent=False)
        self.plain = torch.randn(4)

    def forward(self, x):
        hidden = self.norm(self.stem(x)).mean((2, 3))
        return self.tied(self.head(hidden) * self.scale) * torch.tensor(2.0) + self.passing + self.plain


def modules(training):
    one, other = (Holds().train(training) for _ in range(2))
    for name in ("plain", "passing"):
        setattr(other, name, getattr(one, name))
    return one, other


@pytest.mark.parametrize("training", [False, True])
def test_the_state_of_the_module_is_that_of_the_graph_under_the_same_names(training):
    one, other = modules(training)
    made = to_module(from_module(copy.deepcopy(one), (X,), training=training))
    wanted = one.state_dict()
    assert list(made.state_dict()) == list(wanted)
    assert all(torch.equal(value, wanted[name]) for name, value in made.state_dict().items())
    named = {name for name, _ in one.named_parameters()}
    assert {name for name, _ in made.named_parameters()} == (named if training else set())
    assert torch.equal(made.get_buffer("norm.running_var"), one.norm.get_buffer("running_var"))
    made.load_state_dict(other.state_dict())
    torch.testing.assert_close(made(X), other(X))
    one.load_state_dict(made.state_dict())
    torch.testing.assert_close(one(X), made(X))


def test_tied_parameters_stay_tied():
    made = to_module(from_module(Holds(), (X,), training=True))
    assert made.get_parameter("head.weight") is made.get_parameter("tied.weight")


def test_in_training_the_default_passes_keep_names():
    one, other = modules(True)
    trace = explorer.record(copy.deepcopy(one), (X,), mode="train")
    assert {name for name, _ in trace.compiled.named_parameters()} == {name for name, _ in one.named_parameters()}
    trace.compiled.load_state_dict(other.state_dict(), strict=False)
    torch.testing.assert_close(trace.compiled(X), other(X))


def test_values_that_a_rewrite_made_do_not_have_the_names_of_those_they_replace():
    """The batch norm is in the weights of the convolution: the original's weights must not be loaded there."""
    trace = explorer.record(Holds().eval(), (X,))
    names = list(trace.compiled.state_dict())
    assert "stem.weight_rewritten" in names
    assert "stem.weight" not in names
    with pytest.raises(RuntimeError, match="Missing key"):
        trace.compiled.load_state_dict(Holds().state_dict())


@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")  # PyTorch's own class, when it is unpickled
@pytest.mark.parametrize("training", [False, True])
def test_the_module_can_be_copied_pickled_compiled_and_exported(training):
    one, _ = modules(training)
    made = to_module(from_module(copy.deepcopy(one), (X,), training=training))
    wanted = one(X)
    again = to_module(from_module(copy.deepcopy(made), (X,), training=training))
    assert again.state_dict().keys() == one.state_dict().keys()
    stored = io.BytesIO()
    torch.save(made, stored)
    stored.seek(0)
    loaded = torch.load(stored, weights_only=False)
    compiled = torch.compile(copy.deepcopy(made), backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(X), wanted)
    for module in (copy.deepcopy(made), loaded, again):
        torch.testing.assert_close(module(X), wanted)
        assert module.state_dict().keys() == one.state_dict().keys()


def test_names_of_module_attributes_are_made_unique():
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.program = nn.Linear(3, 3)

        def forward(self, x):
            return self.program(x)

    made = to_module(from_module(Odd(), (torch.zeros(2, 3),)))
    assert list(made.state_dict()) == ["program_.weight", "program_.bias"]


def test_arguments_of_another_dtype_are_refused():
    made = to_module(from_module(nn.Linear(3, 2), (torch.zeros(2, 3),)))
    with pytest.raises(OperatorError, match=r"expected input to have dtype torch.float32, got torch.float64"):
        made(torch.zeros(2, 3, dtype=torch.float64))


def test_a_converted_module_accepts_converted_arguments():
    plain = nn.Linear(3, 2)
    made = to_module(from_module(plain, (torch.zeros(2, 3),)))
    made = nn.Sequential(made).double()
    x = torch.randn(2, 3, dtype=torch.float64)
    torch.testing.assert_close(made(x), plain.double()(x))
    with pytest.raises(OperatorError, match=r"expected input to have dtype torch.float64, got torch.float32"):
        made(x.float())


def test_a_sparse_buffer_is_refused():
    class Sparse(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("links", torch.eye(3).to_sparse())

        def forward(self, x):
            return torch.mm(self.get_buffer("links"), x)

    with pytest.raises(
        ExportError, match=r"expected a dense tensor as links, got torch.sparse_coo; convert it with .to_dense\(\)"
    ):
        explorer.record(Sparse(), (torch.zeros(3, 2),))


class Mixed(nn.Module):
    def forward(self, x, scale: int):
        return {"size": 4, "value": x * scale, "nothing": None, "rest": (x + 1, scale)}


def test_non_tensor_results_are_returned_unchanged():
    trace = explorer.record(Mixed(), (torch.ones(2), 3))
    given = trace.compiled(torch.zeros(2), 3)
    assert list(given) == ["size", "value", "nothing", "rest"]
    assert (given["size"], given["nothing"], given["rest"][1]) == (4, None, 3)
    assert torch.equal(given["rest"][0], torch.ones(2))
    assert all(check.ok for check in trace.check())


def test_a_module_without_a_tensor_among_its_results_is_refused():
    class Nothing(nn.Module):
        def forward(self, x):
            return 3

    with pytest.raises(ExportError, match="the program returns no tensor; return at least one"):
        from_module(Nothing(), (torch.ones(2),))


class Chosen(nn.Module):
    """Selects by one buffer, then by another; the first is turned around after each call."""

    first: torch.Tensor
    second: torch.Tensor

    def __init__(self):
        super().__init__()
        self.register_buffer("first", torch.tensor([3, 1, 0, 2]))
        self.register_buffer("second", torch.tensor([0, 2]))

    def forward(self, x):
        found = x.index_select(0, self.first).index_select(0, self.second)
        self.first.copy_(self.first.flip(0))
        return found


def test_a_buffer_that_changes_is_read_in_every_call():
    x = torch.arange(4.0)
    made, plain = explorer.record(Chosen(), (x,)).compiled, Chosen()
    assert [made(x).tolist() for _ in range(3)] == [plain(x).tolist() for _ in range(3)]


class Deciding(nn.Module):
    """Of its two parameters one has no effect."""

    c: torch.Tensor

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
        self.register_buffer("c", torch.tensor(True))

    def forward(self, x):
        return torch.where(self.c, x * self.a, self.b) + self.b * 0


def test_a_parameter_without_effect_stays_where_it_is_trained():
    made = explorer.record(Deciding(), (torch.randn(3),), mode="train").compiled
    assert [name for name, _ in made.named_parameters()] == ["a", "b"]
    made.load_state_dict(Deciding().state_dict(), strict=False)


def test_no_constant_shadows_a_module_attribute():
    w = Constant(torch.ones(2), "w")
    graph = FunctionGraph([], [call(torch.ops.aten.to.dtype, w, torch.float64)])
    found = explorer.record(graph, (), pipeline="ConstantFold").compiled()
    assert found.dtype is torch.float64


def test_later_changes_to_the_module_do_not_affect_an_inference_record():
    first, last = nn.Conv2d(3, 4, 3), nn.utils.parametrizations.weight_norm(nn.Conv2d(4, 2, 3))
    module = nn.Sequential(first, nn.BatchNorm2d(4), last).eval()
    module.computed = 2 * first.weight  # such a tensor cannot be copied by `copy.deepcopy`
    x = torch.randn(2, 3, 8, 8)
    compiled = explorer.record(module, (x,)).compiled
    before = module(x).detach().clone()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.5)
    torch.testing.assert_close(compiled(x), before)


class Locked(nn.Linear):
    def __init__(self):
        super().__init__(3, 2)
        self.lock = threading.Lock()


def test_a_module_that_cannot_be_copied_is_recorded_with_copied_tensors():
    module, x = Locked(), torch.randn(4, 3)
    compiled, before = explorer.record(module, (x,)).compiled, module(x).detach()
    with torch.no_grad():
        module.weight.zero_()
    torch.testing.assert_close(compiled(x), before)
