"""Rules for PyTorch's operators, one file per family; importing this package registers them."""

from explorer.tensor.rules import (
    algebra as algebra,
    casts as casts,
    choices as choices,
    constants as constants,
    elementary as elementary,
    exp_log as exp_log,
    fused as fused,
    lifting as lifting,
    linalg as linalg,
    reductions as reductions,
    stability as stability,
    views as views,
    writes as writes,
)
from explorer.tensor.rules.families import (
    RuleFamily as RuleFamily,
    canonicalize as canonicalize,
    optdb as optdb,
    overwrite as overwrite,
    specialize as specialize,
    stabilize as stabilize,
)
from explorer.tensor.rules.fused import WriteOverInput as WriteOverInput
