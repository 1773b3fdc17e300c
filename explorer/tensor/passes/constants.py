"""ConstantFold (Glow's name): what only needs constants is computed once, now.

Trainable constants are unknown; tensors of one number everywhere are left as they are, and so are random numbers.
"""

from explorer.tensor.passes.base import passes
from explorer.tensor.rules.constants import evaluate_constant

evaluate = passes.new("ConstantFold", "What needs only constants is computed once, now.")
evaluate.add(evaluate_constant)
