"""The database of all rewriters, in their order of application.

`optdb.query(Query(include=["fast_run"]))` is the pipeline for a fast program, `fast_compile` the one for a fast
compilation. Rewriters that overwrite inputs are tagged `inplace` and come after the
mark; in-place programs are for inference: exclude `inplace` where gradients of inputs are needed. Rules are also tagged
`exact` or `real`, so `excluding("real")` selects those that keep every bit.
"""

from explorer.tensor.rewriting import AddDestroyHandler, MergeRewriter, SequenceDB
from explorer.tensor.rules import canonicalize, overwrite, specialize, stabilize

MARK = 49.5
"""Rewriters after this position may let operators overwrite their inputs."""

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
