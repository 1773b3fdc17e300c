"""Records of kernel calls in a trace (name, drawing, formula and origin), and the changes by a pass."""

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Any

from explorer.graph import Graph
from explorer.runtime.plan import KernelCall, Kind, Plan
from explorer.runtime.work import FLOAT_BYTES, Work
from explorer.trace import LAYER, NodeKind, NodeRecord


@dataclass(frozen=True, slots=True)
class Replacement:
    """Kernel calls that were replaced, the root first, by others; the last of these has the value of the root."""

    removed: tuple[int, ...]
    added: tuple[int, ...]
    about: tuple[int, ...] = ()
    """The calls concerned if nothing was removed: a change of order, or of slots."""

    @property
    def matched(self) -> tuple[int, ...]:
        """The calls that a pass has found, the root first."""
        return self.removed or self.about


def shown(plan: Plan) -> Mapping[int, tuple[int, ...]]:
    """The calls of the graph of a step, each with those that it reads: what is computed, and the tables that are read.

    A table that other tables were made of is a part of these.
    """
    tables: dict[int, tuple[int, ...]] = dict.fromkeys(plan.read_tables, ())
    return tables | {number: call.inputs for number, call in plan.computed()}


def fresh_numbers(before: Plan, after: Plan, fresh: Callable[[], int]) -> Mapping[int, int]:
    """For each call after a pass its number, or, if it computes something else than before, one that nothing had.

    A pass replaces a call under its number; in a trace, a number means one call.
    """
    return {
        number: number if _computes_the_same(before.calls.get(number), call) else fresh()
        for number, call in after.calls.items()
    }


def renumbered(plan: Plan, names: Mapping[int, int]) -> Plan:
    """The same calls under other numbers."""
    return Plan(
        {names[number]: _renamed(call, names) for number, call in plan.calls.items()},
        tuple(names[one] for one in plan.outputs),
        {names[number]: slot for number, slot in plan.slots.items()},
    )


def replacements(before: Plan, after: Plan, names: Mapping[int, int]) -> Iterator[Replacement]:
    """Return the replacements; `names` has the number after the pass of calls that existed before it."""
    old, new = shown(before), shown(after)
    old_number = {name: number for number, name in names.items() if number in old}
    rooted = {old_number[name] for name in new if name in old_number}
    absorbed = {number for number in old if number not in new and number not in rooted}
    parts = {name for name in new if name not in old_number}
    left = dict.fromkeys(absorbed)
    for name in new:
        if name in old or name in parts:
            continue
        root = old_number[name]
        added = (*_reached(new, name, parts), name)
        parts.difference_update(added)
        taken = _reached(old, root, absorbed)
        for one in taken:
            left.pop(one, None)
        yield Replacement((root, *taken), added)
    for number in left:
        yield Replacement((number,), ())


def _reached(reads: Mapping[int, tuple[int, ...]], number: int, among: Set[int]) -> list[int]:
    """The calls among some that a call reads, directly or through others of them, each after those that it reads."""
    found: dict[int, None] = {}
    waiting = [(one, False) for one in reversed(reads[number])]
    while waiting:
        one, is_ready = waiting.pop()
        if one not in among or one in found:
            continue
        if is_ready:
            found[one] = None
        else:
            waiting.append((one, True))
            waiting.extend((below, False) for below in reversed(reads[one]))
    return list(found)


def _computes_the_same(one: KernelCall | None, other: KernelCall) -> bool:
    """Whether two calls differ in what they read at most, not in how much."""
    if one is None or one is other:
        return one is other
    return len(one.inputs) == len(other.inputs) and replace(one, inputs=()) == replace(other, inputs=())


def _renamed(call: KernelCall, names: Mapping[int, int]) -> KernelCall:
    inputs = tuple(names[one] for one in call.inputs)
    return call if inputs == call.inputs else replace(call, inputs=inputs)


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
