"""The passes on units by name, and the pipeline that `fast()` runs."""

from dataclasses import dataclass, field
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
from explorer.runtime.units import PASSES, UnitsPass


@dataclass(frozen=True)
class RecordedPass:
    """A named pass with one rule of the same name."""

    name: str
    made: UnitsPass = field(compare=False)

    @property
    def doc(self) -> str:
        """What it does, in one sentence."""
        return self.made.doc

    @property
    def source(self) -> str:
        """Where it is written."""
        change = self.made.change
        return source_of_function(change) if isinstance(change, FunctionType) else ""

    def rule_names(self) -> tuple[str, ...]:
        """Its rule."""
        return (self.name,)

    def run(self, graph: WorkingUnits, mode: CompilationMode = CompilationMode.INFER) -> None:
        """Look at all units once, and change them."""
        graph.apply(self.name, self.made.change)

    def remaining_changes(self, graph: WorkingUnits) -> None:
        """Nothing: a pass that ran once finds nothing more to do."""


passes: PassRegistry[WorkingUnits] = PassRegistry({name: RecordedPass(name, one) for name, one in PASSES.items()})
"""All passes on units."""

UNITS_PIPELINE = FunctionPassPipeline(
    tuple(FunctionPassConfig(name, ConvergenceMode.ONE_PASS, dce=DCERequiredMode.NONE) for name in PASSES)
)
"""All passes in their order."""
