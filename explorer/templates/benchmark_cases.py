"""Benchmark cases by name: the image circuits on which speed is measured, ours and the peer's."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from explorer.errors import unknown_name
from explorer.symbolic import Circuit
from explorer.templates.images import image_data
from explorer.templates.regions import ImageShape


@dataclass(frozen=True, slots=True)
class BenchmarkCase:
    """The arguments of `image_data` for a benchmark, and the batch size; num_input_units = num_sum_units = K.

    Weights are softmax of normal leaves, inputs have their default parameters, categorical ones 256 categories.
    """

    name: str
    shape: ImageShape
    region_graph: str
    sum_product_layer: str
    num_units: int
    input_layer: str
    batch_size: int

    def circuit(self) -> Circuit:
        """A new circuit."""
        return image_data(
            self.shape,
            self.region_graph,
            input_layer=self.input_layer,
            num_input_units=self.num_units,
            sum_product_layer=self.sum_product_layer,
            num_sum_units=self.num_units,
        )


_SMALL, _MEDIUM, _LARGE = (1, 8, 8), (1, 16, 16), (1, 28, 28)

FORWARD_CASES: Mapping[str, BenchmarkCase] = MappingProxyType(
    {
        case.name: case
        for case in (
            BenchmarkCase("S1", _SMALL, "quad-tree-2", "cp-t", 16, "categorical", 64),
            BenchmarkCase("S2", _SMALL, "quad-graph", "cp", 32, "categorical", 256),
            BenchmarkCase("M1", _MEDIUM, "quad-tree-4", "cp", 32, "categorical", 256),
            BenchmarkCase("M2", _MEDIUM, "quad-graph", "tucker", 16, "gaussian", 64),
            BenchmarkCase("L1", _LARGE, "quad-tree-2", "cp-t", 32, "categorical", 256),
            BenchmarkCase("L2", _LARGE, "quad-graph", "cp", 32, "categorical", 256),
            BenchmarkCase("L3", _LARGE, "quad-graph", "cp-t", 64, "gaussian", 256),
            BenchmarkCase("L4", _LARGE, "quad-tree-2", "tucker", 16, "categorical", 64),
            BenchmarkCase("L5", _LARGE, "quad-tree-2", "tucker", 32, "gaussian", 256),
            BenchmarkCase("L6", _LARGE, "random-binary-tree", "cp", 64, "categorical", 64),
            BenchmarkCase("L7", _LARGE, "quad-tree-4", "cp", 64, "gaussian", 256),
        )
    }
)
"""Cases for the forward pass and the training step: S small, M medium, L large images."""

COMPILE_CASES: Mapping[str, BenchmarkCase] = MappingProxyType(
    {
        case.name: case
        for case in (
            *(BenchmarkCase(f"qg-cp-{n}", (1, n, n), "quad-graph", "cp", 4, "gaussian", 1) for n in (12, 28, 53, 64)),
            BenchmarkCase("qg-cp-3x32x32", (3, 32, 32), "quad-graph", "cp", 4, "gaussian", 1),
            *(BenchmarkCase(f"qt2-cp-t-{n}", (1, n, n), "quad-tree-2", "cp-t", 4, "gaussian", 1) for n in (45, 64, 82)),
        )
    }
)
"""Cases for compilation: about one thousand to thirty thousand small layers."""


def benchmark_case(name: str) -> BenchmarkCase:
    """The case of this name, from both tables. Raises: UnknownNameError.

    >>> benchmark_case("L2").region_graph
    'quad-graph'
    """
    cases = {**FORWARD_CASES, **COMPILE_CASES}
    if name not in cases:
        raise unknown_name("benchmark case", name, list(cases))
    return cases[name]
