"""Arguments of `record`: modules with keyword arguments, exported programs, names of passes; and its refusals."""

import copy
import pickle

import pytest
import torch
from torch import nn

import explorer
from explorer.errors import CircuitError, DataTypeError, ExportError, UnknownNameError
from explorer.rewrite import FunctionPassConfig, FunctionPassPipeline
from explorer.tensor.graph.interface import Arguments
from explorer.tensor.passes import passes
from explorer.tensor.recording.record_module import record_module
from explorer.tensor.rewriting import EquilibriumRewriter, PatternSub, in2out
from explorer.trace import Trace

aten = torch.ops.aten
X = torch.randn(2, 3)


class Twice(nn.Module):
    def forward(self, x, *, scale=None):
        return x.relu().relu() if scale is None else x.relu().relu() * scale


SIMPLIFY = PatternSub((aten.relu.default, (aten.relu.default, "x")), (aten.relu.default, "x"), name="Simplify")


@pytest.mark.parametrize(
    ("pipeline", "entries"),
    [
        ("DCE", ["DCE"]),
        (["DCE"], ["DCE"]),
        (("CSE", FunctionPassConfig("OptimizeClips"), "DCE"), ["CSE", "OptimizeClips", "DCE"]),
        ([FunctionPassPipeline.of("CSE"), in2out(SIMPLIFY), "DCE"], ["CSE", "Simplify", "DCE"]),
        ("EmptyPass", ["EmptyPass"]),
        ([], []),
    ],
)
def test_a_pipeline_may_be_a_list_of_pass_names(pipeline, entries):
    trace = explorer.record(Twice(), (X,), pipeline=pipeline)
    assert [entry.split(":")[0] for entry in trace.options["pipeline"]] == entries
    assert all(check.ok for check in trace.check())


@pytest.mark.parametrize(
    ("pipeline", "error", "says"),
    [
        ("Nonsense", UnknownNameError, "no pass named 'Nonsense'"),
        (["DCE", 3], DataTypeError, "a pipeline cannot be 3: expected passes or their names, rewriters, or a list"),
        (SIMPLIFY, DataTypeError, r"the rule Simplify: wrap it in a graph walker, e.g. in2out\(rule\)"),
    ],
)
def test_an_invalid_pipeline_is_refused(pipeline, error, says):
    with pytest.raises(error, match=says):
        explorer.record(Twice(), (X,), pipeline=pipeline)


def test_the_empty_pass_exists_and_does_nothing():
    empty = passes["EmptyPass"]
    assert (empty.name, empty.rule_names()) == ("EmptyPass", ())
    assert "EmptyPass" in passes


def test_keyword_arguments_are_accepted():
    trace = explorer.record(Twice(), (X,), kwargs={"scale": torch.tensor(3.0)})
    assert len(trace.check()) == len(trace.steps)
    assert all(check.ok for check in trace.check())
    other = torch.randn(2, 3)
    torch.testing.assert_close(trace.compiled(other, scale=torch.tensor(2.0)), other.relu() * 2)
    assert all(check.ok for check in trace.check(Arguments((other,), {"scale": torch.tensor(2.0)})))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_arguments_are_copied_with_their_names(copied):
    assert copied(Arguments((1,), {"a": 2})).by_name == {"a": 2}


@pytest.mark.parametrize("by_name", [{}, {"scale": torch.tensor(3.0)}], ids=["positional", "by name"])
def test_an_exported_program_is_checked_on_its_own_example_inputs(by_name):
    trace = explorer.record(torch.export.export(Twice(), (X,), by_name))
    assert len(trace.check()) == len(trace.steps)


def test_example_inputs_without_rows_have_no_difference():
    trace = explorer.record(Twice(), (torch.zeros(0, 3),))
    assert [(check.max_difference, check.ok) for check in trace.check()] == [(0.0, True)] * len(trace.steps)


def test_an_unknown_layout_lists_the_known_ones():
    with pytest.raises(UnknownNameError, match=r"no layout named 'NHWC'; known are: nhwc, '' \(the axes as they are\)"):
        record_module(Twice(), (X,), layout="NHWC")


def test_a_loaded_trace_of_a_module_says_to_record_the_module_again(tmp_path):
    explorer.record(Twice(), (X,), pipeline="DCE").save(tmp_path / "t.json")
    with pytest.raises(
        CircuitError, match=r"holds no tensors; explorer.record\(module, ...\) records the module again"
    ):
        Trace.load(tmp_path / "t.json").circuit_at(0)


class Sparse(nn.Module):
    """Returns a sparse tensor."""

    def forward(self, x):
        return x.to_sparse()


def test_a_sparse_result_is_refused_with_its_location():
    with pytest.raises(
        ExportError,
        match=r"expected a dense tensor as the result of \w+, got torch.sparse_coo at .*test_record_inputs.py",
    ):
        explorer.record(Sparse(), (torch.eye(3),))


def test_a_tensor_in_place_of_a_tuple_of_arguments_is_refused():
    with pytest.raises(DataTypeError, match=r"expected a tuple of example inputs, such as \(x,\), got a tensor"):
        explorer.record(nn.Linear(3, 2), torch.randn(1, 3))


def test_a_class_in_place_of_a_pipeline_is_refused():
    with pytest.raises(DataTypeError, match="cannot be the class EquilibriumRewriter: pass an object of it"):
        explorer.record(nn.ReLU(), (torch.randn(3),), EquilibriumRewriter)


class Weighted(nn.Module):
    shift: torch.Tensor

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([1.0, 2.0]))
        self.register_buffer("shift", torch.tensor([3.0, 4.0]))

    def forward(self, a, b, *, c):
        return a + 10 * b + 100 * c + self.weight + 1000 * self.shift


@pytest.mark.parametrize("mode", ["train", "infer"])
@pytest.mark.parametrize("repeated", ["an argument", "a parameter", "a buffer"])
def test_a_tensor_passed_twice_stays_two_arguments(repeated, mode):
    module, x = Weighted(), torch.tensor([5.0, 6.0])
    example = {"an argument": x, "a parameter": module.weight, "a buffer": module.shift}[repeated]
    compiled = explorer.record(module, (example, example), kwargs={"c": example}, mode=mode).compiled
    torch.testing.assert_close(compiled(x, 2 * x, c=3 * x), module(x, 2 * x, c=3 * x))
