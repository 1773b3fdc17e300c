"""The circuits of `bench pyjuice`: cases of `cases.py`, and those on which PyJuice measures itself.

These are hidden Chow-Liu trees and Poon-Domingos circuits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import torch
from torch import Tensor

from benchmarks.cases import Case, get_case
from explorer.symbolic import Circuit
from explorer.templates import CategoricalInput, hidden_tree

SIDE, GREY_LEVELS = 28, 256


@dataclass(frozen=True, slots=True)
class HiddenTreeCase:
    """A hidden tree of images of 28x28 pixels of 256 grey levels, whose latent variables have `num_latents` states.

    Its tree is a random spanning tree of neighbouring pixels, rooted at its centre: there are no images here to learn
    a Chow-Liu tree from, which consists of such edges for the most part.
    """

    name: str
    num_latents: int
    side: int = SIDE
    num_categories: int = GREY_LEVELS

    def circuit(self) -> Circuit:
        """A new circuit."""
        parents = neighbour_tree(self.side)
        return hidden_tree(parents, CategoricalInput(self.num_categories), num_latent_states=self.num_latents)


HIDDEN_TREES: Mapping[str, HiddenTreeCase] = MappingProxyType(
    {f"HCLT-{latents}": HiddenTreeCase(f"HCLT-{latents}", latents) for latents in (128, 256, 512)}
)

POON_DOMINGOS: Mapping[str, Case] = MappingProxyType(
    {
        f"PD-{units}": Case(f"PD-{units}", (1, SIDE, SIDE), "poon-domingos", "cp", units, "categorical", 256)
        for units in (16, 64)
    }
)
"""Regions of 4x4 pixels and all their unions to rectangles: some 11,000 layers."""

PYJUICE_CASES: Sequence[str] = ("L1", "L2", "L6", *HIDDEN_TREES)
"""Measured by default."""


def get_pyjuice_case(name: str) -> Case | HiddenTreeCase:
    """Return a hidden tree or a benchmark case by name. Raises: UnknownNameError."""
    known = {**HIDDEN_TREES, **POON_DOMINGOS}
    return known[name] if name in known else get_case(name)


def random_rows(case: Case | HiddenTreeCase, circuit: Circuit, batch_size: int) -> Tensor:
    """Random grey levels (B, D) of a case."""
    generator = torch.Generator().manual_seed(0)
    return torch.randint(case.num_categories, (batch_size, len(circuit.scope)), generator=generator)


def neighbour_tree(side: int, seed: int = 0) -> list[int]:
    """The parents of a random spanning tree of a grid of pixels, -1 at its centre, which keeps it shallow."""
    pixels = side * side
    edges = [(one, one + 1) for one in range(pixels) if (one + 1) % side]
    edges += [(one, one + side) for one in range(pixels - side)]
    order = torch.randperm(len(edges), generator=torch.Generator().manual_seed(seed)).tolist()
    group = list(range(pixels))
    neighbours: list[list[int]] = [[] for _ in range(pixels)]
    for one, other in (edges[i] for i in order):
        first, second = _leader(group, one), _leader(group, other)
        if first != second:
            group[first] = second
            neighbours[one].append(other)
            neighbours[other].append(one)
    end = _parents(neighbours, 0)[1]
    parents, other_end = _parents(neighbours, end)
    path = [other_end]
    while parents[path[-1]] != -1:
        path.append(parents[path[-1]])
    return _parents(neighbours, path[len(path) // 2])[0]


def _leader(group: list[int], one: int) -> int:
    """The pixel that stands for the group of another."""
    while group[one] != one:
        group[one] = group[group[one]]
        one = group[one]
    return one


def _parents(neighbours: Sequence[Sequence[int]], root: int) -> tuple[list[int], int]:
    """The parents in the tree with this root, and one of the pixels that are farthest from it."""
    parents = [-1] * len(neighbours)
    found = [root]
    for one in found:
        for other in neighbours[one]:
            if other != parents[one]:
                parents[other] = one
                found.append(other)
    return parents, found[-1]
