"""A logic circuit from a file: which guest sits where."""

from pathlib import Path

from explorer.symbolic import Circuit, Parameterization
from explorer.templates.gallery.registry import GALLERY
from explorer.templates.logic import build_circuit, read_logic

SEATING = Path(__file__).with_name("seating.nnf")
"""Four guests on four seats as a formula of 16 variables with 24 models, in the format of c2d."""


@GALLERY.add("logic")
def logic() -> Circuit:
    """Four guests, four seats: a formula with 24 models as a circuit, and a learned distribution over exactly those.

    Variable 4g + s is 1 if guest g is on seat s. All other assignments have probability 0, whatever the weights are:
    the literals are fixed tables with a zero. At most one term of each sum is nonzero (the circuit is deterministic),
    so the most probable seating is exact.
    """
    return build_circuit(read_logic(SEATING), sum_param=Parameterization("softmax"))
