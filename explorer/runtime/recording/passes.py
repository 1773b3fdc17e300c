"""The passes on units by name, and the pipeline that `fast()` runs."""

from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import getdoc
from types import FunctionType

from explorer.rewrite import (
    CompilationMode,
    ConvergenceMode,
    DCERequiredMode,
    FunctionPassConfig,
    FunctionPassPipeline,
    PassRegistry,
    source_of_function,
)
from explorer.runtime.recording.working import WorkingUnits
from explorer.runtime.units import PASSES, Units
from explorer.runtime.units.observing import Leave


@dataclass(frozen=True)
class UnitsPass:
    """A named pass with one rule of the same name."""

    name: str
    change: Callable[[Units, Leave], Units] = field(compare=False)

    @property
    def doc(self) -> str:
        """What it does, in one sentence."""
        return (getdoc(self.change) or "").partition("\n")[0]

    @property
    def source(self) -> str:
        """Where it is written."""
        return source_of_function(self.change) if isinstance(self.change, FunctionType) else ""

    def rule_names(self) -> tuple[str, ...]:
        """Its rule."""
        return (self.name,)

    def run(self, graph: WorkingUnits, mode: CompilationMode = CompilationMode.INFER) -> None:
        """Look at all units once, and change them."""
        graph.apply(self.name, self.change)

    def remaining_changes(self, graph: WorkingUnits) -> None:
        """Nothing: a pass that ran once finds nothing more to do."""


passes: PassRegistry[WorkingUnits] = PassRegistry({name: UnitsPass(name, change) for name, change in PASSES.items()})
"""All passes on units."""

UNITS_PIPELINE = FunctionPassPipeline(
    tuple(FunctionPassConfig(name, ConvergenceMode.ONE_PASS, dce=DCERequiredMode.NONE) for name in PASSES)
)
"""All passes in their order."""
