"""Records of units in a trace: name, drawing, formula and origin."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from explorer.graph import Graph
from explorer.runtime.recording.changes import shown
from explorer.runtime.units import KernelCall, Kind, Plan
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
"""The title and the look of a unit that was not combined with others."""

COMBINED: Mapping[Kind, str] = {
    Kind.TABLE: "Table",
    Kind.GAUSSIAN: "Product of Gaussians",
    Kind.SUM: "Sum of products",
    Kind.MIXING: "Mixing of products",
}


@dataclass
class KernelRecords:
    """Records of units by what they show, so that a unit that did not change has the same record in all steps."""

    rows: int
    _known: dict[tuple[object, ...], NodeRecord] = field(default_factory=dict[tuple[object, ...], NodeRecord])

    def graph_of(self, units: Plan, work: Mapping[int, Work]) -> Graph[NodeRecord]:
        """The units that are computed and the tables that they read, with a record of each; `work` is that of units."""
        reads = shown(units)
        nodes = {number: self._of(units, units.calls[number], work.get(number)) for number in reads}
        return Graph[NodeRecord](nodes, reads, tuple(dict.fromkeys(units.outputs)))

    def _of(self, units: Plan, unit: KernelCall, work: Work | None) -> NodeRecord:
        flops = 0 if work is None else round(work.flops)
        in_units = units.calls[unit.inputs[0]].width if unit.inputs else 0
        key = (unit.kind, unit.width, unit.sources, unit.terms, len(unit.inputs), unit.variables, in_units)
        if key not in self._known:
            self._known[key] = self._record(unit, in_units, flops)
        return self._known[key]

    def _record(self, unit: KernelCall, in_units: int, flops: int) -> NodeRecord:
        title, kind = TITLES[unit.kind]
        if is_combined(unit):
            title, kind = COMBINED[unit.kind], kind if unit.kind is Kind.TABLE else "fused"
        layers = list(dict.fromkeys(source.layer for source in unit.sources))
        paths = [f"{LAYER}.{layer}" for layer in layers]
        about: dict[str, Any] = {"module": ", ".join(paths), "folds": [one.fold for one in unit.sources]}
        several = {"modules": paths} if len(paths) > 1 else {}
        config: dict[str, Any] = {
            "results": [value_type(unit, self.rows)],
            "bytes": FLOAT_BYTES * unit.width * self.rows if unit.kind is not Kind.TABLE else 0,
        }
        if unit.inputs and unit.kind is not Kind.TABLE:
            factors = len(unit.inputs) // unit.terms
            config |= {"terms": unit.terms, "factors": factors, "num_input_units": in_units, "arity": len(unit.inputs)}
        if unit.kind is not Kind.TABLE:
            config["flops"] = flops
        reads_nothing = not unit.inputs or unit.kind is Kind.TABLE
        scope = (unit.variables,) if reads_nothing else None
        return NodeRecord(unit.kind.value, 1, config, scope, about={**about, **several}, kind=kind, title=title)


def titles_of(kind: Kind) -> tuple[str, ...]:
    """The titles that units of a kind may have."""
    return tuple(dict.fromkeys((TITLES[kind][0], COMBINED.get(kind, TITLES[kind][0]))))


def is_combined(unit: KernelCall) -> bool:
    """Whether a pass has made one unit of several."""
    match unit.kind:
        case Kind.TABLE:
            return bool(unit.inputs)
        case Kind.GAUSSIAN:
            return len(unit.sources) > 1
        case Kind.SUM | Kind.MIXING:
            return len(unit.inputs) > unit.terms
        case _:
            return False


def value_type(unit: KernelCall, rows: int) -> str:
    """The type of the values of a unit for a tile of rows."""
    return f"f32[{rows},{unit.width}]"
