"""How the operators of groups are run: one after the other here, or compiled (`inductor`)."""

from typing import Protocol

from explorer.runtime.grouped.evaluation import Given, Indices, Outputs, evaluate_groups
from explorer.runtime.grouped.groups import Groups
from explorer.runtime.grouped.kernels import step_for
from explorer.runtime.packed_tensors import PackedTensors


class Runner(Protocol):
    """Evaluates groups."""

    def __call__(self, groups: Groups, constants: PackedTensors, indices: Indices, given: Given, /) -> Outputs:
        """The outputs of a circuit."""
        ...


def run_eagerly(groups: Groups, constants: PackedTensors, indices: Indices, given: Given) -> Outputs:
    """Call one operator after the other."""
    step = step_for(given.states, given.states.shape[1])
    return evaluate_groups(groups, constants, indices, given, step)
