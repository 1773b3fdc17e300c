"""Modules that cannot be imported, and calls that an exported module refuses."""

import logging
import sys
from logging.handlers import BufferingHandler

import pytest
import torch
from torch import nn

import explorer
from explorer.errors import ExportError, OperatorError, UnknownNameError
from explorer.tensor import FunctionGraph, from_exported, from_module, to_module
from tests.tensor.models import export_model, import_model
from tests.tensor.test_models import Dressed


class Branches(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x + 1
        return x - 1


class Chooses(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda y: y + 1, lambda y: y - 1, (x,))


class Counts(nn.Module):
    def forward(self, x):
        return torch.nonzero(x).float() * 2


class Reads(nn.Module):
    def forward(self, x):
        return x * x.max().item()


class Gives(nn.Module):
    def forward(self, x):
        return x + 1, 3


def line_in(module):
    """A pattern for `test_refused_models.py:line` of a line of its forward."""
    first = type(module).forward.__code__.co_firstlineno
    return rf"at test_refused_models\.py:({first + 1}|{first + 2})\b"


@pytest.mark.parametrize(
    ("module", "says"),
    [
        (Branches(), "PyTorch cannot export Branches .*data-dependent"),
        (Chooses(), "cond .* is not an operator .*without control flow"),
        (Counts(), "the shape of nonzero is not fixed"),
        (Reads(), "depends on the data"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else "",
)
def test_data_dependent_control_flow_is_refused_with_its_location(module, says):
    with pytest.raises(ExportError, match=says) as caught:
        from_module(module, (torch.randn(3),))
    caught.match(line_in(module))


class PrintsFirst(nn.Module):
    def forward(self, x):
        sys.stderr.write("the user's own line\n")
        return x if x.sum() > 0 else -x


@pytest.mark.parametrize("module", [Branches(), nn.BatchNorm1d(3, momentum=None)], ids=["branches", "norm"])
def test_what_pytorch_prints_of_a_refused_model_is_not_printed(module, capfd):
    logged = BufferingHandler(100)
    logger = logging.getLogger("torch.fx.experimental.symbolic_shapes")
    logger.addHandler(logged)
    try:
        with pytest.raises(ExportError):
            from_module(module, (torch.randn(4, 3),), training=True)
        assert logged.buffer == []
        logger.warning("logged outside of an export")
        assert len(logged.buffer) == 1
    finally:
        logger.removeHandler(logged)
    out, err = capfd.readouterr()
    assert "def forward" not in out + err


def test_pytorch_logs_nothing_about_inputs_of_the_wrong_shape():
    logged = BufferingHandler(100)
    logger = logging.getLogger("torch._subclasses.fake_tensor")
    logger.addHandler(logged)
    try:
        with pytest.raises(ExportError, match="same reduction dim"):
            from_module(nn.Linear(4, 3), (torch.zeros(2, 5),))
        assert logged.buffer == []
    finally:
        logger.removeHandler(logged)


def test_what_a_refused_model_prints_itself_is_printed(capfd):
    with pytest.raises(ExportError):
        from_module(PrintsFirst(), (torch.randn(4, 3),))
    assert capfd.readouterr().err == "the user's own line\n"


def test_an_average_of_all_batches_is_refused_with_what_to_do():
    norm = nn.BatchNorm1d(3, momentum=None)
    model = nn.Sequential(nn.Linear(3, 3), norm)
    x = torch.randn(4, 3)
    with pytest.raises(ExportError, match=r"1 has momentum=None, .* the number of batches.*; give it a momentum, or"):
        from_module(model, (x,), training=True)
    norm.momentum = 0.1
    from_module(model, (x,), training=True)
    norm.momentum = None
    torch.testing.assert_close(to_module(from_module(model.eval(), (x,)))(x), model(x))


def test_an_input_that_torch_export_rejects_is_refused():
    with pytest.raises(ExportError, match=r"cannot export Gives: Unsupported input type .*object"):
        from_module(Gives(), (object(),))


def test_dynamic_shapes_are_refused():
    program = torch.export.export(
        nn.Linear(3, 2), (torch.randn(4, 3),), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},)
    )
    with pytest.raises(ExportError, match=r"shape of input is not fixed: .*without dynamic shapes"):
        from_exported(program)


def test_an_unknown_level_is_refused():
    with pytest.raises(UnknownNameError, match="functional, core"):
        from_exported(export_model("transformer"), level="edge")


@pytest.mark.parametrize(
    ("args", "kwargs", "says"),
    [
        ((), {}, "expected 1 positional argument .*, got 0 positional arguments"),
        ((torch.zeros(2, 10, 64), torch.zeros(1)), {}, "expected 1 positional argument .*, got 2 positional"),
        ((), {"x": torch.zeros(2, 10, 64)}, "expected 1 positional .*, got 0 positional arguments and the keywords x"),
        ((torch.zeros(3, 10, 64),), {}, r"expected x to have shape \(2, 10, 64\), got \(3, 10, 64\)"),
        ((3,), {}, r"expected a tensor of shape \(2, 10, 64\) as x, got type int"),
    ],
)
def test_a_call_with_other_arguments_is_refused(args, kwargs, says):
    with pytest.raises(OperatorError, match=says):
        to_module(import_model("transformer"))(*args, **kwargs)


@pytest.mark.parametrize(("number", "found"), [(4, "4"), (3.0, "3.0"), (torch.tensor(3), r"tensor\(3\)")])
def test_a_specialized_number_cannot_change(number, found):
    x = torch.randn(2, 3)
    named_pair = {"a": x, "b": x}
    module = to_module(from_module(Dressed(), ((x, x),), {"scale": 3, "named": named_pair}))
    with pytest.raises(
        OperatorError, match=f"expected 3 as argument 2, its value when the module was exported, got {found}; export"
    ):
        module((x, x), scale=number, named=named_pair)


def test_a_graph_by_hand_accepts_as_many_tensors_as_it_has_inputs():
    graph = import_model("transformer")
    plain = FunctionGraph(graph.inputs, graph.outputs)
    with pytest.raises(OperatorError, match="expected 1 tensors, got 2"):
        to_module(plain)(torch.zeros(2, 10, 64), torch.zeros(1))


class OfFunction(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize("level", ["tensor", "program"])
@pytest.mark.parametrize(
    ("function", "shape", "name"),
    [
        (lambda x: torch.unique(x, dim=0), (0, 3), "unique_dim"),
        (lambda x: torch.unique(x + 1, dim=0) * 2, (0, 3), "unique_dim"),
        (lambda x: torch.unique_consecutive(x, dim=1) * 2, (5, 0, 5), "unique_consecutive"),
        (lambda x: torch.istft(torch.complex(x, x), 16, 4, window=torch.ones(16)) * 2, (9, 8), "istft"),
    ],
)
def test_operator_that_needs_numbers_is_refused_although_its_shapes_are_fixed(function, shape, name, level):
    with pytest.raises(
        ExportError, match=rf"the shape of .*{name}.* depends on the data; .* at test_refused_models.py:"
    ):
        explorer.record(OfFunction(function), (torch.zeros(shape),), level=level)
