"""Whatever an input or a constant is called, programs compute with the right one and modules hold all of them."""

import keyword

import pytest
import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from explorer.tensor import Constant, FunctionGraph, TensorType, Variable, call, from_module, to_fx, to_module

aten = torch.ops.aten
VECTOR = TensorType(torch.float32, (2,))
NAMES = (
    *("", "input", "input_1", "input_1_", "input_2", "x", "x_1", "self", "self_", "cls", "args", "kwargs"),
    *("torch", "torch_1", "operator", "_operator_getitem", "device", "inf", "nan", "fx_pytree", "pytree", "nn"),
    *("0", "1", "7x", "_", "__", "__class__", "__debug__", "__dict__", "forward", "training", "program", "_expected"),
    *("add", "add_1", "mul", "getitem", "output", "constant_0", "constant_1", "None", "True", "match", "type"),
    *(
        "ä",
        "²",
        "Ω1",
        "名",
        "a b",
        'a"b',
        "a'b",
        "a\\b",
        "a\nb",
        "a-b",
        "%0",
        "a.b",
        "a",
        "a.b.c",
        ".",
        "..",
        "a.",
        ".a",
    ),
    *("_parameters", "_buffers", "_modules", "state_dict", "parameters", "named_children", "requires_grad_", "T"),
)


def combination(names, make):
    """Σ (i + 1) * value: every operand counts, none as another one does."""
    operands = [make(name) for name in names]
    total = call(aten.mul.Tensor, operands[0], 1.0)
    for i, operand in enumerate(operands[1:], start=2):
        total = call(aten.add.Tensor, total, operand, alpha=i)
    return operands, total


def check(graph, arguments):
    wanted = graph_value(graph, arguments)
    module, program = to_module(graph), to_fx(graph)
    assert torch.equal(module(*arguments), wanted)
    assert torch.equal(program(*arguments)[0], wanted)


def graph_value(graph, arguments):
    """The value of the output, by the kernels alone."""
    known = dict(zip(graph.inputs, arguments, strict=True))
    for node in graph.toposort():
        values = [v.data if isinstance(v, Constant) else known[v] for v in node.inputs]
        known.update(zip(node.outputs, node.op.run(values), strict=True))
    return known[graph.outputs[0]]


def tensors(count):
    return [torch.tensor([10.0 * k + 1, -(3.0**k)]) for k in range(count)]


@pytest.mark.parametrize("case", range(4))
def test_any_names_of_inputs_and_constants_can_be_combined(case):
    names = NAMES[case::4]
    inputs, total = combination(names, lambda name: Variable(VECTOR, name=name))
    waiting = iter(tensors(3 * len(names))[len(names) :])
    _, other = combination((*names, *names), lambda name: Constant(next(waiting), name))
    check(FunctionGraph(inputs, [call(aten.sub.Tensor, total, other)]), tensors(len(names)))


def test_a_module_with_any_names_can_be_exported_again():
    waiting = iter(tensors(len(NAMES)))
    _, total = combination(NAMES, lambda name: Constant(next(waiting), name))
    module = to_module(FunctionGraph([], [total]))
    torch.testing.assert_close(to_module(from_module(module, ()))(), module())


# `dir(builtins)` depends on what a process has imported, and all workers must collect the same tests.
BUILTINS = ("input", "all", "compile", "exit", "filter", "int", "min", "next", "range", "zip", "Warning", "__import__")


@pytest.mark.parametrize("name", [*BUILTINS, *keyword.kwlist[:6]])
def test_inputs_named_like_builtins_do_not_clash_with_constants(name):
    x = Variable(VECTOR, name=name)
    constants = [Constant(data, other) for data, other in zip(tensors(3), ("", f"{name}_1", "input_1"), strict=True)]
    total = call(aten.mul.Tensor, x, 5.0)
    for constant in constants:
        total = call(aten.add.Tensor, call(aten.mul.Tensor, total, 2.0), constant)
    check(FunctionGraph([x], [total]), tensors(1))


def test_trainable_constants_with_equal_names_are_two_parameters():
    first, second = (Constant(nn.Parameter(data), "input", True) for data in tensors(2))
    graph = FunctionGraph([], [call(aten.sub.Tensor, first, second)])
    module = to_module(graph)
    assert len(list(module.parameters())) == 2
    assert torch.equal(module(), tensors(2)[0] - tensors(2)[1])


class Called(nn.Module):
    """The module of the report: an argument named `input` and a constant without a name."""

    def forward(self, input):
        return torch.cat([torch.zeros(2, 3), input])


@pytest.mark.parametrize(
    ("module", "shape"),
    [
        (Called(), (2, 3)),
        (nn.LSTM(8, 8, num_layers=2, bidirectional=True, batch_first=True), (2, 5, 8)),
        (nn.GRU(8, 8), (5, 1, 8)),
        (nn.LSTMCell(8, 8), (1, 8)),
        (nn.Sequential(Called(), nn.Linear(3, 2), nn.Sequential(nn.GRU(2, 2))), (2, 3)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
def test_modules_whose_argument_is_called_input(module, shape):
    x = torch.randn(shape)
    with torch.no_grad():
        wanted = tree_leaves(module(x))
        found = tree_leaves(to_module(from_module(module, (x,)))(x))
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other)


def test_graph_texts_distinguish_names_from_operator_numbers():
    x, y = (Variable(VECTOR, name="0") for _ in range(2))
    constants = [Constant(data, "0") for data in tensors(2)]
    total = call(aten.add.Tensor, call(aten.mul.Tensor, x, y), call(aten.mul.Tensor, *constants))
    defined = [line.split(" = ")[0] for line in FunctionGraph([x, y], [total]).text().splitlines()[:-1]]
    assert len(set(defined)) == len(defined) == 7
