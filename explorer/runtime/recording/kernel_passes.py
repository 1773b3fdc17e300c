"""The passes on kernel calls by name, the pipeline that `fast()` runs, and the driver that applies them."""

from collections.abc import Callable

from explorer.errors import GraphError
from explorer.levels import Kept, Outcome, StatePass, StateRecording, WorkingState
from explorer.passes import PASSES as LISTED
from explorer.rewrite import DCERequiredMode, Exactness, FunctionPassPipeline, PassRegistry
from explorer.runtime.plan import PASSES, Plan, PlanPass, ReportSkipped
from explorer.runtime.recording.call_changes import Replacement, fresh_numbers, renumbered, replacements
from explorer.runtime.recording.kernel_records import titles_of
from explorer.trace import KERNELS
from explorer.trace.reasons import ANY_OPERATOR, OR


class WorkingKernels(WorkingState[Plan]):
    """The kernel calls that passes change. A number means one call, and is never used again for another one."""

    def __init__(self, plan: Plan, recording: StateRecording[Plan] | None = None) -> None:
        super().__init__(plan, max(plan.calls, default=-1) + 1, recording)

    def look(self, rule: Callable[[Plan, ReportSkipped], Plan]) -> Outcome[Plan]:
        kept: list[Kept] = []
        before = self.state
        after = rule(before, lambda number, reason: kept.append(Kept(number, reason)))
        names = fresh_numbers(before, after, self.fresh.__next__)
        after = renumbered(after, names)
        done = list(replacements(before, after, names))
        if not done and (list(before.calls) != list(after.calls) or before.slots != after.slots):
            done = [Replacement((), (), after.outputs[:1])]
        return Outcome(after if done else before, done, kept)

    def verify(self) -> None:
        """Raises: GraphError if a kernel call reads a later one, or a value that has been overwritten."""
        plan = self.state
        seen: set[int] = set()
        holds: dict[int, int] = {}
        for number, call in plan.calls.items():
            for one in call.inputs:
                if one not in seen:
                    raise GraphError(f"kernel call {number} reads {one}, which is not evaluated before it")
                if one in plan.slots and holds[plan.slots[one]] != one:
                    raise GraphError(f"kernel call {number} reads {one}, whose slot has another value by then")
            seen.add(number)
            if number in plan.slots:
                holds[plan.slots[number]] = number
        for one in plan.outputs:
            if one not in seen or (one in plan.slots and holds[plan.slots[one]] != one):
                raise GraphError(f"the output {one} is not evaluated, or its slot has another value in the end")

    def __len__(self) -> int:
        return len(self.state)


def _pass_of(name: str, made: PlanPass) -> StatePass:
    titles = [title for kind in made.looks_at for title in titles_of(kind)]
    return StatePass(name, made.change, KERNELS, Exactness.REAL, OR.join(titles) or ANY_OPERATOR)


passes: PassRegistry[WorkingKernels] = PassRegistry({name: _pass_of(name, one) for name, one in PASSES.items()})
"""All passes on kernel calls."""

KERNELS_PIPELINE = FunctionPassPipeline.of_listed(LISTED[KERNELS], DCERequiredMode.NONE)
"""All passes in their order."""
