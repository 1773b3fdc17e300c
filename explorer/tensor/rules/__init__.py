"""Rules for PyTorch's operators, one file per family; importing this package registers them."""

from explorer.tensor.rules import (
    algebra as algebra,
    casts as casts,
    clips as clips,
    constants as constants,
    elementary as elementary,
    exp_log as exp_log,
    fused as fused,
    inplace as inplace,
    views as views,
)
from explorer.tensor.rules.families import (
    canonicalize as canonicalize,
    overwrite as overwrite,
    register_canonicalize as register_canonicalize,
    register_overwrite as register_overwrite,
    register_specialize as register_specialize,
    register_stabilize as register_stabilize,
    specialize as specialize,
    stabilize as stabilize,
)
