"""The layout of a graph in rows: few crossings, straight edges, the same on every machine.

Source: Sugiyama et al. 1981, Methods for Visual Understanding of Hierarchical System Structures.
"""

from explorer.views.layered.columns import columns
from explorer.views.layered.crossings import Rows, count_crossings, order_rows, pull_up, split_rows

__all__ = ["Rows", "columns", "count_crossings", "order_rows", "pull_up", "split_rows"]
