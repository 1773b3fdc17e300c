"""Pipelines: the passes to run, in order, and how each is run."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from explorer.errors import ValueRangeError
from explorer.passes import Listed


class ConvergenceMode(Enum):
    """Whether a pass is run once, or repeatedly until it changes nothing."""

    ONE_PASS = "one_pass"
    UNTIL_FIXED_POINT = "until_fixed_point"


class DCERequiredMode(Enum):
    """Whether dead code is eliminated before a pass, so that users are counted correctly."""

    BEFORE_PASS = "before_pass"
    NONE = "none"


class CompilationMode(Enum):
    """Whether the graph is compiled for inference or for training."""

    INFER = "infer"
    TRAIN = "train"


EMPTY_PASS = "EmptyPass"
DCE_PASS = "DCE"


@dataclass(frozen=True, slots=True)
class FunctionPassConfig:
    """One entry of a pipeline: which pass, how often, in which modes, and whether after dead code elimination."""

    pass_id: str = EMPTY_PASS
    convergence: ConvergenceMode = ConvergenceMode.ONE_PASS
    modes: Collection[CompilationMode] = frozenset(CompilationMode)
    dce: DCERequiredMode = DCERequiredMode.BEFORE_PASS

    def __post_init__(self) -> None:
        object.__setattr__(self, "modes", frozenset(self.modes))
        if self.pass_id == DCE_PASS and self.dce is not DCERequiredMode.NONE:
            raise ValueRangeError("the pass DCE cannot require DCE before it; use dce=DCERequiredMode.NONE")

    def __str__(self) -> str:
        modes = ", ".join(mode.value for mode in CompilationMode if mode in self.modes) or "no mode"
        return f"{self.pass_id}: {self.convergence.value}, {modes}, dce {self.dce.value}"


@dataclass(frozen=True, slots=True)
class FunctionPassPipeline:
    """Passes in execution order. It is immutable: every method returns a new pipeline."""

    configs: tuple[FunctionPassConfig, ...] = ()

    @classmethod
    def of(cls, *entries: "FunctionPassConfig | str") -> "FunctionPassPipeline":
        """A pipeline of configurations; a name means the pass with all defaults."""
        return cls(tuple(_config(entry) for entry in entries))

    @classmethod
    def of_listed(
        cls, entries: Iterable[Listed], dce: DCERequiredMode = DCERequiredMode.BEFORE_PASS
    ) -> "FunctionPassPipeline":
        """The pipeline of entries of the page of all passes; the pass DCE never requires itself."""
        repeat, once = ConvergenceMode.UNTIL_FIXED_POINT, ConvergenceMode.ONE_PASS
        return cls(
            tuple(
                FunctionPassConfig(
                    entry.name,
                    repeat if entry.repeats else once,
                    frozenset(CompilationMode) if entry.trains else frozenset((CompilationMode.INFER,)),
                    DCERequiredMode.NONE if entry.name == DCE_PASS else dce,
                )
                for entry in entries
            )
        )

    def insert(self, position: int, entry: "FunctionPassConfig | str") -> "FunctionPassPipeline":
        """Add a pass at a position. Raises: ValueRangeError."""
        if not 0 <= position <= len(self.configs):
            raise ValueRangeError(f"position: expected 0 to {len(self.configs)}, got {position}")
        return FunctionPassPipeline((*self.configs[:position], _config(entry), *self.configs[position:]))

    @property
    def pass_ids(self) -> tuple[str, ...]:
        """The names of the passes, in order, without repetitions."""
        return tuple(dict.fromkeys(config.pass_id for config in self.configs))

    def text(self) -> str:
        """One numbered line per entry."""
        return "\n".join(f"{i}. {config}" for i, config in enumerate(self.configs))

    def __add__(self, other: "FunctionPassPipeline") -> "FunctionPassPipeline":
        return FunctionPassPipeline((*self.configs, *other.configs))

    def __iter__(self) -> Iterator[FunctionPassConfig]:
        return iter(self.configs)

    def __len__(self) -> int:
        return len(self.configs)

    def __getitem__(self, position: int) -> FunctionPassConfig:
        return self.configs[position]


def _config(entry: "FunctionPassConfig | str") -> FunctionPassConfig:
    if isinstance(entry, FunctionPassConfig):
        return entry
    dce = DCERequiredMode.NONE if entry == DCE_PASS else DCERequiredMode.BEFORE_PASS
    return FunctionPassConfig(entry, dce=dce)
