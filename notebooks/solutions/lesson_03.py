"""Solutions of lesson 3, fusion."""

from collections.abc import Callable

from explorer.symbolic import Circuit, CircuitBuilder
from explorer.templates import CategoricalInput


def solution_1() -> int:
    """Each round leaves ceil(n / 2) of n sums: 32, 16, 8, 4, 2, 1."""
    return 32


def solution_2() -> int:
    """The first width m at which 1,164 m + 16,384 + ... exceeds 512 m + 139,264 + ...: see `cost` in the lesson."""
    return 189


def solution_3() -> Callable[[], Circuit]:
    """Three pairs of layers that share none."""

    def mine() -> Circuit:
        b = CircuitBuilder()
        x = [b.add(CategoricalInput(2)(v, 3), name=f"x{v}") for v in range(5)]
        twice = b.sum(b.sum(x[0], num_units=3), num_units=3)
        tucker = b.sum(b.kronecker(x[1], x[2]), num_units=3)
        candecomp = b.sum(b.hadamard(x[3], x[4]), num_units=3)
        return b.build(b.hadamard(twice, tucker, candecomp))

    return mine
