"""FoldExpSumDivIntoSoftmax: exponentials over their sum are a softmax.

Source: Glow, FoldExpSumDivIntoSoftmax.
"""

from explorer.tensor.passes.base import passes
from explorer.tensor.rules.exp_log import exp_over_sum

into_softmax = passes.new("FoldExpSumDivIntoSoftmax", "Exponentials over their sum are a softmax.")
into_softmax.add(exp_over_sum)
