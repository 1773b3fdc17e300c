"""FoldExpSumDivIntoSoftmax: replace exponentials over their sum by a softmax."""

from explorer.tensor.passes.base import passes
from explorer.tensor.rules.exp_log import exp_over_sum

into_softmax = passes.new("FoldExpSumDivIntoSoftmax", "Replace exponentials over their sum by a softmax.")
into_softmax.add(exp_over_sum)
