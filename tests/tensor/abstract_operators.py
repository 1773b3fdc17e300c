"""Operators without a meaning: op1 to op6 accept any number of tensors, and are registered with PyTorch.

Each gives a weighted sum, so that graphs of them can be run.
"""

import torch

from explorer.tensor import Op, TensorType, Variable, slots

KIND = TensorType(torch.float64, ())
_library = torch.library.Library("explorer_tests", "FRAGMENT")


class Abstract:
    """An operator of any number of tensors; called with variables it is applied to them."""

    def __init__(self, number):
        name = f"op{number}"
        _library.define(f"{name}(Tensor[] xs) -> Tensor")

        def compute(xs):
            return sum((x * (number + i) for i, x in enumerate(xs)), torch.zeros((), dtype=torch.float64))

        _library.impl(name, compute, "CompositeExplicitAutograd")
        self.target = getattr(torch.ops.explorer_tests, name).default

    def of(self, count):
        """The operator for this number of tensors."""
        return Op.of(self.target, xs=slots(count))

    def __call__(self, *inputs):
        return self.of(len(inputs))(*inputs)


op1, op2, op3, op4, op5, op6 = map(Abstract, range(1, 7))


def variables(names):
    """Inputs by their names between blanks."""
    return [Variable(KIND, name=name) for name in names.split()]
