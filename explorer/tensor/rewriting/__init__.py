"""Theano-style rewriting of tensor graphs: local and global rewriters, navigators, patterns, merging."""

from explorer.tensor.graph.rewrites import Declined as Declined, Replacements as Replacements, Rewrite as Rewrite
from explorer.tensor.rewriting.databases import (
    EquilibriumDB as EquilibriumDB,
    LocalGroupDB as LocalGroupDB,
    SequenceDB as SequenceDB,
    SweepDB as SweepDB,
)
from explorer.tensor.rewriting.equilibrium import (
    EquilibriumRewriter as EquilibriumRewriter,
    SweepRewriter as SweepRewriter,
)
from explorer.tensor.rewriting.navigators import (
    LocalRewriterGroup as LocalRewriterGroup,
    TopoRewriter as TopoRewriter,
    in2out as in2out,
)
from explorer.tensor.rewriting.pattern_language import Asterisk as Asterisk
from explorer.tensor.rewriting.patterns import PatternMatch as PatternMatch, PatternSub as PatternSub
from explorer.tensor.rewriting.processing import RewriteWarning as RewriteWarning
from explorer.tensor.rewriting.profile import Profile as Profile, RuleProfile as RuleProfile
from explorer.tensor.rewriting.rewriters import (
    FailurePolicy as FailurePolicy,
    LocalRewriter as LocalRewriter,
    OpPattern as OpPattern,
    Rewriter as Rewriter,
    SequenceRewriter as SequenceRewriter,
    graph_rewriter as graph_rewriter,
    node_rewriter as node_rewriter,
)
from explorer.tensor.rewriting.simple_rewriters import (
    AddDestroyHandler as AddDestroyHandler,
    MergeRewriter as MergeRewriter,
    OpRemove as OpRemove,
    OpSub as OpSub,
    merge_rewriter as merge_rewriter,
)
