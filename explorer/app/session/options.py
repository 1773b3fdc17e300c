"""The displayed level and the options of the tensor level, as in the dashboard and in links."""

from dataclasses import dataclass

from explorer.rewrite import OptMatchStrategy
from explorer.trace import LEVELS

STRATEGIES = tuple(strategy.value for strategy in OptMatchStrategy)
COMPILED, TENSOR_LEVEL = "compiled", "tensor"
LEVEL_NAMES = tuple(LEVELS)


@dataclass(frozen=True, slots=True)
class TensorOptions:
    """The level that is shown, and the options of the tensor level.

    `passes` are entries of a pipeline as strings (`entry_text`); none: the default pipeline of the mode.
    """

    level: str = COMPILED
    compile_for: str = "infer"
    passes: tuple[str, ...] = ()
    one_by_one: bool = False
