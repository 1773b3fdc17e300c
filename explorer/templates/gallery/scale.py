"""Circuits of real size, where compile time and folding decide."""

from explorer.symbolic import Circuit
from explorer.templates.gallery.registry import GALLERY
from explorer.templates.images import image_data


@GALLERY.add("mnist")
def mnist() -> Circuit:
    """Folding at the size of real work: 28x28 pixels, split by rows and by columns, 5,725 layers in a few folds."""
    return image_data(
        (1, 28, 28),
        "quad-graph",
        input_layer="categorical",
        num_input_units=32,
        sum_product_layer="cp",
        num_sum_units=32,
    )


@GALLERY.add("poon-domingos")
def poon_domingos_8x8() -> Circuit:
    """All ways to cut 8x8 pixels into rectangles: 19,342 layers, where compile time and mixing sums decide."""
    return image_data(
        (1, 8, 8),
        "poon-domingos",
        input_layer="categorical",
        num_categories=17,
        num_input_units=4,
        sum_product_layer="cp",
        num_sum_units=4,
    )
