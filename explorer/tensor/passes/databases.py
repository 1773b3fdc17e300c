"""Databases of rules as passes, so that a pipeline can contain Theano's equilibria and Glow's passes.

A database is queried at every run, so these passes include rules that are registered later.
"""

from explorer.rewrite import Exactness, Query
from explorer.tensor.passes.base import passes
from explorer.tensor.rules import canonicalize, specialize, stabilize

FAST = Query(include=["fast_run"], exclude=["inplace"])

passes.new(
    "Canonicalize",
    "Bring the graph into a canonical form: elementary operators, evaluated constants; until nothing changes.",
    whole=lambda: canonicalize.query(FAST),
    exactness=Exactness.REAL,
)
passes.new(
    "Stabilize",
    "Replace operators that overflow or lose digits, until nothing changes.",
    whole=lambda: stabilize.query(FAST),
    exactness=Exactness.REAL,
)
passes.new(
    "Specialize",
    "Replace several operators by one that is faster or more exact, until nothing changes.",
    whole=lambda: specialize.query(FAST),
    exactness=Exactness.REAL,
)
