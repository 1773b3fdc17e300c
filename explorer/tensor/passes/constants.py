"""ConstantFold (Glow's name): evaluate operators on constants at compile time.

Trainable constants are unknown; tensors filled with one number and random numbers are left alone.
"""

from explorer.tensor.passes.base import passes
from explorer.tensor.rules.constants import evaluate_constant

evaluate = passes.new("ConstantFold", "Evaluate operators on constants at compile time.")
evaluate.add(evaluate_constant)
