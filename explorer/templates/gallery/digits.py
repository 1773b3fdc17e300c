"""The main job: the circuit that is trained on handwritten digits."""

from explorer.symbolic import Circuit
from explorer.templates.gallery.registry import GALLERY
from explorer.templates.images import image_data


@GALLERY.add("digits")
def digits() -> Circuit:
    """The main job: handwritten digits, 8x8 pixels of 17 grey levels; it folds well and trains in seconds."""
    return image_data(
        (1, 8, 8),
        "quad-tree-4",
        input_layer="categorical",
        num_categories=17,
        num_input_units=16,
        sum_product_layer="cp",
        num_sum_units=16,
    )
