"""Benchmark cases by name: image circuits with the arguments that both sides need to build the same one, and inputs."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import torch
from torch import Tensor

from explorer.errors import look_up
from explorer.symbolic import Circuit
from explorer.templates import ImageShape, image_data


@dataclass(frozen=True, slots=True)
class Case:
    """The arguments of `image_data` for a benchmark, and the batch size; num_input_units = num_sum_units = K.

    Weights are softmax of normal leaves, inputs have their default parameters, categorical ones `num_categories`.
    """

    name: str
    shape: ImageShape
    region_graph: str
    sum_product_layer: str
    num_units: int
    input_layer: str
    batch_size: int
    num_categories: int = 256

    def circuit(self) -> Circuit:
        """A new circuit."""
        return image_data(
            self.shape,
            self.region_graph,
            input_layer=self.input_layer,
            num_categories=self.num_categories,
            num_input_units=self.num_units,
            sum_product_layer=self.sum_product_layer,
            num_sum_units=self.num_units,
        )

    def batch(self, seed: int = 0) -> Tensor:
        """Random inputs (B, D): grey levels, or standard normal numbers for Gaussian inputs."""
        channels, height, width = self.shape
        size = (self.batch_size, channels * height * width)
        generator = torch.Generator().manual_seed(seed)
        if self.input_layer == "gaussian":
            return torch.randn(size, generator=generator)
        return torch.randint(self.num_categories, size, generator=generator)


def _by_name(*cases: Case) -> Mapping[str, Case]:
    return MappingProxyType({case.name: case for case in cases})


_SMALL, _MEDIUM, _LARGE = (1, 8, 8), (1, 16, 16), (1, 28, 28)

GALLERY_CASES = _by_name(
    Case("digits", _SMALL, "quad-tree-4", "cp", 16, "categorical", 256, 17),
    Case("mnist", _LARGE, "quad-graph", "cp", 32, "categorical", 256),
    Case("poon-domingos", _SMALL, "poon-domingos", "cp", 4, "categorical", 256, 17),
)
"""The circuits of the gallery with these names."""

FORWARD_CASES = _by_name(
    Case("S1", _SMALL, "quad-tree-2", "cp-t", 16, "categorical", 64),
    Case("S2", _SMALL, "quad-graph", "cp", 32, "categorical", 256),
    Case("M1", _MEDIUM, "quad-tree-4", "cp", 32, "categorical", 256),
    Case("M2", _MEDIUM, "quad-graph", "tucker", 16, "gaussian", 64),
    Case("L1", _LARGE, "quad-tree-2", "cp-t", 32, "categorical", 256),
    Case("L2", _LARGE, "quad-graph", "cp", 32, "categorical", 256),
    Case("L3", _LARGE, "quad-graph", "cp-t", 64, "gaussian", 256),
    Case("L4", _LARGE, "quad-tree-2", "tucker", 16, "categorical", 64),
    Case("L5", _LARGE, "quad-tree-2", "tucker", 32, "gaussian", 256),
    Case("L6", _LARGE, "random-binary-tree", "cp", 64, "categorical", 64),
    Case("L7", _LARGE, "quad-tree-4", "cp", 64, "gaussian", 256),
)
"""Cases for the forward pass and the training step: S small, M medium, L large images."""

COMPILE_CASES = _by_name(
    *(Case(f"qg-cp-{n}", (1, n, n), "quad-graph", "cp", 4, "gaussian", 1) for n in (12, 28, 53, 64, 66)),
    Case("qg-cp-3x32x32", (3, 32, 32), "quad-graph", "cp", 4, "gaussian", 1),
    *(Case(f"qt2-cp-t-{n}", (1, n, n), "quad-tree-2", "cp-t", 4, "gaussian", 1) for n in (45, 64, 82)),
)
"""Cases for compilation: about one thousand to thirty thousand small layers."""


def get_case(name: str) -> Case:
    """Return the case of this name, from all three tables. Raises: UnknownNameError."""
    return look_up("benchmark case", name, {**GALLERY_CASES, **FORWARD_CASES, **COMPILE_CASES})
