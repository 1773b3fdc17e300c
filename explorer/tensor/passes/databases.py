"""The databases of rules as passes, so that one pipeline holds both: Theano's equilibria and Glow's passes."""

from explorer.rewrite import Exactness, Query
from explorer.tensor.passes.base import passes
from explorer.tensor.rules import canonicalize, specialize, stabilize

FAST = Query(include=["fast_run"], exclude=["inplace"])

passes.new(
    "Canonicalize",
    "Rules that bring a graph into one form, over and over again: elementary operators, computed constants.",
    whole=canonicalize.query(FAST),
    exactness=Exactness.REAL,
)
passes.new(
    "Stabilize",
    "Rules that replace what overflows or loses digits, over and over again.",
    whole=stabilize.query(FAST),
    exactness=Exactness.REAL,
)
passes.new(
    "Specialize",
    "Rules that replace several operators by one that does the same, but better, over and over again.",
    whole=specialize.query(FAST),
    exactness=Exactness.REAL,
)
