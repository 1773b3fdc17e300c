"""The level that is looked at, and the options of the tensor level, as the dashboard and a link hold them."""

from dataclasses import dataclass

from explorer.rewrite import OptMatchStrategy

STRATEGIES = tuple(strategy.value for strategy in OptMatchStrategy)
COMPILED, TENSOR_LEVEL = "compiled", "tensor"
LEVELS = (COMPILED, TENSOR_LEVEL)


@dataclass(frozen=True, slots=True)
class TensorOptions:
    """Which level of the ladder is looked at, and how the tensor level is made.

    `passes` are entries of a pipeline as texts (`entry_text`); none: the default pipeline of the mode.
    """

    level: str = COMPILED
    compile_for: str = "infer"
    passes: tuple[str, ...] = ()
    one_by_one: bool = False
