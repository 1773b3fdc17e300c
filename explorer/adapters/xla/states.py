"""States of a module of XLA: the instructions of its entry computation as records, and the decisions to fuse them."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from explorer.adapters.snapshot import MAX_NAMES, WatchedSnapshot, distinct, title_of_call
from explorer.adapters.timeline import Candidate, Merge, Round
from explorer.adapters.xla.fusion_log import FusionRun
from explorer.adapters.xla.hlo import HloModule, Instruction
from explorer.errors import FileFormatError
from explorer.graph import Graph
from explorer.trace import NodeKind, NodeRecord

VIEWS = ("add-dependency", "after-all", "bitcast", "get-tuple-element", "optimization-barrier", "reshape")
"""Operators that name memory of an operand; a reshape that moves numbers becomes a copy later."""
HIDDEN = ("bitcast", "constant", "get-tuple-element", "parameter", "tuple")
"""Operators inside of a fusion that compute nothing."""
WRAPPERS = re.compile(r"\b(?:jvp|transpose|vmap|checkpoint|rematted_computation)\(|\)")
"""Transformations of JAX around the name of a scope, such as `transpose(jvp(head))`."""
SETTINGS_LEFT_OUT = ("backend_config", "frontend_attributes", "sharding", "origin", "value", "calls")
MAX_CHARACTERS = 80
"""Maximum length of a constant."""
MAX_EDGES = 2_000_000
"""Maximum number of reads in a state, through tuples, too."""
SAME_FUSION = "{} (both are in one fusion in the end)"
BRANCHES = ("async-start", "call", "conditional", "while")
NOTE = "{} runs {}; its bytes are those of its operands and its result, once"


@dataclass(eq=False)
class HloStates:
    """Makes states of the modules of one compilation; an instruction keeps its number as long as it keeps its name.

    `lines` are the texts of source lines: `model.py:12` -> `return x @ w`.
    """

    fresh: Callable[[], int]
    lines: Mapping[str, str]
    numbers: dict[str, int] = field(default_factory=dict[str, int])
    records: dict[str, NodeRecord] = field(default_factory=dict[str, NodeRecord])
    _made: dict[tuple[int, ...], tuple[NodeRecord, Any]] = field(default_factory=dict[tuple[int, ...], Any])

    def state_of(self, module: HloModule, new: Mapping[str, Any], is_scheduled: bool) -> WatchedSnapshot:
        """The state of a module; `new` are names that mean other instructions than before if these differ."""
        entry = module.computations[module.entry]
        numbers, records = dict[str, int](), dict[str, NodeRecord]()
        inputs: dict[int, tuple[int, ...]] = {}
        tuples: dict[str, Collection[str]] = {}
        edges = 0
        for name, one in entry.items():
            reads: Collection[str] = dict.fromkeys(one.operands)
            if not tuples.keys().isdisjoint(reads):
                reads = dict.fromkeys(read for each in reads for read in tuples.get(each, (each,)))
            edges += len(reads)
            if edges > MAX_EDGES:
                raise FileFormatError(
                    f"{module.entry} has more than {MAX_EDGES:,} reads, the most that a state may have"
                )
            if one.opcode == "tuple":
                tuples[name] = reads
                continue
            record = self._record_of(one, sum([entry[read].num_bytes for read in reads]), module)
            before = self.records.get(name)
            if before is not None and (record is before or record == before):
                record, number = before, self.numbers[name]
            else:
                keeps = before is not None and before.type == record.type and name not in new
                number = self.numbers[name] if keeps else self.fresh()
            numbers[name], records[name] = number, record
            inputs[number] = tuple([numbers[read] for read in reads])
        root = next((name for name, one in entry.items() if one.is_root), next(reversed(entry)))
        outputs = tuple(numbers[name] for name in tuples.get(root, (root,)))
        self.numbers, self.records = numbers, records
        graph = Graph[NodeRecord]({numbers[name]: record for name, record in records.items()}, inputs, outputs)
        lines = {number: entry[name].text for name, number in numbers.items()} if is_scheduled else {}
        return WatchedSnapshot(graph, None, "a state of XLA cannot be run by itself", lines)

    def _record_of(self, one: Instruction, read_bytes: int, module: HloModule) -> NodeRecord:
        """The record of an instruction, made once for the objects of the parser, which are kept so that ids last."""
        called = [module.computations[name] for name in one.called if name in module.computations]
        key = (id(one), read_bytes, *map(id, called))
        if key not in self._made:
            inside = [each for instructions in called for each in instructions.values()]
            self._made[key] = (self._make_record(one, read_bytes, inside, module), (one, called))
        return self._made[key][0]

    def _make_record(
        self, one: Instruction, read_bytes: int, inside: list[Instruction], module: HloModule
    ) -> NodeRecord:
        config: dict[str, Any] = {"results": list(one.results), "bytes": one.num_bytes}
        if one.opcode == "parameter":
            about, config = self._about([one], module), {"name": one.name, **config}
            return NodeRecord("Input", 1, config, (), about=about, kind="input")
        if one.opcode == "constant":
            config["value"] = one.attributes["value"][:MAX_CHARACTERS]
            return NodeRecord("Constant", 1, config, kind="leaf", title="constant")
        config |= {"read_bytes": read_bytes, "parameter_bytes": 0}
        layouts = [layout for layout in one.layouts if layout not in ("", _default_layout(layout))]
        config |= {"layout": layouts} if layouts else {}
        settings = {name: text for name, text in one.attributes.items() if name not in SETTINGS_LEFT_OUT}
        config |= {"fusion kind" if name == "kind" else name: text for name, text in settings.items()}
        computing, title, code = [one], one.opcode, ""
        if one.opcode == "fusion":
            computing = [each for each in inside if each.opcode not in HIDDEN] or [one]
            config["operators"] = [each.opcode for each in computing]
            config["stays inside"] = [text for each in computing if not each.is_root for text in each.results]
            title = title_of_call(config["operators"])
            code = "\n".join(each.text for each in inside)
        elif one.opcode in BRANCHES:
            config["note"] = NOTE.format(one.opcode, ", ".join(one.called) or "an unknown computation")
        about = self._about([one, *(each for each in computing if each is not one)], module)
        kind, view = _kind(one, computing), "View." if one.opcode in VIEWS else ""
        return NodeRecord(
            view + one.opcode, 1, config, about=about | ({"code": code} if code else {}), kind=kind, title=title
        )

    def _about(self, parts: Sequence[Instruction], module: HloModule) -> dict[str, Any]:
        """The lineage: scopes, source lines, and names in XLA's words."""
        modules = distinct(_module_of(one.op_name) for one in parts)
        sources = distinct(one.source or module.locations.get(one.frame, "") for one in parts)[:MAX_NAMES]
        texts = (f"{source}: {self.lines[source]}" if source in self.lines else source for source in sources)
        about = {"name": parts[0].name, "module": ", ".join(modules), "modules": modules if len(modules) > 1 else []}
        about |= {"source": "; ".join(texts), "op_name": ", ".join(distinct(one.op_name for one in parts))}
        return {name: value for name, value in about.items() if value}


