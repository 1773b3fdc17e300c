"""The benchmark cases: image circuits with the arguments that both sides need to build the same one, and inputs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import torch
from torch import Tensor

from explorer.errors import unknown_name
from explorer.symbolic import Circuit
from explorer.templates import COMPILE_CASES, FORWARD_CASES, BenchmarkCase, load_named


@dataclass(frozen=True, slots=True)
class Case:
    """The builder of our circuit and the arguments for the peer; categorical inputs have `num_categories`."""

    image: BenchmarkCase
    circuit: Callable[[], Circuit]
    num_categories: int = 256

    @property
    def name(self) -> str:
        """The name of the case."""
        return self.image.name

    def batch(self, seed: int = 0) -> Tensor:
        """Random inputs (B, D): grey levels, or standard normal numbers for Gaussian inputs."""
        channels, height, width = self.image.shape
        size = (self.image.batch_size, channels * height * width)
        generator = torch.Generator().manual_seed(seed)
        if self.image.input_layer == "gaussian":
            return torch.randn(size, generator=generator)
        return torch.randint(self.num_categories, size, generator=generator)


def case_named(name: str) -> Case:
    """Return the case of this name. Raises: UnknownNameError."""
    cases = _cases()
    if name not in cases:
        raise unknown_name("benchmark case", name, list(cases))
    return cases[name]


def _cases() -> Mapping[str, Case]:
    small = (1, 8, 8)
    gallery = {
        "digits": (BenchmarkCase("digits", small, "quad-tree-4", "cp", 16, "categorical", 256), 17),
        "mnist": (BenchmarkCase("mnist", (1, 28, 28), "quad-graph", "cp", 32, "categorical", 256), 256),
        "poon-domingos": (BenchmarkCase("poon-domingos", small, "poon-domingos", "cp", 4, "categorical", 256), 17),
    }
    named = {name: Case(image, lambda name=name: load_named(name), levels) for name, (image, levels) in gallery.items()}
    plain = {case.name: Case(case, case.circuit) for case in (*FORWARD_CASES.values(), *COMPILE_CASES.values())}
    return MappingProxyType({**named, **plain})
