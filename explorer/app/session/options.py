"""The displayed level and the options of the tensor level, as in the dashboard and in links."""

from dataclasses import dataclass

from explorer.rewrite import OptMatchStrategy
from explorer.trace import LEVELS
from explorer.trace.ladder import COMPILED, OPERATORS as TENSOR

OPERATORS = {"functional": "of PyTorch", "core": "core ATen", "circuit": "whole layers"}
"""The levels of operators at which a circuit is exported, and how they are offered."""

STRATEGIES = tuple(strategy.value for strategy in OptMatchStrategy)
TENSOR_LEVEL = TENSOR.name
LEVEL_NAMES = tuple(LEVELS)


@dataclass(frozen=True, slots=True)
class TensorOptions:
    """The level that is shown, and the options of the tensor level.

    `passes` are entries of a pipeline as strings (`entry_text`); none: the default pipeline of the mode. `operators` is
    one of `OPERATORS`.
    """

    level: str = COMPILED.name
    compile_for: str = "infer"
    passes: tuple[str, ...] = ()
    one_by_one: bool = False
    operators: str = "functional"
