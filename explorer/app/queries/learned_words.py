"""What the values of a circuit are, in words: trained ones of the gallery, or random ones, and how to train it."""

from shlex import quote

from explorer.symbolic import CategoricalLayer, Circuit, ConstantInitializer, InputLayer, LearnedInitializer
from explorer.templates import gallery

PIXELS, LEVELS = 64, 17
"""The variables of the images of digits, and their values."""
SMALL = 1_000
"""Maximum number of layers of a circuit that is trained in seconds."""


def words_on_values(circuit: Circuit, name: str) -> str:
    """Say what the values of a circuit are; empty if it has no random ones, and none of the gallery.

    `name` is the circuit as an argument of `train`.
    """
    if (found := learned_from(circuit)) is not None:
        bits = gallery.trained_weights(found.circuit).best.held_out_bits
        return f"The values are trained weights of the gallery (held-out {bits:.2f} bits per pixel)."
    if not is_untrained(circuit):
        return ""
    words = "This circuit is not trained: its values are random."
    if not _has_digits(circuit):
        return f"{words} Train it on data of your own: circuit-explorer train {quote(name)} --data FILE"
    duration = "about ten seconds" if len(circuit.graph) <= SMALL else "some minutes"
    return f"{words} Train it on handwritten digits, which takes {duration}: circuit-explorer train {quote(name)}"


def learned_from(circuit: Circuit) -> LearnedInitializer | None:
    """Return one of the initializers that name trained weights of the gallery; None if there are none."""
    found = (leaf.initializer for leaf in circuit.leaf_names)
    return next((one for one in found if isinstance(one, LearnedInitializer)), None)


def is_untrained(circuit: Circuit) -> bool:
    """Whether a circuit begins with random values."""
    fixed = (ConstantInitializer, LearnedInitializer)
    return any(leaf.learnable and not isinstance(leaf.initializer, fixed) for leaf in circuit.leaf_names)


def _has_digits(circuit: Circuit) -> bool:
    """Whether the variables of a circuit are the pixels of the digits."""
    inputs = [layer for layer in circuit.layers if isinstance(layer, InputLayer)]
    return circuit.scope == tuple(range(PIXELS)) and all(
        isinstance(layer, CategoricalLayer) and layer.num_categories == LEVELS for layer in inputs
    )
