"""The states behind lowering: loops and library calls, fused round by round, and the functions that run them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from torch import fx, nn

from explorer.adapters.inductor.fx_states import (
    VIEW,
    FxStates,
    module_of,
    roots_of,
    source_of,
    title_of,
)
from explorer.adapters.inductor.heard import HeardKernel, HeardNode, HeardScheduling
from explorer.adapters.inductor.steering import in_part
from explorer.adapters.snapshot import WatchedSnapshot, parameter_record
from explorer.adapters.timeline import Parts
from explorer.graph import Graph
from explorer.levels import Change
from explorer.tensor.recording.tensor_snapshot import kind_of
from explorer.trace import NodeKind, NodeRecord

MAX_NAMES = 5
"""Maximum number of operators that the title of a call names."""
CALL = "call "
RESULT = ""
"""The reader of the outputs, behind all nodes."""
NO_WORK = ("NopKernelSchedulerNode",)


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
        order = self._sorted(names, members, home)
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
        return WatchedSnapshot(graph, module, "the program cannot be run up to here by itself", lines)

    def _output(self, name: str, by_input: Mapping[str, int], home: Mapping[str, str]) -> int | None:
        written = self.sources[RESULT]
        return self.number_of(home[written[name]]) if name in written else by_input.get(name)

    def _sorted(self, names: Sequence[str], members: Mapping[str, list[str]], home: Mapping[str, str]) -> list[str]:
        """The groups in the order of their nodes, each behind those that it reads."""
        waiting = sorted(names, key=lambda name: self._place(members[name][0]))
        done: dict[str, None] = {}

        def visit(name: str) -> None:
            stack = [(name, iter(self._groups_read(members[name], home)))]
            seen = {name}
            while stack:
                current, reads = stack[-1]
                following = next((one for one in reads if one not in done and one not in seen), None)
                if following is None:
                    done.setdefault(current)
                    stack.pop()
                else:
                    seen.add(following)
                    stack.append((following, iter(self._groups_read(members[following], home))))

        for name in waiting:
            if name not in done:
                visit(name)
        return list(done)

    def _groups_read(self, parts: Sequence[str], home: Mapping[str, str]) -> Iterable[str]:
        mine = home[parts[0]]
        written = (writer for part in parts for writer in self.sources[part].values())
        return dict.fromkeys(home[writer] for writer in written if home[writer] != mine)

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {node.name: place for place, node in enumerate(self.scheduling.nodes)}

    def _place(self, part: str) -> int:
        return self._places[part]

    def _reads(self, parts: Sequence[str], home: Mapping[str, str]) -> tuple[list[tuple[str, str | None]], list[str]]:
        """The buffers that a group reads from memory, each with the group that wrote it, and the parameters."""
        mine = home[parts[0]]
        reads: dict[tuple[str, str | None], None] = {}
        parameters: dict[str, None] = {}
        for part in parts:
            for name in self.nodes[part].reads:
                writer = self.sources[part].get(name)
                if writer is not None and home[writer] != mine:
                    reads.setdefault((name, home[writer]))
                elif writer is None and name in self.scheduling.inputs and name in self.states.numbers:
                    reads.setdefault((name, None))
                elif writer is None:
                    parameters.setdefault(name)
        return list(reads), list(parameters)

    def _written(self, parts: Sequence[str], home: Mapping[str, str]) -> list[str]:
        """The buffers of a group that reach memory: outputs, and what another group reads."""
        mine = home[parts[0]]
        written = dict.fromkeys(name for part in parts for name in self.nodes[part].writes)
        outputs = {*self.scheduling.outputs, *self.scheduling.inputs}
        return [
            name
            for name in written
            if name in outputs or any(home[part] != mine for part in self._readers.get(name, ()))
        ]

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
        operators = list(dict.fromkeys(one for part in parts for one in self.computes[part]))
        written = self._written(parts, home)
        every = dict.fromkeys(name for node in nodes for name in node.writes)
        buffers = self.scheduling.buffers
        config: dict[str, Any] = {
            "results": [str(buffers[name].type) for name in written],
            "bytes": sum(buffers[name].num_bytes for name in written),
            "read_bytes": sum(buffers[name].num_bytes for name in reads),
            "parameter_bytes": sum(buffers[name].num_bytes for name in parameters),
            "operators": [title_of(self.operators[one]) for one in operators],
        }
        kept = [name for name in every if name not in written]
        if kept:
            config["stays inside"] = [str(buffers[name].type) for name in kept]
        first = next((one for one in nodes if one.is_extern), nodes[0])
        if first.library:
            config["library"] = first.library
        loops = list(dict.fromkeys(node.loops for node in nodes if node.loops))
        if loops:
            config["loops"] = loops
        reductions = [node.reduction for node in nodes if node.reduction]
        if reductions:
            config["reductions"] = reductions
        sources = [self._captured_of(one) for one in operators]
        modules = list(dict.fromkeys(filter(None, (module_of(self.operators[one]) for one in operators))))
        lines = list(dict.fromkeys(filter(None, map(source_of, (one for found in sources for one in found)))))
        about: dict[str, Any] = {"name": "_".join(in_part(self.part, part) for part in parts), "buffers": written}
        marks = list(dict.fromkeys(self.states.marks[one] for one in operators if one in self.states.marks))
        if marks:
            about["training"] = ", ".join(marks)
        if modules:
            about |= {"module": ", ".join(modules)} | ({"modules": modules} if len(modules) > 1 else {})
        if lines:
            about["source"] = "; ".join(lines[:MAX_NAMES])
        if kernel is not None:
            about |= {"function": kernel.name, "code": kernel.source}
        kind: NodeKind = "matmul" if first.is_extern else "fused" if len(nodes) > 1 else "operator"
        if first.type in NO_WORK or (first.is_extern and not operators):
            kind = "view"
        named = {self.states.parameters.get(name, name): buffers[name].type for name in parameters}
        records = {name: parameter_record(name, kind_of_value) for name, kind_of_value in named.items()}
        title = self._title(operators, sources) or (first.library.rpartition(".")[2] or "copy")
        view = VIEW if kind == "view" else ""
        return NodeRecord(view + _type_of(nodes, kernel), 1, config, None, records, {}, about, kind, title)

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
        unique = list(dict.fromkeys(names))
        more = f" + {len(unique) - MAX_NAMES} more" if len(unique) > MAX_NAMES else ""
        return " + ".join(unique[:MAX_NAMES]) + more

    # ------------------------------------------------------------------ changes

    def lowering(self, before: WatchedSnapshot, after: WatchedSnapshot) -> list[Change]:
        """The changes of lowering: operators, and the loops or library calls that compute them; views vanish."""
        parts = Parts()
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
        return parts.changes("lower", before.graph, after.graph, 0.0)

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
        changes: list[Change] = []
        for kernel in kernels:
            old = tuple(self.numbers[name] for name in kernel.nodes if self.numbers.get(name) in before.graph.nodes)
            changes.append(Change("codegen", old, old, (self.number_of(kernel_key(kernel)),), 0.0))
        return changes


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
