"""Shared by tests of fast circuits: small circuits, a circuit in double precision, the need for a compiler."""

import copy
import os
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from explorer.backend import TorchCircuit
from explorer.compiler import TorchCompiler
from explorer.errors import LoweringError
from explorer.runtime.native.build import find_compiler
from explorer.symbolic import (
    CategoricalLayer,
    Circuit,
    CircuitBuilder,
    ConstantInitializer,
    RearrangeLayer,
    SoftmaxParameter,
    TensorParameter,
)
from explorer.templates import gallery, image_data


def _has_compiler() -> bool:
    try:
        find_compiler()
    except LoweringError:
        return False
    return True


has_compiler = pytest.mark.skipif(
    not _has_compiler() and not os.environ.get("CI"),
    reason="needs a C++ compiler: apt-get install g++ (or set CXX to the path of one)",
)
"""For tests that compile the kernels; on CI, which has a compiler, they fail without one."""


without_certificate = pytest.mark.filterwarnings("ignore::explorer.errors.CertificateWarning")
"""For tests of calls that the circuit itself answers: `test_certificates.py` tests the warning."""


QUICK_CIRCUITS = [
    pytest.param(name, marks=pytest.mark.fuzz if name == "mnist" else ())
    for name in gallery.names()
    if name not in ("poon-domingos", "sos")
]
"""The circuits of the gallery that the backends are compared on; of these the native one always has the largest."""


FIXED_PASSES = (
    "without-unused",
    "combine-tables",
    "multiply-densities",
    "split-products",
    "multiply-within-sums",
    "depth-first",
    "slots",
)
"""The pipeline of traces that tests describe step by step, so that a new pass changes none of them."""


def leaf(values: ArrayLike) -> TensorParameter:
    """A learned parameter that starts with these values."""
    array = np.asarray(values)
    return TensorParameter(array.shape, initializer=ConstantInitializer(array))


def image_circuit(
    height: int,
    width: int,
    region_graph: str = "quad-graph",
    layer: str = "cp",
    *,
    units: int,
    inputs: str = "categorical",
    states: int = 256,
    classes: int = 1,
) -> Circuit:
    """A circuit of a grey image: each layer has `units` units, each pixel `states` values."""
    return image_data(
        (1, height, width),
        region_graph,
        input_layer=inputs,
        num_input_units=units,
        sum_product_layer=layer,
        num_sum_units=units,
        num_categories=states,
        num_classes=classes,
    )


def rearranged_circuit(
    sizes: tuple[int, ...], axes: tuple[int, ...], *, inputs: int = 6, repeats: int = 1
) -> TorchCircuit:
    """Rearranged units of a sum, so that they are not part of a table, which two sums read."""
    random, b = np.random.default_rng(0), CircuitBuilder()

    def coins(variable: int) -> int:
        weight = SoftmaxParameter((leaf(random.normal(size=(inputs, 2))),), axis=1)
        return b.add(CategoricalLayer(scope=(variable,), num_output_units=inputs, num_categories=2, probs=weight))

    outputs = int(np.prod(sizes))
    product = b.hadamard(coins(0), coins(1))
    below = b.sum(product, num_units=inputs, weight=leaf(random.uniform(0.1, 1, (inputs, inputs))))
    layer = RearrangeLayer(num_input_units=inputs, num_output_units=outputs, sizes=sizes, axes=axes)
    top = b.add(layer, [below])
    for _ in range(repeats - 1):
        top = b.add(
            RearrangeLayer(num_input_units=outputs, num_output_units=outputs, sizes=(outputs,), axes=(0,)), [top]
        )
    above = [b.sum(top, num_units=2, weight=leaf(random.uniform(0.1, 1, (2, outputs)))) for _ in range(2)]
    return TorchCompiler().compile(b.build(b.sum(*above, num_units=1, weight=leaf(random.uniform(0.1, 1, (1, 4))))))


def doubled(circuit: TorchCircuit) -> TorchCircuit:
    """The circuit with the same values in double precision, evaluated by its layers."""
    return copy.deepcopy(circuit).double()


def assert_equal(found: Tensor, expected: Tensor) -> None:
    """float32 against double precision: log-likelihoods are rounded, by less than a few parts in ten million."""
    torch.testing.assert_close(found.double(), expected, rtol=2e-6, atol=2e-5, equal_nan=True)


def gradients(module: torch.nn.Module, x: Tensor, seed: int = 0) -> tuple[Tensor, list[Tensor]]:
    """The outputs, and the gradients of a loss that weighs each of them differently."""
    for parameter in module.parameters():
        parameter.grad = None
    found = module(x)
    assert found.requires_grad
    weights = torch.rand(found.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    (found * weights.to(found) / len(x)).sum().backward()
    return found.detach(), [
        torch.zeros_like(one) if one.grad is None else one.grad.clone() for one in module.parameters()
    ]


def assert_equal_gradients(found: Sequence[Tensor], expected: Sequence[Tensor]) -> None:
    """float32 against double precision: each gradient is right by some parts in a million of the largest one."""
    for one, other in zip(found, expected, strict=True):
        size = float(other.abs().nan_to_num(posinf=0).max()) if other.numel() else 0
        torch.testing.assert_close(one.double(), other.double(), rtol=1e-4, atol=1e-5 * max(size, 1), equal_nan=True)
