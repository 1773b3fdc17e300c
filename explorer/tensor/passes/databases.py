"""The databases of rules as passes, so that one pipeline holds both: Theano's equilibria and Glow's passes.

A database is asked at every run, so rules that are registered from outside are in these passes too.
"""

from explorer.rewrite import Exactness, Query
from explorer.tensor.passes.base import passes
from explorer.tensor.rules import canonicalize, specialize, stabilize

FAST = Query(include=["fast_run"], exclude=["inplace"])

passes.new(
    "Canonicalize",
    "Rules that bring a graph into one form, over and over again: elementary operators, computed constants.",
    whole=lambda: canonicalize.query(FAST),
    exactness=Exactness.REAL,
)
passes.new(
    "Stabilize",
    "Rules that replace what overflows or loses digits, over and over again.",
    whole=lambda: stabilize.query(FAST),
    exactness=Exactness.REAL,
)
passes.new(
    "Specialize",
    "Rules that replace several operators by one that does the same, but better, over and over again.",
    whole=lambda: specialize.query(FAST),
    exactness=Exactness.REAL,
)
