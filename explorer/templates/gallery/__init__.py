"""Named circuits for teaching and measuring.

>>> from explorer.templates import gallery
>>> print(gallery.describe("sum-chain"))
Forty consecutive sums become one, but each round halves the chain: five rounds are not enough, the sixth is.
>>> gallery.load_named("blackboard")
<Circuit: 13 layers, 5 variables, 1 output(s)>
>>> gallery.trained_names()
('digits', 'hclt')
"""

from explorer.templates.gallery import named_circuits
from explorer.templates.gallery.named_circuits import GALLERY, CircuitMaker, Gallery
from explorer.templates.gallery.trained_weights import (
    TrainedWeights,
    describe_learned,
    is_trained,
    learned_epochs,
    learned_value,
    load_trained,
    trained_names,
    trained_weights,
)

add = GALLERY.add
names = GALLERY.names
describe = GALLERY.describe
default_options = GALLERY.default_options
load_named = GALLERY.load_named

__all__ = [
    "GALLERY",
    "CircuitMaker",
    "Gallery",
    "TrainedWeights",
    "add",
    "default_options",
    "describe",
    "describe_learned",
    "is_trained",
    "learned_epochs",
    "learned_value",
    "load_named",
    "load_trained",
    "named_circuits",
    "names",
    "trained_names",
    "trained_weights",
]
