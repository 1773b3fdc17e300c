"""A circuit whose structure was learned from data."""

from explorer.symbolic import Circuit
from explorer.templates.gallery.registry import GALLERY
from explorer.templates.hidden_trees import hidden_tree
from explorer.templates.inputs import CategoricalInput

# fmt: off
DIGITS_TREE = (
    56, 58, 10, 58,  5, 13,  5,  6,
     9, 17,  9, 19, 20, 21,  6, 14,
     8, 18, 26, 10, 21, 29, 30, 22,
     0, 26, 34, 19, 20, 30, 38, 23,
     0, 34, 42, 43, 35, 38, 46,  0,
    41, 42, -1, 42, 36, 46, 44, 46,
    49, 50, 58, 43, 44, 61, 46, 63,
    48,  1,  2,  3, 61, 62, 54, 62,
)
# fmt: on
"""The parent of each pixel in the Chow-Liu tree of the training images of the digits (`chow_liu_parents`)."""


@GALLERY.add("hclt")
def hclt() -> Circuit:
    """A tree of hidden variables, learned from the digits: branches of all lengths, products of two to five inputs."""
    return hidden_tree(DIGITS_TREE, CategoricalInput(17), num_latent_states=16)
