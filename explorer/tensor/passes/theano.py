"""Rewriters and rules of Theano as passes, so that a pipeline can contain them and Glow's passes.

A database is queried at every run, so its pass includes rules that are registered later.
"""

from functools import partial

from explorer.rewrite import Exactness, Query
from explorer.tensor.passes.base import passes
from explorer.tensor.rewriting import EquilibriumDB, Rewriter, merge_rewriter
from explorer.tensor.rules import canonicalize, specialize, stabilize
from explorer.tensor.rules.constants import evaluate_constant
from explorer.tensor.rules.exp_log import exp_over_sum

FAST = Query(include=["fast_run"], exclude=["inplace"])


def _query(database: EquilibriumDB) -> Rewriter:
    return database.query(FAST)


for database, name, doc in (
    (canonicalize, "Canonicalize", "Bring the graph into a canonical form: elementary operators, evaluated constants"),
    (stabilize, "Stabilize", "Replace operators that overflow or lose digits"),
    (specialize, "Specialize", "Replace several operators by one that is faster or more exact"),
):
    passes.new(name, f"{doc}, until nothing changes.", whole=partial(_query, database), exactness=Exactness.REAL)

passes.new("CSE", "Merge equal constants, and equal operators on the same inputs.", whole=lambda: merge_rewriter)
passes.new("ConstantFold", "Evaluate operators on constants at compile time.").add(evaluate_constant)
passes.new("FoldExpSumDivIntoSoftmax", "Replace exponentials over their sum by a softmax.").add(exp_over_sum)
