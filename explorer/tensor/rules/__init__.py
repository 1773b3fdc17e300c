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
    RuleFamily as RuleFamily,
    canonicalize as canonicalize,
    overwrite as overwrite,
    specialize as specialize,
    stabilize as stabilize,
)
