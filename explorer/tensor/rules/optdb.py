"""The database of all rewriters, in the order in which they are applied.

Source: Theano, optdb structure. `optdb.query(Query(include=["fast_run"]))` is the pipeline for a fast program,
`fast_compile` the one for a fast compilation. What overwrites inputs is tagged `inplace` and stands behind the mark; a
program that overwrites is for inference: leave `inplace` out where the gradient of an input is asked for. Rules are
also tagged `exact` or `real`, so `excluding("real")` leaves those that keep every bit.
"""

from explorer.tensor.rewriting import AddDestroyHandler, MergeRewriter, SequenceDB
from explorer.tensor.rules import canonicalize, overwrite, specialize, stabilize

MARK = 49.5
"""Behind this position rewriters may let operators overwrite their inputs."""

optdb = SequenceDB("optdb", not_before={"inplace": MARK})
optdb.register("merge1", MergeRewriter(), 0, "fast_run", "fast_compile", "merge")
optdb.register("canonicalize", canonicalize, 1, "fast_run", "fast_compile")
optdb.register("merge1.2", MergeRewriter(), 1.2, "fast_run", "fast_compile", "merge")
optdb.register("stabilize", stabilize, 1.5, "fast_run", "fast_compile")
optdb.register("specialize", specialize, 2, "fast_run")
optdb.register("merge2", MergeRewriter(), 49, "fast_run", "merge")
optdb.register("add_destroy_handler", AddDestroyHandler(), MARK, "fast_run", "inplace")
optdb.register("overwrite", overwrite, 50, "fast_run", "inplace")
optdb.register("merge3", MergeRewriter(), 100, "fast_run", "merge")
