"""The names that a picture may use, and the version of the contract."""

from typing import Literal

VERSION = 1

Change = Literal["kept", "added", "removed", "changed"]

Mode = Literal["diff", "before", "after", "side", "plain"]
"""`plain` is the state after, without any sign of what was done: the picture for a question about the next step."""

ColourBy = Literal["change", "kind", "time", "memory", "order", "value", "fold"]
"""`value`: the page colours cells by what they compute for an input; until it knows that, by kind."""

GroupBy = Literal["plates", "score", "fold", "none", "scope"]
"""`plates`: nodes of one level and fold key are a plate with a cell for each; `score`: calls are in a row, with the
tensors between them; the others are boxes of a graph."""

HullKind = Literal["match", "winner", "lost", "near-miss"]

NodeKind = Literal["input", "sum", "product", "fused", "matmul", "view", "operator", "leaf"]
"""`matmul`: a matrix product or convolution; `view`: an operator that moves or selects numbers, or shows them in
another shape, and computes none; `operator`: any other one."""
