"""A circuit that is run by the kernel calls of a step, planned as far as they are."""

from torch import Tensor

from explorer.backend import EvaluatedCircuit, TorchCircuit
from explorer.errors import LoweringError
from explorer.runtime.backends import Choice
from explorer.runtime.circuit import FastCircuit
from explorer.runtime.native.native_program import NativeProgram
from explorer.runtime.plan import Plan
from explorer.runtime.plan.order import with_slots


class StepBackend:
    """The native kernels on given calls. Values that have no slots yet get them, in the order of the calls."""

    name = "native"
    trains = False

    def __init__(self, circuit: EvaluatedCircuit, plan: Plan) -> None:
        self.program = NativeProgram(circuit, plan if plan.slots else with_slots(plan))
        if reason := self.program.why_not():
            raise LoweringError(reason)

    def describe(self) -> str:
        """The plan."""
        return repr(self.program.plan)

    def why_not(self, x: Tensor) -> str:
        """Return the reason why it cannot answer a call with x; empty if it can."""
        return "" if x.device.type == "cpu" else "the kernels run on the CPU"

    def remark(self) -> str:
        """Return no remark: nothing happens later."""
        return ""

    def evaluate(self, x: Tensor) -> tuple[Tensor, int] | None:
        """The outputs (B, outputs, classes), and how many rows were not certified."""
        return None if self.why_not(x) else self.program.evaluate(x)


def run_plan(circuit: EvaluatedCircuit, plan: Plan) -> FastCircuit:
    """The circuit with its present parameters, run by a plan. Raises: LoweringError if the kernels cannot run it."""
    snapshot = circuit.freeze() if isinstance(circuit, TorchCircuit) else circuit
    return FastCircuit(
        snapshot, StepBackend(snapshot, plan), (Choice("native", "used: the kernel calls of this step"),)
    )
