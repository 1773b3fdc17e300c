"""The default pipeline of graph passes, whose entries are in `explorer.passes`.

It brings the graph into one form before Glow's passes, which are in the order of Glow's source, and specializes it
behind them. It omits the passes that cost time or digits with PyTorch's kernels. Passes that are for inference only say
so in their configuration, so that one pipeline serves both modes. The passes on regression and pooling, which later
versions of Glow do not have, come first and after the sinking.
"""

from explorer.passes import PASSES
from explorer.rewrite import FunctionPassPipeline
from explorer.trace import TENSOR

DEFAULT_PIPELINE = FunctionPassPipeline.of_listed(PASSES[TENSOR])
"""The passes that a graph goes through by default."""
