"""CSE: merge equal applications, and constants with equal bits."""

from explorer.tensor.passes.base import passes
from explorer.tensor.rewriting import merge_rewriter

passes.new("CSE", "Merge equal constants, and equal operators on the same inputs.", whole=lambda: merge_rewriter)
