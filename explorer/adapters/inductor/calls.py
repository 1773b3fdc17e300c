"""The states behind lowering: loops and library calls, fused round by round, and the functions that run them."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from torch import fx, nn

from explorer.adapters.inductor.fx_states import VIEW, FxStates, module_of, roots_of, source_of, title_of
from explorer.adapters.inductor.heard import ITEM, HeardKernel, HeardNode, HeardScheduling, in_part
from explorer.adapters.inductor.marks import MarkedCall, MarkedCode
from explorer.adapters.snapshot import (
    MAX_NAMES,
    NO_CALLS,
    Mark,
    WatchedSnapshot,
    distinct,
    parameter_record,
    size_of,
    title_of_call,
)
from explorer.adapters.timeline import Parts, changes_of
from explorer.graph import Graph, topological_order
from explorer.levels import Change
from explorer.tensor.recording.tensor_snapshot import kind_of
from explorer.trace import NodeKind, NodeRecord

CALL = "call "
RESULT = ""
"""The reader of the outputs, behind all nodes."""
NO_WORK = ("NopKernelSchedulerNode", ITEM)


@dataclass(eq=False)
class Calls:
    """Makes states of groups of scheduler nodes. A group has one number as long as it has the same nodes."""

    scheduling: HeardScheduling
    states: FxStates
    graph: fx.Graph
    """The FX graph that was lowered; the inputs keep their numbers."""
    captured: Mapping[str, fx.Node]
    """The captured nodes by name."""
    part: str = ""
    numbers: dict[str, int] = field(default_factory=dict[str, int])
    outputs: tuple[int | None, ...] = ()
    """The numbers of the buffers that the last state returned, None for parameters."""

    @cached_property
    def nodes(self) -> Mapping[str, HeardNode]:
        """The scheduler's nodes by name."""
        return {node.name: node for node in self.scheduling.nodes}

    @cached_property
    def operators(self) -> Mapping[str, fx.Node]:
        """The nodes of the lowered graph by name."""
        return {node.name: node for node in self.graph.nodes if node.op != "output"}

    @cached_property
    def sources(self) -> Mapping[str, Mapping[str, str]]:
        """For each scheduler node and buffer that it reads, the node that wrote it last; none for inputs."""
        written: dict[str, str] = {}
        found: dict[str, dict[str, str]] = {}
        for node in self.scheduling.nodes:
            found[node.name] = {name: written[name] for name in node.reads if name in written}
            written |= dict.fromkeys(node.writes, node.name)
        found[RESULT] = written
        return found

    @cached_property
    def computes(self) -> Mapping[str, list[str]]:
        """The operators that each scheduler node computes.

        Origins name more: those of a library call also what its inputs were made of, and so do those of a copy that
        prepares such an input.
        """
        place = {name: number for number, name in enumerate(self.operators)}
        called = {node.origin for node in self.scheduling.nodes if node.is_extern}
        found: dict[str, list[str]] = {}
        for node in self.scheduling.nodes:
            known = sorted((one for one in node.origins if one in place), key=place.__getitem__)
            working = [one for one in known if not self._moves_nothing(one)] or known
            if node.is_extern:
                found[node.name] = [node.origin] if node.origin in place else working[-1:]
            elif working and working[-1] in called:
                found[node.name] = []
            else:
                found[node.name] = [one for one in working if one not in called]
        return found

    def _moves_nothing(self, name: str) -> bool:
        record = self.states.records.get(name)
        return record is None or record.kind in ("view", "input")

    def number_of(self, name: str) -> int:
        """The number of a group by the name of its node."""
        if name not in self.numbers:
            self.numbers[name] = self.states.fresh()
        return self.numbers[name]

    # ------------------------------------------------------------------ states

    def state_of(
        self, names: Sequence[str], module: Callable[[], nn.Module] | None, kernels: Sequence[HeardKernel] = ()
    ) -> WatchedSnapshot:
        """The state with some groups, in order; `kernels` are those that are functions by now."""
        functions = {kernel_key(kernel): kernel for kernel in kernels}
        members = {name: ordered_parts(name, self.nodes) for name in names}
        home = {part: name for name, parts in members.items() for part in parts}
        order = self._sorted(members, home, self.scheduling.order if functions else ())
        nodes: dict[int, NodeRecord] = {}
        inputs: dict[int, tuple[int, ...]] = {}
        by_input: dict[str, int] = {}
        for name in self.scheduling.inputs:
            if name in self.states.numbers:
                by_input[name] = number = self.states.numbers[name]
                nodes[number], inputs[number] = self.states.records[name], ()
        for name in order:
            number = self.number_of(name)
            reads, read_parameters = self._reads(members[name], home)
            found = [by_input[one] if group is None else self.number_of(group) for one, group in reads]
            buffers = list(dict.fromkeys(one for one, _ in reads))
            nodes[number] = self._record(members[name], buffers, read_parameters, home, functions.get(name))
            inputs[number] = tuple(dict.fromkeys(found))
        self.outputs = tuple(self._output(name, by_input, home) for name in self.scheduling.outputs)
        lines = {
            self.number_of(name): f"{kernel.name}({name})" for name, kernel in functions.items() if name in members
        }
        graph = Graph[NodeRecord](nodes, inputs, tuple(one for one in self.outputs if one is not None))
        in_order = {name: members[name] for name in order}
        marks = self._marks(nodes, in_order, functions) if functions and module is not None else None
        return WatchedSnapshot(graph, module, "the program cannot be run up to here by itself", lines, marks)

    def _marks(
        self, nodes: Mapping[int, NodeRecord], members: Mapping[str, list[str]], functions: Mapping[str, HeardKernel]
    ) -> Callable[[Mark], AbstractContextManager[None]] | None:
        """Mark the calls of the generated code, if it was heard."""
        scheduling = self.scheduling
        if scheduling.module is None:
            return None
        calls = [
            MarkedCall(
                self.number_of(name),
                functions[name].name if name in functions else "",
                distinct(buffer for part in parts for buffer in self.nodes[part].writes),
            )
            for name, parts in members.items()
            if nodes[self.number_of(name)].kind not in NO_CALLS
        ]
        return MarkedCode(scheduling.module, scheduling.code, calls).marked

    def _output(self, name: str, by_input: Mapping[str, int], home: Mapping[str, str]) -> int | None:
        written = self.sources[RESULT]
        return self.number_of(home[written[name]]) if name in written else by_input.get(name)

    def _sorted(self, members: Mapping[str, list[str]], home: Mapping[str, str], known: Sequence[str]) -> list[str]:
        """The groups in the known order of nodes, or in the one before fusion, each behind those that it reads."""
        order = distinct((*(part for name in known for part in ordered_parts(name, self.nodes)), *self.nodes))
        place = {name: number for number, name in enumerate(order)}
        names = sorted(members, key=lambda name: place[members[name][0]])
        number_of = {name: number for number, name in enumerate(names)}
        reads: dict[int, tuple[int, ...]] = {}
        for name, number in number_of.items():
            written_by = (home[writer] for part in members[name] for writer in self.sources[part].values())
            reads[number] = tuple(number_of[group] for group in dict.fromkeys(written_by) if group != name)
        return [names[number] for number in topological_order(reads, reads)]

    def _reads(self, parts: Sequence[str], home: Mapping[str, str]) -> tuple[list[tuple[str, str | None]], list[str]]:
        """The buffers that a group reads from memory, each with the group that wrote it, and the parameters."""
        mine = home[parts[0]]
        reads: dict[tuple[str, str | None], None] = {}
        parameters: dict[str, None] = {}
        for part in parts:
            for name in self.nodes[part].reads:
                writer = self.sources[part].get(name)
                if writer is None and not (name in self.scheduling.inputs and name in self.states.numbers):
                    parameters.setdefault(name)
                elif writer is None or home[writer] != mine:
                    reads.setdefault((name, None if writer is None else home[writer]))
        return list(reads), list(parameters)

    def _written(self, parts: Sequence[str], home: Mapping[str, str]) -> list[str]:
        """The buffers of a group that reach memory: outputs, and what another group reads."""
        mine = home[parts[0]]
        outputs = {*self.scheduling.outputs, *self.scheduling.inputs}
        return [
            name
            for name in self._every(parts)
            if name in outputs or any(home[part] != mine for part in self._readers.get(name, ()))
        ]

    def _every(self, parts: Sequence[str]) -> list[str]:
        """The buffers that nodes write, to memory or not; of a library call with several results those of these."""
        written = (name for part in parts for name in self.nodes[part].writes)
        return distinct(item for name in written for item in self._items.get(name, [name]))

    @cached_property
    def _items(self) -> Mapping[str, list[str]]:
        """The buffers of the results of each library call that has several, by the one that stands for all."""
        found: dict[str, list[str]] = {}
        for node in self.scheduling.nodes:
            if node.type == ITEM:
                found.setdefault(node.reads[0], []).extend(node.writes)
        return found

    @cached_property
    def _readers(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for node in self.scheduling.nodes:
            for name in node.reads:
                found.setdefault(name, []).append(node.name)
        return found

    # ------------------------------------------------------------------ records

    def _record(
        self,
        parts: Sequence[str],
        reads: Sequence[str],
        parameters: Sequence[str],
        home: Mapping[str, str],
        kernel: HeardKernel | None,
    ) -> NodeRecord:
        nodes = [self.nodes[part] for part in parts]
        operators = distinct(one for part in parts for one in self.computes[part])
        written = self._written(parts, home)
        types = self.scheduling.buffers
        first = next((one for one in nodes if one.is_extern), nodes[0])
        sources = [self._captured_of(one) for one in operators]
        modules = distinct(module_of(self.operators[one]) for one in operators)
        lines = distinct(source_of(one) for found in sources for one in found)
        config: dict[str, Any] = {
            "results": [str(types[name]) for name in written],
            "bytes": sum(size_of(types[name]) for name in written),
            "read_bytes": sum(size_of(types[name]) for name in reads),
            "parameter_bytes": sum(size_of(types[name]) for name in parameters),
            "operators": [title_of(self.operators[one]) for one in operators],
        }
        inside = [name for name in self._every(parts) if name not in written]
        unwritten = inside if kernel is None or self.scheduling.unwritten is None else self.scheduling.unwritten
        more = {
            "stays inside": [str(types[name]) for name in inside if name in unwritten],
            "kept in buffers": [str(types[name]) for name in inside if name not in unwritten],
            "library": first.library,
            "loops": distinct(node.loops for node in nodes),
            "reductions": [node.reduction for node in nodes if node.reduction],
        }
        about = {
            "training": ", ".join(distinct(self.states.marks.get(one, "") for one in operators)),
            "module": ", ".join(modules),
            "modules": modules if len(modules) > 1 else [],
            "source": "; ".join(lines[:MAX_NAMES]),
        }
        about = {"name": "_".join(in_part(self.part, part) for part in parts), "buffers": written, **_known(about)}
        if kernel is not None:
            about |= {"function": kernel.name, "code": kernel.source}
        kind: NodeKind = "matmul" if first.is_extern else "fused" if len(nodes) > 1 else "operator"
        if first.type in NO_WORK or (first.is_extern and not operators):
            kind = "view"
        named = {self.states.parameters.get(name, name): types[name] for name in parameters}
        records = {name: parameter_record(name, kind_of_value) for name, kind_of_value in named.items()}
        title = self._title(operators, sources) or (first.library.rpartition(".")[2] or "copy")
        name = VIEW * (kind == "view") + _type_of(nodes, kernel)
        return NodeRecord(name, 1, {**config, **_known(more)}, None, records, {}, about, kind, title)

    def _captured_of(self, operator: str) -> list[fx.Node]:
        return [self.captured[name] for name in roots_of(self.operators[operator]) if name in self.captured]

    def _title(self, operators: Sequence[str], sources: Sequence[Sequence[fx.Node]]) -> str:
        """The operators of the captured program that a call computes, or those of ATen where they are not known.

        What only prepares the inputs of a matrix product has its own name: the product is another call.
        """
        names: list[str] = []
        for one, found in zip(operators, sources, strict=True):
            own = title_of(self.operators[one])
            title = title_of(found[-1]) if found else own
            names.append(own if kind_of(title) == "matmul" and kind_of(own) != "matmul" else title)
        return title_of_call(names)

    # ------------------------------------------------------------------ changes

    def lowering(self, before: WatchedSnapshot, after: WatchedSnapshot) -> list[Change]:
        """The changes of lowering: operators, and the loops or library calls that compute them; views vanish."""
        parts = Parts[int]()
        old = self.states.numbers
        for name, operators in self.computes.items():
            for operator in operators:
                if operator in old:
                    parts.join(old[operator], self.number_of(name))
        claimed = {old[one] for found in self.computes.values() for one in found if one in old}
        for node in reversed(self.graph.nodes):
            number = old.get(node.name)
            if number is None or number in claimed or number in after.graph.nodes:
                continue
            user = next((old[one.name] for one in node.users if one.name in old and old[one.name] in claimed), None)
            if user is not None:
                parts.join(user, number)
                claimed.add(number)
        return changes_of("lower", parts, before.graph, after.graph, 0.0)

    def with_empty_nodes(self, kernels: Sequence[HeardKernel]) -> list[HeardKernel]:
        """The kernels, with nodes that run nothing, such as a concatenation that its parts have written in place.

        Such a node belongs to the kernel that writes the last of its parts, since that may read the whole, too.
        """
        kernels = list({one.nodes: one for one in kernels if one.nodes}.values())
        home = {part: place for place, one in enumerate(kernels) for name in one.nodes for part in name.split("_")}
        more: dict[int, list[str]] = {}
        for node in self.scheduling.nodes:
            places = [home[writer] for writer in self.sources[node.name].values() if writer in home]
            if node.type in NO_WORK and places:
                home[node.name] = max(places)
                more.setdefault(max(places), []).append(node.name)
        return [replace(one, nodes=(*one.nodes, *more.get(place, ()))) for place, one in enumerate(kernels)]

    def grouping(self, kernels: Sequence[HeardKernel], before: WatchedSnapshot) -> list[Change]:
        """The changes of code generation: groups that are called as one function."""
        groups = [
            tuple(self.numbers[name] for name in kernel.nodes if self.numbers.get(name) in before.graph.nodes)
            for kernel in kernels
        ]
        added = [self.number_of(kernel_key(kernel)) for kernel in kernels]
        return [Change("codegen", old, old, (new,), 0.0) for old, new in zip(groups, added, strict=True)]

    def kept_apart(self, kernels: Sequence[HeardKernel], apart: Collection[tuple[str, str]]) -> Iterator[str]:
        """Sentences about pairs that were kept apart, and that are one function of the code all the same."""
        for kernel in kernels:
            parts = {name: ordered_parts(name, self.nodes) for name in kernel.nodes}
            home = {in_part(self.part, part): name for name, some in parts.items() for part in some}
            for one, other in sorted(apart):
                if one in home and other in home and home[one] != home[other]:
                    first, second = parts[home[one]], parts[home[other]]
                    yield (
                        f"{one} and {other} were kept apart by the scheduler, but the code runs both in one function, "
                        f"{kernel.name}: {self._between(first, second)}."
                    )

    def _between(self, first: Sequence[str], second: Sequence[str]) -> str:
        """What two groups of one function pass to each other through memory."""
        unwritten = self.scheduling.unwritten
        passed = [
            name
            for these, those in ((first, second), (second, first))
            for name in self._every(these)
            if any(name in self.nodes[part].reads for part in those)
        ]
        if not passed or unwritten is None:
            return "one reads what the other one writes" if passed else "neither reads what the other one writes"
        written = [str(self.scheduling.buffers[name]) for name in passed if name not in unwritten]
        if not written:
            return "nothing is written to memory between them"
        return f"it still writes {', '.join(written)} to memory between them, which moved bytes do not count"


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are not empty."""
    return {name: value for name, value in values.items() if value}


def kernel_key(kernel: HeardKernel) -> str:
    """The name of the group that a call of a kernel computes; no group of the scheduler has it."""
    return CALL + "+".join(kernel.nodes)


def ordered_parts(name: str, nodes: Mapping[str, HeardNode]) -> list[str]:
    """The scheduler nodes of a group by its name."""
    return [part for one in name.removeprefix(CALL).split("+") for part in one.split("_") if part in nodes]


def _type_of(nodes: Sequence[HeardNode], kernel: HeardKernel | None) -> str:
    if kernel is not None:
        return "kernel"
    if nodes[0].is_extern:
        return nodes[0].library or "library call"
    return "reduction" if any(node.reduction for node in nodes) else "loops"
