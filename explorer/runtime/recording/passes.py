"""The passes on units by name, and the pipeline that `fast()` runs."""

from explorer.levels import StatePass
from explorer.passes import PASSES as LISTED
from explorer.rewrite import DCERequiredMode, Exactness, FunctionPassPipeline, PassRegistry
from explorer.runtime.recording.records import titles_of
from explorer.runtime.recording.working import WorkingKernels
from explorer.runtime.units import PASSES, UnitsPass
from explorer.trace import KERNELS
from explorer.trace.reasons import ANY_OPERATOR, OR


def _pass_of(name: str, made: UnitsPass) -> StatePass:
    titles = [title for kind in made.looks_at for title in titles_of(kind)]
    return StatePass(name, made.change, KERNELS, Exactness.REAL, OR.join(titles) or ANY_OPERATOR)


passes: PassRegistry[WorkingKernels] = PassRegistry({name: _pass_of(name, one) for name, one in PASSES.items()})
"""All passes on units."""

KERNELS_PIPELINE = FunctionPassPipeline.of_listed(LISTED[KERNELS], DCERequiredMode.NONE)
"""All passes in their order."""
