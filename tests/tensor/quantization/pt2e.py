"""Models that PyTorch's quantization (PT2E, of torchao) prepared, with weights and data of our own."""

import importlib.util
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import nn

from explorer.tensor import FunctionGraph, from_exported
from tests.needed import is_missing
from tests.tensor.models import example, model, plain_kernels

HOW = "pip install 'torchao>=0.18'"


def quantized_module(made: nn.Module, data: torch.Tensor, **settings: Any) -> nn.Module:
    """A module as PT2E quantizes it, with scales from one batch of data. Skips the test without torchao."""
    if importlib.util.find_spec("torchao") is None:
        is_missing("torchao", HOW)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torchao warns of its own deprecations
        from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
        from torchao.testing.pt2e._xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config

        quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(**settings))
        prepared = prepare_pt2e(torch.export.export(made, (data,)).module(), quantizer)
        with plain_kernels():
            prepared(data)
        return convert_pt2e(prepared)


def graph_of(module: nn.Module, data: torch.Tensor) -> FunctionGraph:
    """A module of PT2E as a graph."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return from_exported(torch.export.export(module, (data,)))


def pt2e_graph(make: Callable[[], nn.Module], data: torch.Tensor, **settings: Any) -> FunctionGraph:
    """Quantize a module with PT2E and import it as a graph."""
    torch.manual_seed(0)
    return graph_of(quantized_module(make().eval(), data, **settings), data)


@cache
def quantized_model(name: str) -> tuple[nn.Module, FunctionGraph]:
    """A model of the tests, quantized: the module and its graph. Cached: rewrite a clone."""
    made = quantized_module(model(name), example(name))
    return made, graph_of(made, example(name))
