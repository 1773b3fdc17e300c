"""A Python number in an operator on tensors acts as one, of whatever dtype the tensor is."""

import copy

import pytest
import torch
from torch import nn

from explorer.errors import OperatorError
from explorer.rewrite import CompilationMode
from explorer.tensor import Constant, FunctionGraph, TensorType, Variable, call, from_module, to_fx, to_module
from explorer.tensor.ir.schemas import PythonNumber
from explorer.tensor.passes.base import DEFAULT_PIPELINE
from explorer.tensor.recording.record_module import ManagedPipeline
from explorer.tensor.recording.tensor_snapshot import GraphState
from explorer.tensor.rewriting import merge_rewriter
from explorer.tensor.rules import canonicalize, optdb
from tests.tensor.passes.checking import GLOW_PIPELINE
from tests.tensor.rule_checks import aten, graph_of, same_bits, tensor, values

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.uint8, torch.int16, torch.int32)
NUMBERS = (2, 2.3, -1, 300, True, 1e-3)


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def numbers_up_to(*shape, dtype):
    return torch.arange(1, torch.Size(shape).numel() + 1).reshape(shape).to(dtype)


@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_number_acts_as_in_pytorch(dtype, number, shape):
    given = numbers_up_to(*shape, dtype=dtype)
    for target in (aten.mul.Tensor, aten.add.Tensor, aten.div.Tensor):
        x = tensor("x", *shape, dtype=dtype)
        graph = graph_of([x], call(target, x, number), call(target, number, x))
        assert [len(node.inputs) for node in graph.nodes] == [2, 2]
        wanted = target(given, number), target(number, given)
        assert [v.tensor_type.dtype for v in graph.outputs] == [value.dtype for value in wanted]
        for state in (graph, GraphState.of(graph).function_graph()):
            assert all(map(same_bits, values(state, [given]), wanted))


@pytest.mark.parametrize("dtype", DTYPES)
def test_constants_and_numbers_are_evaluated_as_pytorch_does(dtype):
    stored = numbers_up_to(7, dtype=dtype)
    outputs = [call(aten.mul.Tensor, Constant(stored), 2.3), call(aten.add.Tensor, 300, Constant(stored))]
    graph = graph_of([], *outputs)
    canonicalize.query("+exact").rewrite(graph)
    assert len(graph) == 0
    assert all(map(same_bits, values(graph, []), (stored * 2.3, 300 + stored)))


def test_a_number_is_written_as_it_is():
    x = tensor("x", 3, dtype=torch.bfloat16)
    graph = graph_of([x], call(aten.mul.Tensor, x, 2.3))
    assert repr(graph) == "[mul(x, 2.3)]"
    assert "= 2.3 : bf16[]" in graph.text()
    (node,) = (node for node in to_fx(graph).graph.nodes if node.op == "call_function")
    assert node.args[1] == 2.3
    assert not list(to_module(graph).buffers())


def test_a_number_that_is_an_output_or_the_only_operand_is_a_tensor():
    x = tensor("x", 3, dtype=torch.float16)
    product = call(aten.mul.Tensor, x, 2.5)
    number = product.owner.inputs[1]
    graph = graph_of([x], product, number, call(aten.add.Tensor, number, number))
    found = values(graph, [torch.ones(3, dtype=torch.float16)])
    assert [value.dtype for value in found] == [torch.float16] * 3
    assert [value.tolist() for value in found] == [[2.5] * 3, 2.5, 5.0]
    assert all(type(value) is torch.Tensor for value in to_module(graph).buffers())


def test_an_operator_that_does_not_accept_numbers_gets_a_tensor():
    x = tensor("x", 3, dtype=torch.bfloat16)
    number = call(aten.mul.Tensor, x, 2.3).owner.inputs[1]
    for second in (2.3, number):
        graph = graph_of([x], call(aten.maximum.default, x, second))
        (found,) = values(graph, [torch.zeros(3, dtype=torch.bfloat16)])
        assert same_bits(found, torch.full((3,), 2.3, dtype=torch.bfloat16))


def test_numbers_of_equal_type_and_value_are_merged():
    x, i = tensor("x", 3), tensor("i", 3, dtype=torch.int32)
    outputs = [call(aten.mul.Tensor, x, 2), call(aten.div.Tensor, x, 2), call(aten.mul.Tensor, i, 2.0)]
    graph = graph_of([x, i], *outputs)
    merge_rewriter.rewrite(graph)
    numbers = [constant.data for constant in graph.constants]
    assert sorted(type(data.value).__name__ for data in numbers if isinstance(data, PythonNumber)) == ["float", "int"]
    assert [v.tensor_type.dtype for v in graph.outputs] == [torch.float32] * 3
    graph.verify()


def test_an_integer_too_large_for_a_tensor_is_refused():
    with pytest.raises(OperatorError, match="too large"):
        call(aten.mul.Tensor, tensor("x", 3), 2**64)


def test_a_copied_graph_module_has_its_numbers():
    x = Variable(TensorType(torch.float32, (2,)), name="x")
    graph = FunctionGraph([x], [call(aten.add.Tensor, x, 0.1)])
    number = graph.constants[0].data
    assert copy.deepcopy(number) is number
    module = copy.deepcopy(to_module(graph))
    assert same_bits(module(torch.ones(2)), torch.ones(2) + 0.1)


def infer(graph):
    ManagedPipeline(DEFAULT_PIPELINE, CompilationMode.INFER).rewrite(graph)


REWRITINGS = {
    "default": infer,
    "glow": ManagedPipeline(GLOW_PIPELINE).rewrite,
    "optdb": optdb.query("+fast_run").rewrite,
}
FUNCTIONS = {
    "x * 2 + y": lambda x, y: x * 2 + y,
    "x * 2 * 3": lambda x, y: x * 2 * 3,
    "(x + 1) + 2": lambda x, y: (x + 1) + 2,
    "x / 2 / 3": lambda x, y: x / 2 / 3,
    "1 - x": lambda x, y: 1 - x,
    "y - x * 2": lambda x, y: y - x * 2,
    "log(1 + exp(x))": lambda x, y: torch.log(1 + torch.exp(x)),
    "exp(x) - 1": lambda x, y: torch.exp(x) - 1,
    "clamp": lambda x, y: torch.clamp(torch.maximum(x, y), min=1),
    "transposes": lambda x, y: (x.t() * 2).t() * 1 + 0,
}


@pytest.mark.parametrize(
    "dtype",
    [torch.float16, torch.uint8, *(pytest.param(d, marks=pytest.mark.fuzz) for d in (torch.bfloat16, torch.int16))],
)
def test_models_of_short_dtypes_run_through_all_pipelines(dtype):
    torch.manual_seed(0)
    given = torch.randint(1, 5, (2, 3)).to(dtype), torch.randint(1, 5, (2, 3)).to(dtype)
    model = Function(lambda x, y: tuple(function(x, y) for function in FUNCTIONS.values()))
    imported = from_module(model, given)
    for rewriting, rewrite in REWRITINGS.items():
        graph = imported.clone()
        rewrite(graph)
        for name, found, wanted in zip(FUNCTIONS, to_module(graph)(*given), model(*given), strict=True):
            where = f"{rewriting}, {name}"
            assert found.dtype == wanted.dtype, where
            bits = torch.finfo(wanted.dtype).eps if wanted.dtype.is_floating_point else 0
            # one rounding more or less for each operator
            torch.testing.assert_close(found, wanted, rtol=4 * bits, atol=0, msg=lambda text, at=where: f"{at}: {text}")
