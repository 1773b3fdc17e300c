"""The instructions that run, and the views and inputs that they read, as the graph of a trace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from explorer.graph import Graph
from explorer.program.ir.instructions import Call, Copy, Instruction, Role, Stack, View, Way, Weight, runs
from explorer.program.ir.program import Program
from explorer.program.ir.spans import fills
from explorer.tensor.ir.variables import SourceLocation
from explorer.tensor.recording.tensor_snapshot import look_of, plain_setting
from explorer.trace import NodeRecord

Source = Instruction | Weight


@dataclass
class RecordCache:
    """Records of instructions by what they show, so that one that did not change is the same object in all steps."""

    locations: Mapping[int, SourceLocation] = field(default_factory=dict[int, SourceLocation])
    """Places in the user's program of the operators of the lowered graph, by number."""
    _records: dict[Any, NodeRecord] = field(default_factory=dict[Any, NodeRecord])

    def of(self, program: Program, one: Source) -> NodeRecord:
        """The record of an instruction or an input."""
        values = _shown_values(program, one)
        key = (one, values)
        if key not in self._records:
            found = [self.locations[of] for of in _numbers(one) if of in self.locations]
            self._records[key] = replace(_record(program, one, values), about=_about(found))
        return self._records[key]


@dataclass(frozen=True, slots=True)
class Links:
    """The numbers of what computes, each with those that it reads, and of what the outputs read."""

    inputs: Mapping[int, tuple[int, ...]]
    outputs: tuple[int, ...]


def graph_of(program: Program, links: Links, cache: RecordCache) -> Graph[NodeRecord]:
    """The graph of what computes, with a record of each node.

    Allocations and deallocations are in the record of the memory; parameters and buffers are named in the configs.
    """
    sources: dict[int, Source] = {weight.id: weight for weight in program.weights}
    sources |= {one.id: one for one in program.instructions}
    nodes = {number: cache.of(program, sources[number]) for number in links.inputs}
    return Graph[NodeRecord](nodes, links.inputs, links.outputs)


def links_of(program: Program) -> Links:
    """Links between instructions that compute: from each writer (or view) of a buffer to its readers."""
    given = (*program.with_role(Role.INPUT), *program.with_role(Role.TANGENT))
    inputs: dict[int, tuple[int, ...]] = {weight.id: () for weight in given}
    writers: dict[int, list[int]] = {origin: [origin] for origin in inputs}
    made_after: dict[int, int] = {}
    """Number of writes of its memory before a view."""
    counts: dict[int, int] = {}

    def provided_by(value: int) -> list[int]:
        origin = program.origin(value)
        if value in made_after and made_after[value] == counts.get(origin, 0):
            return [value]
        return writers.get(origin, [])

    for one in program.instructions:
        if isinstance(one, View):
            inputs[one.id] = tuple(provided_by(one.source))
            made_after[one.id] = counts.get(program.origin(one.id), 0)
        elif runs(one):
            inputs[one.id] = tuple(source for value in one.values_read for source in provided_by(value))
            for value in dict.fromkeys(one.values_written):
                origin = program.origin(value)
                counts[origin] = counts.get(origin, 0) + 1
                known = [] if fills(program, value) else writers.get(origin, [])
                writers[origin] = [*known, one.id]
    returned = (*program.with_role(Role.OUTPUT), *program.with_role(Role.GRADIENT))
    outputs = [writer for weight in returned for writer in writers.get(weight.id, [])]
    return Links(_read_part(program, inputs), tuple(outputs))


def _read_part(program: Program, inputs: Mapping[int, tuple[int, ...]]) -> dict[int, tuple[int, ...]]:
    """Instructions that compute, without views that nothing reads."""
    needed: set[int] = set()
    for number in reversed(list(inputs)):
        one = program.instructions[program.positions[number]] if number in program.positions else None
        if not isinstance(one, View) or number in needed:
            needed |= {number, *inputs[number]}
    return {number: sources for number, sources in inputs.items() if number in needed}


def _numbers(one: Source) -> tuple[int, ...]:
    """The numbers of the operators that an instruction is."""
    return tuple(call.id for call in one.calls) if isinstance(one, Stack) else (one.id,)


def _about(locations: Sequence[SourceLocation]) -> dict[str, Any]:
    """Return the place of an instruction in the user's program: modules and source lines."""
    modules, lines = (
        list(dict.fromkeys(filter(None, texts)))
        for texts in ([one.module for one in locations], [one.line for one in locations])
    )
    several = {"modules": modules} if len(modules) > 1 else {}
    known = {"module": ", ".join(modules), "source": ", ".join(lines)}
    return {**{name: text for name, text in known.items() if text}, **several}


def _shown_values(program: Program, one: Source) -> tuple[str, ...]:
    """Say in words which buffers an instruction reads and writes."""
    if isinstance(one, Weight):
        return ()
    if isinstance(one, View):
        return (_value_text(program, one.source),)
    return (
        *(_value_text(program, value) for value in one.values_read),
        *(_value_text(program, v) for v in one.values_written),
    )


def _value_text(program: Program, value: int) -> str:
    """A value by the weight or buffer that it is in: `buffer 12`, `weight fc.bias`."""
    origin = program.definitions[program.origin(value)]
    place = f"{origin.role.value} {origin.name}" if isinstance(origin, Weight) else f"buffer {origin.id}"
    kind = program.definitions[value].type
    part = "" if kind.is_same(origin.type) else "part of "
    return f"{part}{place}: {kind}"


def _record(program: Program, one: Source, values: tuple[str, ...]) -> NodeRecord:
    match one:
        case Weight():
            name = f"tangent of {one.name}" if one.role is Role.TANGENT else one.name
            config = {"name": name, "results": [str(one.type)], "bytes": one.type.size_bytes}
            return NodeRecord("Input", 1, config, scope=(), kind="input")
        case View():
            config = {"reads": list(values), "results": [str(one.type)], "bytes": 0}
            title = one.label or "view"
            return NodeRecord(
                f"View.{title}", 1, {**config, "offset_bytes": one.offset_bytes}, kind="view", title=title
            )
        case Copy():
            return NodeRecord("Copy", 1, _config(program, one, values), kind="view", title="copy")
        case Stack():
            title = "+".join(call.op.name for call in one.calls)
            return NodeRecord(f"Stack.{title}", 1, _config(program, one, values), title=title)
        case Call():
            config = {name: plain_setting(value) for name, value in one.op.settings.items()}
            kind = str(one.op.target).replace("::", ".")
            way = {} if one.way is Way.OUT else {"written": one.way.value}
            config |= _config(program, one, values) | way
            look, title = look_of(one.op.target)
            return NodeRecord(kind, 1, config, kind=look, title=title)
        case _:
            raise TypeError(f"{one} is no node of a graph")


def _config(program: Program, one: Call | Copy | Stack, values: tuple[str, ...]) -> dict[str, Any]:
    written = [program.definitions[value].type for value in one.values_written]
    count = len(one.values_read)
    return {
        "reads": list(values[:count]),
        "writes": list(values[count:]),
        "results": [str(kind) for kind in written],
        "bytes": sum(kind.size * kind.dtype.itemsize for kind in written),
    }
