"""The trace of a compilation: its steps, and the questions it answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from explorer.errors import CircuitError, ShapeError, UnknownNameError, unknown_name
from explorer.graph import Graph, first_difference
from explorer.trace.answers import (
    Answers,
    ConflictRecord,
    FoldAnswer,
    FoldGroup,
    Lineage,
    MissedFold,
    NearMisses,
    Origin,
    RuleStats,
    StepCheck,
    WhyNot,
)
from explorer.trace.events import TENSOR, RuleDescription
from explorer.trace.passes import NO_REASON, closeness, pass_names, reason_of_pass, rules_of_pass, steps_of_pass
from explorer.trace.reasons import (
    Standing,
    fate_of_matches,
    looks_at,
    matches_at,
    reason_without_refusal,
    refusals_at,
)
from explorer.trace.records import NodeRecord, plain_text, record_of
from explorer.trace.refusal import Check, Refusal
from explorer.trace.steps import Step

Explainer = Callable[["Trace", int, str, int], tuple[tuple[Check, ...], Refusal | None]]
"""Runs the matcher again at a node: (trace, step, pattern, node) -> (its questions, the refusal or None)."""

PASS_OF_KIND = {"parameter": "parameters", "shatter": "shatter", "fuse": "fuse"}


EXACTNESS_ORDER = ("exact", "real", "lossy")
ROUNDING = {"torch.float32": 1e-4, "torch.float64": 1e-9}
"""By type: the difference, relative to the largest output, that rounding may make between two orders of sums."""
HALF_ROUNDING = 1e-2
"""The same for all other types, which are shorter."""


class Subject(Protocol):
    """What was compiled: the symbolic circuit."""

    @property
    def graph(self) -> Graph[Any]: ...

    @property
    def names(self) -> Mapping[int, str]: ...

    @property
    def leaf_names(self) -> Mapping[Any, str]: ...

    def to_json(self) -> dict[str, Any]: ...


@dataclass(eq=False)
class Trace:
    """The record of one compilation. Print it for a table of its steps; index steps by number or path.

    A trace made by `explorer.record` is live: every step is executable (`circuit_at`). One that was loaded from a
    file holds the same graphs, matches and reasons, but no tensors; `explorer.rerun(trace)` compiles its circuit
    again, and a module is recorded again.
    """

    subject: Subject | None
    circuit_json: Mapping[str, Any] | None
    options: Mapping[str, Any]
    rules: tuple[RuleDescription, ...]
    steps: tuple[Step, ...]
    compiled: Any = None
    explainer: Explainer | None = None
    examples: Any = None
    """Data that the steps can be run on: what a module was exported with; None for a circuit."""
    _records: dict[int, tuple[Any, NodeRecord]] = field(default_factory=dict[int, tuple[Any, NodeRecord]], repr=False)

    @property
    def is_tensor(self) -> bool:
        """Whether it is of the tensor level: its nodes are operators of PyTorch."""
        return self.options.get("level") == TENSOR

    # ------------------------------------------------------------------ steps and states

    def step(self, step: "int | str | Step") -> Step:
        """A step by number (negative from the end) or path. Raises: UnknownNameError."""
        if isinstance(step, Step):
            return step
        if isinstance(step, int):
            if not -len(self.steps) <= step < len(self.steps):
                raise UnknownNameError(f"there is no step {step}; the trace has steps 0 to {len(self.steps) - 1}")
            return self.steps[step]
        for known in self.steps:
            if known.path == step:
                return known
        raise unknown_name("step", step, [known.path for known in self.steps])

    def graph_at(self, step: "int | str | Step") -> Graph[NodeRecord]:
        """The graph after a step, nodes as plain records, in an order that depends on ids and edges only."""
        graph = self.step(step).snapshot.graph
        nodes = {node: self._record(graph.nodes[node]) for node in sorted(graph.nodes)}
        return Graph[NodeRecord].ordered(nodes, graph.inputs, graph.outputs)

    def circuit_at(self, step: "int | str | Step") -> Any:
        """The executable circuit after a step, with the present values. Raises: CircuitError for a loaded trace."""
        return self.step(step).snapshot.circuit()

    def figures(self, step: "int | str | Step") -> Mapping[str, int]:
        """Counts after a step: layers, folds, parameters, FLOPs, bytes; for one example."""
        return self.step(step).snapshot.figures

    def check(self, x: Any = None, on_step: Callable[[Step], None] = lambda step: None) -> Answers[StepCheck]:
        """The difference of the outputs on `x` after each step from those before it, and whether it may be.

        A trace of a module takes a tuple of arguments, by default what it was exported with; if these have no rows,
        there is no difference. `on_step` is told each step before it is run, and may end the check by raising.
        Raises: ShapeError if `x` has no rows for a circuit; CircuitError for a loaded trace.
        """
        x = self.examples if x is None else x
        values: tuple[Any, ...] | None = None
        found: list[StepCheck] = []
        for step in self.steps:
            if step.error is not None:
                continue
            on_step(step)
            before = values
            if values is None or step.changed or step.folds:
                values = step.snapshot.results(x)
            if not self.is_tensor and not any(value.numel() for value in values):
                raise ShapeError("check needs at least one row; x has none")
            found.append(_checked(step, self._exactness(step), values, values if before is None else before))
        return Answers(found)

    def _exactness(self, step: Step) -> str:
        """The weakest promise among what a step did; folding reorders sums, so it is exact in real arithmetic only."""
        promise = {rule.name: rule.exactness for rule in self.rules}
        done = [promise.get(rewrite.rule, "real") for rewrite in step.rewrites] + ["real"] * bool(step.folds)
        return max(done, key=EXACTNESS_ORDER.index, default="exact")

    # ------------------------------------------------------------------ matches

    def why_not(self, pattern: str, node: int, step: "int | str | None" = None) -> WhyNot:
        """Why a pattern was not applied at a node; by default in the last step that tried it while the node existed.

        The ids of nodes are those that `print(trace.graph_at(step))` shows. A rule on parameters is asked about by the
        layer that holds them. At the tensor level the name of a pass stands for its rules: the one that came closest
        answers. Raises: UnknownNameError for a pattern or node that is not in the trace; CircuitError for a step
        without that pattern or that node.
        """
        if self.is_tensor and all(rule.pattern != pattern for rule in self.rules):
            return self._why_not_pass(pattern, node, step)
        rule = self._rule(pattern)
        first, last = self._lifetime(node)
        tried = self._step_that_tried(rule, node) if step is None else self.step(step)
        if not _tries(tried, rule):
            raise CircuitError(
                f"{pattern} was not tried in step {tried.index} ({tried.path}); it is a {rule.kind} rule"
            )
        if not first < tried.index <= last + 1:
            raise CircuitError(
                f"node {node} did not exist in step {tried.index} ({tried.path}); "
                f"it exists after steps {first} to {last}"
            )
        found = matches_at(rule, node, tried)
        if found:
            applied, reason = fate_of_matches(found, tried)
            return WhyNot(pattern, node, tried.index, True, applied, (), None, reason)
        checks, refusal, place = (), None, ""
        if self.explainer is not None and rule.kind != "parameter":
            checks, refusal = self.explainer(self, tried.index, pattern, node)
        for kept in refusals_at(rule, node, tried)[:1]:
            refusal, place = kept.refusal, kept.place
        if refusal is not None:
            reason = f"in {place}: {refusal.reason}" if place else refusal.reason
        else:
            reason = reason_without_refusal(rule, self._standing(node, tried), tried, fits=bool(checks))
        return WhyNot(pattern, node, tried.index, False, False, checks, refusal, reason)

    def _why_not_pass(self, name: str, node: int, step: "int | str | None") -> WhyNot:
        """The answer of the rule of a pass that came closest; if none gave a reason, what they look for."""
        found = steps_of_pass(name, self.steps)
        if not found:
            raise unknown_name("rule or pass", name, [*(rule.pattern for rule in self.rules), *pass_names(self.steps)])
        first, last = self._lifetime(node)
        run = [s for s in found if first < s.index <= last + 1]
        run = run if step is None else [s for s in run if s is self.step(step)]
        if not run:
            where = "" if step is None else f" in step {step}"
            raise CircuitError(f"{name} was never run{where} while node {node} existed (steps {first} to {last})")
        rules = rules_of_pass(name, self.steps, self.rules)
        told = [s for s in run if any(matches_at(rule, node, s) or refusals_at(rule, node, s) for rule in rules)]
        tried = (told or run)[-1]
        rules = [rule for rule in rules if _tries(tried, rule)]
        place = self._standing(node, tried)
        asked = [rule for rule in rules if looks_at(rule, place.record)]
        best = max((self.why_not(rule.pattern, node, tried.index) for rule in asked), key=closeness, default=None)
        if best is None or closeness(best) == NO_REASON:
            return WhyNot(name, node, tried.index, False, False, (), None, reason_of_pass(name, rules, asked, place))
        which = "the only one" if len(rules) == 1 else f"the closest of the {len(rules)} rules"
        return replace(best, reason=f"it is {which} of {name}: {best.reason}")

    def _standing(self, node: int, step: Step) -> Standing:
        """What stood at a node before a step."""
        graph = self.steps[step.index - 1].snapshot.graph
        reads = {source: self._record(graph.nodes[source]) for source in graph.inputs[node]}
        return Standing(node, self._record(graph.nodes[node]), reads)

    def near_misses(self, pattern: str | None = None, step: "int | str | None" = None) -> Answers[NearMisses]:
        """The near misses of a pattern, or of all patterns that have some, over all steps or one."""
        steps = self.steps if step is None else (self.step(step),)
        names = [rule.pattern for rule in self.rules] if pattern is None else [self._rule(pattern).pattern]
        answers: list[NearMisses] = []
        for name in names:
            refusals = tuple(r.refusal for s in steps for r in s.refusals if r.refusal.pattern == name)
            over = sum(s.refusals_over.get(name, 0) for s in steps)
            matched = sum(match.rule == name for s in steps for match in s.matches)
            if pattern is not None or refusals:
                answers.append(NearMisses(name, matched, refusals, over))
        return Answers(answers)

    def conflicts(self, step: "int | str | None" = None) -> Answers[ConflictRecord]:
        """The matches that lost to another one, over all steps or in one."""
        steps = self.steps if step is None else (self.step(step),)
        return Answers(
            ConflictRecord(
                s.index, s.matches[lost.loser], s.matches[lost.winner], lost.node, lost.strategy, lost.reason
            )
            for s in steps
            for lost in s.lost
        )

    def rule_stats(self) -> Answers[RuleStats]:
        """What each rule did, in order of the rules."""
        stats: list[RuleStats] = []
        for rule in self.rules:
            applied = [w for s in self.steps for w in s.rewrites if w.rule == rule.name]
            matched = sum(m.rule == rule.name for s in self.steps for m in s.matches)
            misses = sum(r.refusal.pattern == rule.pattern for s in self.steps for r in s.refusals)
            misses += sum(s.refusals_over.get(rule.pattern, 0) for s in self.steps)
            removed, added = sum(len(w.removed) for w in applied), sum(len(w.added) for w in applied)
            seconds = sum(w.seconds for w in applied)
            lost = sum(s.matches[x.loser].rule == rule.name for s in self.steps for x in s.lost)
            stats.append(
                RuleStats(
                    rule.name, rule.kind, matched, len(applied), lost, misses, removed, added, seconds, rule.source
                )
            )
        return Answers(stats)

    # ------------------------------------------------------------------ lineage

    def lineage(self, node: int) -> Lineage:
        """Where a node comes from and what became of it. Raises: UnknownNameError."""
        first, last = self._lifetime(node)
        changes = tuple(
            Origin(s.index, s.path, f"{w.rule} in {w.place}", (node,), (node,))
            for s in self.steps
            for w in s.rewrites
            if w.place and w.place.split(".")[0] == str(node)
        )
        return Lineage(
            node,
            first,
            last,
            tuple(sorted(self._symbolic(node))),
            tuple(self._made_by.get(node, ())),
            tuple(self._became.get(node, ())),
            changes,
            self._now(node),
        )

    def _symbolic(self, node: int) -> set[int]:
        found: set[int] = set()
        waiting = [node]
        while waiting:
            current = waiting.pop()
            origins = self._made_by.get(current, [])
            if not origins:
                found.add(current)
            waiting.extend(before for origin in origins for before in origin.before)
        return found

    def _now(self, node: int) -> tuple[tuple[int, int | None], ...]:
        if node in self._slices:
            return (self._slices[node],)
        if self._lifetimes[node][1] == self.steps[-1].index:
            return ((node, None),)
        later = dict.fromkeys(
            after for origin in self._became.get(node, ()) for after in origin.after[-1:] or origin.became
        )
        return tuple(dict.fromkeys(place for after in later for place in self._now(after)))

    @cached_property
    def _changes(self) -> tuple[Origin, ...]:
        found: list[Origin] = []
        for step in self.steps:
            if step.error is not None:
                continue  # a failed step leaves the graph as it was
            for rewrite in step.rewrites:
                if not rewrite.place:
                    found.append(
                        Origin(step.index, step.path, rewrite.rule, rewrite.removed, rewrite.added, rewrite.became)
                    )
            for group in step.folds:
                if group.members != (group.node,):
                    found.append(Origin(step.index, step.path, f"folded, {group.type}", group.members, (group.node,)))
        return tuple(found)

    @cached_property
    def _made_by(self) -> Mapping[int, list[Origin]]:
        found: dict[int, list[Origin]] = {}
        for change in self._changes:
            for node in change.after:
                found.setdefault(node, []).append(change)
        return found

    @cached_property
    def _became(self) -> Mapping[int, list[Origin]]:
        found: dict[int, list[Origin]] = {}
        for change in self._changes:
            for node in change.before:
                found.setdefault(node, []).append(change)
        return found

    @cached_property
    def _slices(self) -> Mapping[int, tuple[int, int]]:
        groups = [group for step in self.steps for group in step.folds]
        return {member: (group.node, i) for group in groups for i, member in enumerate(group.members)}

    @cached_property
    def _lifetimes(self) -> Mapping[int, tuple[int, int]]:
        """Node -> first and last step at whose end it exists."""
        end = self.steps[-1].index if self.steps else 0
        lives = {node: [0, end] for node in (self.steps[0].snapshot.graph.nodes if self.steps else ())}
        for change in self._changes:
            for node in change.before:
                lives[node][1] = change.step - 1
            for node in change.after:
                lives[node] = [change.step, end]
        return {node: (first, last) for node, (first, last) in lives.items()}

    # ------------------------------------------------------------------ folds

    def fold_groups(self, level: int | None = None) -> Answers[FoldGroup]:
        """The folded groups of all levels or of one, with keys and (F, H, 2) index tables."""
        return self._fold_groups if level is None else Answers(g for g in self._fold_groups if g.level == level)

    @cached_property
    def _fold_groups(self) -> Answers[FoldGroup]:
        reads: Mapping[int, Mapping[str, Any]] = self.steps[-1].snapshot.reads if self.steps else {}
        return Answers(
            FoldGroup(
                step.index,
                group.level,
                group.node,
                group.type,
                {name: plain_text(value) for name, value in group.key},
                group.members,
                reads[group.node]["kind"] if group.node in reads else None,
                reads[group.node]["index"] if group.node in reads else None,
            )
            for step in self.steps
            for group in step.folds
        )

    def why_not_folded(self, one: int, other: int) -> FoldAnswer:
        """Whether two layers were folded together, and if not, why: by level, type or first field that differs.

        Raises: UnknownNameError if a layer was not there when folding began.
        """
        here, there = self._group_of(one), self._group_of(other)
        if here.node == there.node:
            return FoldAnswer(
                True, f"Folded together: slices {self._slices[one][1]} and {self._slices[other][1]} of {here.node}."
            )
        difference = _difference(here, there)
        if difference is not None:
            name, mine, theirs = difference
            return FoldAnswer(False, f"Not folded together: {name} is {mine} here and {theirs} there.")
        if here.level == there.level:
            return FoldAnswer(False, f"Not folded together: equal keys, but level {here.level} was switched off.")
        return FoldAnswer(
            False, f"Not folded together: equal keys, but level {here.level} here and level {there.level} there."
        )

    def missed_folds(self) -> Answers[MissedFold]:
        """Groups that nearly were one: equal keys on two levels; one level and type with one field that differs.

        Groups on two levels count only if they could run at one time: some member of the later one depends on none of
        the earlier one.
        """
        found: list[tuple[FoldGroup, FoldGroup, str, bool]] = []
        latest: dict[tuple[str, tuple[tuple[str, Any], ...]], FoldGroup] = {}
        by_level: dict[tuple[int, str], FoldGroup] = {}
        for group in self.fold_groups():
            key = _fold_key(group)
            if key in latest:
                levels = (latest[key].level, group.level)
                apart = levels[0] != levels[1]
                why = f"levels {levels[0]} and {levels[1]}" if apart else f"level {levels[0]} was switched off"
                found.append((latest[key], group, f"{group.type}: equal keys, {why}", apart))
            latest[key] = group
            neighbour = by_level.get((group.level, group.type))
            if neighbour is not None and (difference := _difference(neighbour, group)) is not None:
                name, mine, theirs = difference
                reason = f"{group.type} on level {group.level}: {name} is {mine} and {theirs}"
                found.append((neighbour, group, reason, False))
            by_level[(group.level, group.type)] = group
        joinable = self._could_join([(one, other) for one, other, _, on_two_levels in found if on_two_levels])
        return Answers(
            MissedFold((one.node, other.node), _count(one, other), reason)
            for one, other, reason, on_two_levels in found
            if not on_two_levels or (one.node, other.node) in joinable
        )

    def _could_join(self, pairs: Sequence[tuple[FoldGroup, FoldGroup]]) -> set[tuple[int, int]]:
        """Of pairs (earlier, later), those where some member of the later reads, directly or not, none of the earlier.

        One walk for all pairs of a folding: each node has the bits of the pairs whose earlier group it stands on.
        """
        foldings: dict[int, list[tuple[FoldGroup, FoldGroup]]] = {}
        for earlier, later in pairs:
            foldings.setdefault(earlier.step - earlier.level - 1, []).append((earlier, later))
        found: set[tuple[int, int]] = set()
        for step, of_folding in foldings.items():
            stands_on: dict[int, int] = {}
            for i, (earlier, _) in enumerate(of_folding):
                for member in earlier.members:
                    stands_on[member] = stands_on.get(member, 0) | 1 << i
            for node, sources in self.steps[step].snapshot.graph.inputs.items():
                bits = stands_on.get(node, 0)
                for source in sources:
                    bits |= stands_on.get(source, 0)
                stands_on[node] = bits
            for i, (earlier, later) in enumerate(of_folding):
                if not all(stands_on[member] >> i & 1 for member in later.members):
                    found.add((earlier.node, later.node))
        return found

    def _group_of(self, node: int) -> FoldGroup:
        if node not in self._slices:
            raise UnknownNameError(
                f"layer {node} was not there when folding began; ids are those of the graph before folding"
            )
        folded = self._slices[node][0]
        return next(group for group in self._fold_groups if group.node == folded)

    # ------------------------------------------------------------------ files and text

    def save(self, path: "str | Path", times: bool = True) -> None:
        """Write the trace as JSON (gzip if the name ends in .gz); without `times` two equal runs give equal bytes."""
        from explorer.trace.files import save_trace

        save_trace(self, path, times)

    @staticmethod
    def load(path: "str | Path") -> "Trace":
        """Read a trace file. Raises: FileFormatError for a foreign, truncated or newer file."""
        from explorer.trace.files import load_trace

        return load_trace(path)

    def __str__(self) -> str:
        from explorer.trace.text import trace_text

        return trace_text(self)

    def __repr__(self) -> str:
        return f"<Trace: {len(self.steps)} steps>"

    # ------------------------------------------------------------------ helpers

    def _record(self, node: Any) -> NodeRecord:
        """The record of a node, made once: nodes that steps share share their record."""
        known = self._records.get(id(node))
        if known is None:
            names: Mapping[Any, str] = self.subject.leaf_names if self.subject is not None else {}
            known = self._records[id(node)] = (node, record_of(node, names.__getitem__))
        return known[1]

    def _rule(self, pattern: str) -> RuleDescription:
        for rule in self.rules:
            if rule.pattern == pattern:
                return rule
        raise unknown_name("pattern", pattern, [rule.pattern for rule in self.rules])

    def _lifetime(self, node: int) -> tuple[int, int]:
        if node not in self._lifetimes:
            raise UnknownNameError(f"there was never a node {node} in this trace")
        return self._lifetimes[node]

    def _step_that_tried(self, rule: RuleDescription, node: int) -> Step:
        first, last = self._lifetime(node)
        tried = [s for s in self.steps if _tries(s, rule) and first < s.index <= last + 1]
        if not tried:
            raise CircuitError(f"{rule.pattern} was never tried while node {node} existed (steps {first} to {last})")
        seen = (s for s in reversed(tried) if matches_at(rule, node, s) or refusals_at(rule, node, s))
        return next(seen, tried[-1])


def _tries(step: Step, rule: RuleDescription) -> bool:
    """Whether a step tries a rule: it says which ones, or it is the pass of the rule's kind."""
    if rule.kind == TENSOR:
        return rule.name in step.rules
    return step.path.endswith(f"/{PASS_OF_KIND[rule.kind]}")


