"""The options of a compilation as one frozen value: what the dashboard, a link and generated code hold."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from explorer.rewrite import OptMatchStrategy
from explorer.trace import Trace

PRESETS = ("default", "handbook")
STRATEGIES = tuple(strategy.value for strategy in OptMatchStrategy)


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """What `explorer.record` is told beside the circuit; the defaults are those of `TorchCompiler`."""

    preset: str = "default"
    semiring: str = "lse-sum"
    optimize: bool = True
    fold: bool = True
    strategy: str = "largest-match"
    disable: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    max_rounds: int | None = None
    levels: str | None = None
    seed: int = 0

    def changed(self) -> dict[str, Any]:
        """The options that differ from their defaults."""
        return {f.name: value for f in fields(self) if (value := getattr(self, f.name)) != f.default}


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


def options_of(trace: Trace) -> CompileOptions:
    """The options that make a trace anew, rules that its preset has and it has not being switched off."""
    if trace.is_tensor:  # it has a pipeline of its own
        return CompileOptions()
    from explorer.optimize import preset_named

    given: Mapping[str, Any] = trace.options
    preset = preset_named(given["preset"])
    return CompileOptions(
        preset=given["preset"],
        semiring=given["semiring"],
        optimize=given["optimize"],
        fold=given["fold"],
        strategy=given["strategy"],
        disable=tuple(name for name in preset.rules.names if name not in given["rules"]),
        skip=tuple(given.get("skip", ())),
        max_rounds=None if given["max_rounds"] == preset.max_rounds else given["max_rounds"],
        levels=None if given["levels"] == preset.levels else given["levels"],
        seed=given["seed"],
    )
