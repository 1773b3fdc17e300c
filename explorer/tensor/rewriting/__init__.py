"""Theano-style rewriting of tensor graphs: local and global rewriters, navigators, patterns, merging."""

from explorer.tensor.graph.rewrites import Declined, Replacements, Rewrite
from explorer.tensor.rewriting.databases import EquilibriumDB, LocalGroupDB, SequenceDB, SweepDB
from explorer.tensor.rewriting.destroying import AddDestroyHandler
from explorer.tensor.rewriting.equilibrium import EquilibriumRewriter
from explorer.tensor.rewriting.matching import PatternMatch
from explorer.tensor.rewriting.merge import MergeRewriter, merge_rewriter
from explorer.tensor.rewriting.navigators import (
    LocalRewriterGroup,
    OpKeyRewriter,
    TopoRewriter,
    dfs_rewriter,
    in2out,
    out2in,
)
from explorer.tensor.rewriting.pattern_language import Asterisk
from explorer.tensor.rewriting.patterns import PatternSub
from explorer.tensor.rewriting.processing import RewriteWarning
from explorer.tensor.rewriting.profile import Profile, RuleProfile
from explorer.tensor.rewriting.rewriters import (
    FailurePolicy,
    LocalRewriter,
    OpPattern,
    Rewriter,
    SequenceRewriter,
    graph_rewriter,
    node_rewriter,
)
from explorer.tensor.rewriting.substitutions import OpRemove, OpSub
from explorer.tensor.rewriting.sweep import SweepRewriter

__all__ = [
    "AddDestroyHandler",
    "Asterisk",
    "Declined",
    "EquilibriumDB",
    "EquilibriumRewriter",
    "FailurePolicy",
    "LocalGroupDB",
    "LocalRewriter",
    "LocalRewriterGroup",
    "MergeRewriter",
    "OpKeyRewriter",
    "OpPattern",
    "OpRemove",
    "OpSub",
    "PatternMatch",
    "PatternSub",
    "Profile",
    "Replacements",
    "Rewrite",
    "RewriteWarning",
    "Rewriter",
    "RuleProfile",
    "SequenceDB",
    "SequenceRewriter",
    "SweepDB",
    "SweepRewriter",
    "TopoRewriter",
    "dfs_rewriter",
    "graph_rewriter",
    "in2out",
    "merge_rewriter",
    "node_rewriter",
    "out2in",
]