def round_of(
    rule: str, run: FusionRun, entry: Mapping[str, Instruction], old: Mapping[str, int], new: Mapping[str, int]
) -> tuple[Round, int]:
    """The decisions of a run of the fusion pass, and how many of them are about no node.

    `entry` are the instructions before it; `old` and `new` are the numbers of instructions before and after it.
    """
    groups, stay = run.groups(), set(old.values()) & set(new.values())
    homes = {member: fusion for fusion, members in groups.items() for member in members}
    readers: dict[str, dict[str, None]] = {}
    for name, one in entry.items():
        for operand in one.operands:
            readers.setdefault(operand, {})[name] = None
    fused, refused, first = dict[tuple[int, int], None](), dict[tuple[int, int], str](), dict[str, int]()
    left = 0
    for one in run.decisions:
        producer = run.roots.get(one.producer, one.producer)
        fusion = one.consumer if one.consumer in groups else homes.get(one.consumer, one.consumer)
        group, known = groups.get(fusion, {one.consumer: None}), readers.get(producer, {})
        few, many = (group, known) if len(group) < len(known) else (known, group)
        reader = next((name for name in few if name in many), next(iter(known)) if len(known) == 1 else "")
        if reader not in old or producer not in old:
            left += 1
        elif not one.reason:
            first.setdefault(fusion, len(fused))
            fused[old[producer], old[reader]] = None
        else:
            is_same = producer in homes and homes[producer] == homes.get(reader)
            refused[old[producer], old[reader]] = SAME_FUSION.format(one.reason) if is_same else one.reason
    merges = [
        Merge(first[fusion], tuple(old[name] for name in members if name in old and old[name] not in stay), fusion)
        for fusion, members in groups.items()
        if fusion in first and fusion in new and new[fusion] not in stay
    ]
    told = [(*pair, why) for pair, why in refused.items() if pair not in fused]
    return Round(rule, [Candidate(*pair) for pair in fused], merges, told), left


def _kind(one: Instruction, computing: Sequence[Instruction]) -> NodeKind:
    if one.opcode in VIEWS:
        return "view"
    is_single = len(computing) == 1 or one.attributes.get("kind") == "kCustom"
    if is_single and any(each.opcode in ("convolution", "dot") for each in computing):
        return "matmul"
    return "operator" if len(computing) == 1 else "fused"


@lru_cache(1024)
def _module_of(op_name: str) -> str:
    """The scopes of an operator without the jitted function and the primitive: `head.attention`."""
    scopes = (scope if scope.startswith("jit(") else WRAPPERS.sub("", scope) for scope in op_name.split("/")[1:-1])
    return ".".join(filter(None, scopes))


def _default_layout(layout: str) -> str:
    """The layout of as many axes with the last one innermost."""
    return "{" + ",".join(map(str, reversed(range(layout.count(",") + 1)))) + "}"