def _checked(step: Step, exactness: str, values: tuple[Any, ...], before: tuple[Any, ...]) -> StepCheck:
    """The results after a step compared with those before it."""
    pairs = [(value, wanted) for value, wanted in zip(values, before, strict=True) if value.numel()]
    compared = [_compared(value, wanted) for value, wanted in pairs]
    difference, rounding = max(
        compared, key=lambda pair: (pair[0] != pair[0], pair[0] / pair[1]), default=(0.0, HALF_ROUNDING)
    )
    tolerance = {"exact": 0.0, "real": rounding, "lossy": float("inf")}[exactness]
    other_bits = sum(_other_bits(value, wanted) for value, wanted in pairs)
    return StepCheck(step.index, step.path, difference, exactness, tolerance, other_bits)


def _other_bits(value: Any, wanted: Any) -> int:
    """How many numbers of two tensors are not the same, bit by bit; NaN is the same as NaN."""
    if value.dtype != wanted.dtype:
        return int(value.numel())
    if value.is_complex():
        return _other_bits(value.real, wanted.real) + _other_bits(value.imag, wanted.imag)
    same = value == wanted
    if value.is_floating_point():
        same = (same & (value.signbit() == wanted.signbit())) | ((value != value) & (wanted != wanted))
    return int((~same).sum())


def _compared(value: Any, wanted: Any) -> tuple[float, float]:
    """The largest difference of two tensors, and what rounding may make of the order of sums."""
    if not value.is_floating_point() and not value.is_complex():
        return float((value != wanted).any()), ROUNDING["torch.float64"]
    difference = (value - wanted).abs()
    difference[value == wanted] = 0  # infinities that agree
    difference[(value != value) & (wanted != wanted)] = 0  # and what is no number in both
    size = wanted.abs()
    size[(size == float("inf")) | (size != size)] = 0
    rounding = ROUNDING.get(str(size.dtype), HALF_ROUNDING) * max(1.0, float(size.max()))
    return float(difference.max()), rounding


def _fold_key(group: FoldGroup) -> tuple[str, tuple[tuple[str, str], ...]]:
    return (group.type, tuple(group.key.items()))


def _difference(one: FoldGroup, other: FoldGroup) -> tuple[str, str, str] | None:
    """The first thing in which the keys of two groups differ, as text."""
    found = first_difference(_fold_key(one), _fold_key(other))
    return None if found is None else (found[0], found[1] or "absent", found[2] or "absent")


def _count(*groups: FoldGroup) -> int:
    return sum(len(group.members) for group in groups)
