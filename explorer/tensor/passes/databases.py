"""Databases of rules as passes, so that a pipeline can contain Theano's equilibria and Glow's passes.

A database is queried at every run, so these passes include rules that are registered later.
"""

from functools import partial

from explorer.rewrite import Exactness, Query
from explorer.tensor.passes.base import passes
from explorer.tensor.rules import canonicalize, specialize, stabilize

FAST = Query(include=["fast_run"], exclude=["inplace"])

for database, name, doc in (
    (canonicalize, "Canonicalize", "Bring the graph into a canonical form: elementary operators, evaluated constants"),
    (stabilize, "Stabilize", "Replace operators that overflow or lose digits"),
    (specialize, "Specialize", "Replace several operators by one that is faster or more exact"),
):
    passes.new(name, f"{doc}, until nothing changes.", whole=partial(database.query, FAST), exactness=Exactness.REAL)
