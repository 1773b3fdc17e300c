"""Records of kernel calls in a trace: name, drawing, formula and origin."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from explorer.graph import Graph
from explorer.runtime.plan import KernelCall, Kind, Plan
from explorer.runtime.recording.call_changes import shown
from explorer.runtime.work import FLOAT_BYTES, Work
from explorer.trace import LAYER, NodeKind, NodeRecord

TITLES: Mapping[Kind, tuple[str, NodeKind]] = {
    Kind.TABLE: ("Table", "input"),
    Kind.GAUSSIAN: ("Gaussian", "input"),
    Kind.DENSITY: ("Density", "input"),
    Kind.PRODUCT: ("Product", "product"),
    Kind.SUM: ("Sum", "sum"),
    Kind.MIXING: ("Mixing", "sum"),
    Kind.TUCKER: ("Tucker", "fused"),
    Kind.KRONECKER: ("Kronecker", "product"),
    Kind.TENSOR_DOT: ("TensorDot", "sum"),
    Kind.REARRANGE: ("Rearrange", "operator"),
}
"""The title and the look of a call that was not combined with others."""

COMBINED: Mapping[Kind, str] = {
    Kind.TABLE: "Table",
    Kind.GAUSSIAN: "Product of Gaussians",
    Kind.SUM: "Sum of products",
    Kind.MIXING: "Mixing of products",
}


@dataclass
class KernelRecords:
    """Records of calls by what they show, so that a call that did not change has the same record in all steps."""

    rows: int
    _known: dict[tuple[object, ...], NodeRecord] = field(default_factory=dict[tuple[object, ...], NodeRecord])

    def graph_of(self, plan: Plan, work: Mapping[int, Work]) -> Graph[NodeRecord]:
        """The calls that are computed and the tables that they read, with a record of each; `work` is by call."""
        reads = shown(plan)
        nodes = {number: self._of(plan, plan.calls[number], work.get(number)) for number in reads}
        return Graph[NodeRecord](nodes, reads, tuple(dict.fromkeys(plan.outputs)))

    def _of(self, plan: Plan, call: KernelCall, work: Work | None) -> NodeRecord:
        flops = 0 if work is None else round(work.flops)
        in_units = plan.calls[call.inputs[0]].width if call.inputs else 0
        key = (call.kind, call.width, call.sources, call.terms, len(call.inputs), call.variables, in_units)
        if key not in self._known:
            self._known[key] = self._record(call, in_units, flops)
        return self._known[key]

    def _record(self, call: KernelCall, in_units: int, flops: int) -> NodeRecord:
        title, kind = TITLES[call.kind]
        if is_combined(call):
            title, kind = COMBINED[call.kind], kind if call.kind is Kind.TABLE else "fused"
        layers = list(dict.fromkeys(source.layer for source in call.sources))
        paths = [f"{LAYER}.{layer}" for layer in layers]
        about: dict[str, Any] = {"module": ", ".join(paths), "folds": [one.fold for one in call.sources]}
        several = {"modules": paths} if len(paths) > 1 else {}
        config: dict[str, Any] = {
            "results": [value_type(call, self.rows)],
            "bytes": FLOAT_BYTES * call.width * self.rows if call.kind is not Kind.TABLE else 0,
        }
        if call.inputs and call.kind is not Kind.TABLE:
            factors = len(call.inputs) // call.terms
            config |= {"terms": call.terms, "factors": factors, "num_input_units": in_units, "arity": len(call.inputs)}
        if call.kind is not Kind.TABLE:
            config["flops"] = flops
        reads_nothing = not call.inputs or call.kind is Kind.TABLE
        scope = (call.variables,) if reads_nothing else None
        return NodeRecord(call.kind.value, 1, config, scope, about={**about, **several}, kind=kind, title=title)


def titles_of(kind: Kind) -> tuple[str, ...]:
    """The titles that calls of a kind may have."""
    return tuple(dict.fromkeys((TITLES[kind][0], COMBINED.get(kind, TITLES[kind][0]))))


def is_combined(call: KernelCall) -> bool:
    """Whether a pass has made one call of several."""
    match call.kind:
        case Kind.TABLE:
            return bool(call.inputs)
        case Kind.GAUSSIAN:
            return len(call.sources) > 1
        case Kind.SUM | Kind.MIXING:
            return len(call.inputs) > call.terms
        case _:
            return False


def value_type(call: KernelCall, rows: int) -> str:
    """The type of the values of a call for a tile of rows."""
    return f"f32[{rows},{call.width}]"
