"""Rules for PyTorch's operators, a file for each family; importing this puts them into their databases."""

from explorer.tensor.rules import algebra, casts, clips, constants, elementary, exp_log, fused, inplace, views
from explorer.tensor.rules.families import (
    canonicalize,
    overwrite,
    register_canonicalize,
    register_overwrite,
    register_specialize,
    register_stabilize,
    specialize,
    stabilize,
)

__all__ = [
    "algebra",
    "canonicalize",
    "casts",
    "clips",
    "constants",
    "elementary",
    "exp_log",
    "fused",
    "inplace",
    "overwrite",
    "register_canonicalize",
    "register_overwrite",
    "register_specialize",
    "register_stabilize",
    "specialize",
    "stabilize",
    "views",
]
