"""A layer that rearranges units reads the same units in every computation: symbolic, compiled, converted."""

from math import prod

import pytest
import torch

from explorer.backend import TorchRearrangeLayer, get_semiring
from explorer.symbolic import RearrangeLayer


@pytest.mark.parametrize(
    ("sizes", "axes"), [((2, 3), (1, 0)), ((4,), (0,)), ((2, 3, 2), (-1, 1, 0)), ((3, 2, 2), (1, -1, 0)), ((2,), (-1,))]
)
def test_layer_reads_the_units_that_its_compiled_forward_returns(sizes: tuple[int, ...], axes: tuple[int, ...]) -> None:
    sources = prod(size for size, axis in zip(sizes, axes, strict=True) if axis >= 0)
    layer = RearrangeLayer(num_input_units=sources, num_output_units=prod(sizes), sizes=sizes, axes=axes)
    compiled = TorchRearrangeLayer(num_input_units=sources, num_output_units=prod(sizes), sizes=sizes, axes=axes)
    returned = compiled.forward(get_semiring("lse-sum"), torch.arange(sources).view(1, 1, 1, -1), {})
    assert layer.units_read == compiled.units_read == tuple(returned.flatten().tolist())
