"""Expected counts: sums over rows, by kind and by tensor of the circuit, which add up over batches and workers.

Kinds: `weights` are how often each entry of a leaf of weights is used; `successes` and `trials` belong to binomial
distributions; `rows`, `sums` and `squares` are, for each normal distribution, the responsibilities and their products
with x and with x². Each is the sum of expectations over the rows of a batch.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from explorer.backend import TorchCircuit
from explorer.learning.state import place_values

KINDS = ("weights", "successes", "trials", "rows", "sums", "squares")


@dataclass(frozen=True, eq=False)
class ExpectedCounts:
    """By kind and by position of a tensor (F, *shape) in `circuit.tensors`, counts of that shape in double precision.

    Slices of leaves that have no counts of a kind are zero.
    """

    values: Mapping[str, Mapping[int, Tensor]]

    def __iter__(self) -> Iterator[tuple[str, int, Tensor]]:
        for kind, by_tensor in self.values.items():
            for tensor, value in by_tensor.items():
                yield kind, tensor, value

    def __getitem__(self, kind: str) -> Mapping[int, Tensor]:
        return self.values[kind]

    def blend(self, other: "ExpectedCounts", share: float) -> "ExpectedCounts":
        """(1 - share) of these counts and a share of the others."""
        return self._combine(lambda kind, tensor, value: torch.lerp(value, other[kind][tensor], share))

    def times(self, factor: float) -> "ExpectedCounts":
        """These counts, multiplied by a number."""
        return self._combine(lambda kind, tensor, value: value * factor)

    def _combine(self, combine: Callable[[str, int, Tensor], Tensor]) -> "ExpectedCounts":
        return ExpectedCounts(
            {kind: {t: combine(kind, t, value) for t, value in found.items()} for kind, found in self.values.items()}
        )

    def by_leaf(self, circuit: TorchCircuit) -> dict[str, dict[str, Tensor]]:
        """Copies on the CPU: by kind, by name of the leaf. The names are the same in every mode of compilation."""
        slots = circuit.leaf_slots.items()
        return {
            kind: {leaf: found[tensor][row].cpu().clone() for leaf, (tensor, row) in slots if tensor in found}
            for kind, found in self.values.items()
        }


def load_counts(
    into: ExpectedCounts, circuit: TorchCircuit, by_leaf: Mapping[str, Mapping[str, Tensor]]
) -> ExpectedCounts:
    """The counts that `by_leaf` returned, in the layout of `into`, counts of the circuit in the present mode.

    Raises: UnknownNameError, ShapeError if the counts are of a different circuit.
    """
    loaded = into.times(0.0)
    for kind, tensor, row, value in place_values(circuit, "expected counts", by_leaf, into.values):
        if tensor in loaded[kind]:
            loaded[kind][tensor][row] = value.to(loaded[kind][tensor])
    return loaded
