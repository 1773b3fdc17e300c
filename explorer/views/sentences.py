"""Describe the effect of a step in one sentence."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from explorer.trace import Folded, OperatorApplied, Rewritten, Step, title_of
from explorer.views.index import TraceIndex, cached
from explorer.views.memory_words import before_memory, memory_change_of, peak_text
from explorer.views.messages import message_of, rules_text, step_words
from explorer.views.score.words import done_text
from explorer.views.words import bytes_text, number_text, plural

MAX_PHRASES = 4
"""Beyond it, a sentence counts the rewrites of each rule."""
GAINS: Mapping[str, tuple[Callable[[float], str], str]] = {
    "flops": (number_text, "FLOP"),
    "read_bytes": (bytes_text, "of parameters and tables read"),
    "moved_bytes": (bytes_text, "read and written"),
    "copied_bytes": (bytes_text, "copied"),
}
"""Phrases for the change of a statistic."""
MAX_KINDS = 6
"""Number of kinds of layers or operators that the first sentence counts."""


@cached
def calls_of(index: TraceIndex, step: int) -> int:
    """Return how many layers, or operators, PyTorch calls after a step."""
    trace = index.trace
    if trace.level.has_circuit:
        return int(np.count_nonzero(index.state(step).present))
    if step and trace.steps[step].folds:
        return calls_of(index, step - 1) - sum(len(group.members) - 1 for group in trace.steps[step].folds)
    return trace.stats(step)[trace.level.count_stat]


def sentence_of(index: TraceIndex, step: int) -> str:
    """Say what a step did and what it bought."""
    entry = index.step(step)
    if entry.error is not None:
        return message_of(index, step)
    if entry.operator is not None:
        return _operator_text(index, step, entry.operator, entry.notes)
    if step == index.trace.start:
        noun = index.trace.level.noun
        calls = calls_of(index, step)
        if not calls:
            return f"No {noun} {index.trace.level.begins}: nothing is called."
        each = "" if index.trace.level.uncalled else ", each a call" if calls > 1 else ", one call"
        return " ".join([f"{plural(calls, noun)} {index.trace.level.begins}{each}: {_kinds(index)}.", *entry.notes])
    limits = [limit.message for limit in entry.limits]
    changed = memory_change_of(entry, before_memory(index, step))
    if changed is not None:
        return " ".join([changed.sentence, *limits])
    if entry.folds:
        done = _folds_text(entry.folds, index)
    elif entry.rewrites and index.trace.level.grouping == "score":
        done = f"{rules_text(index, entry) or step_words(entry)}: {done_text(index, step)}"
    elif entry.rewrites:
        done = "; ".join(_rewrites_text(index, entry))
    elif entry.copies_less:
        return f"{entry.summary[:1].upper()}{entry.summary[1:]}."
    else:
        return message_of(index, step)
    before, after = calls_of(index, step - 1), calls_of(index, step)
    bought = f"{plural(before, 'call')} → {after:,}" if before != after else f"still {plural(after, 'call')}"
    bought = "" if index.trace.level.grouping == "score" else bought
    gains = [bought, *_gains(index, step), peak_text(before_memory(index, step), entry.snapshot.memory)]
    return " ".join([f"{': '.join(filter(None, (done, ', '.join(filter(None, gains)))))}.", *limits])


def _operator_text(index: TraceIndex, step: int, applied: OperatorApplied, notes: Sequence[str]) -> str:
    """Say what an operator did to circuits, or which circuits there are before any."""
    if applied.result is None:
        return f"Before any operator: {applied}."
    before, after = calls_of(index, step - 1), calls_of(index, step)
    old, new = (index.trace.stats(at)["flops"] for at in (step - 1, step))
    work = "" if old == new else f", {number_text(old)} → {number_text(new)} FLOP"
    return " ".join([*(notes or [f"{applied.result.formula}."]), f"{plural(before, 'layer')} → {after:,}{work}."])


def _gains(index: TraceIndex, step: int) -> Iterator[str]:
    """Say how a step changed the statistics that its level is about: `841 million → 12 million FLOP`."""
    before, after = index.trace.stats(step - 1), index.trace.stats(step)
    for name in index.trace.level.gains:
        text, what = GAINS[name]
        old, new = text(before[name]), text(after[name])
        if old != new:
            yield f"{old} → {new} {what}"


def _kinds(index: TraceIndex) -> str:
    """Count the titles at the start, the most frequent first."""
    graph = index.trace.start_graph
    by_id = {node: graph.nodes[node] for node in sorted(graph.nodes)}
    nodes = graph.from_unordered(by_id, graph.inputs, graph.outputs).nodes.values()
    counts = Counter(title_of(node) for node in nodes if index.is_called(node))
    found = [f"{count:,} {title}" for title, count in counts.most_common()]
    more = len(found) - MAX_KINDS
    return ", ".join(found[:MAX_KINDS]) + (f" and {plural(more, 'more kind')}" if more > 0 else "")


def _folds_text(folds: Sequence[Folded], index: TraceIndex) -> str:
    groups = [group for group in folds if len(group.members) > 1]
    alone = len(folds) - len(groups)
    parts: list[str] = []
    if len(groups) == 1:
        (group,) = groups
        title = title_of(index.trace.steps[-1].snapshot.graph.nodes[group.node])
        parts.append(f"{len(group.members):,} equal {title} layers of level {group.level} become one")
    elif groups:
        layers = sum(len(group.members) for group in groups)
        parts.append(f"{layers:,} layers of level {groups[0].level} become {len(groups)}")
    if alone:
        parts.append(f"{plural(alone, 'layer')} of level {folds[0].level} {'has' if alone == 1 else 'have'} no equal")
    return "; ".join(parts)


def _rewrites_text(index: TraceIndex, step: Step) -> list[str]:
    """Return a phrase for each rule and what it replaced, in order of first appearance."""
    groups: dict[tuple[str, str, str], list[Rewritten]] = {}
    for rewrite in step.rewrites:
        groups.setdefault((rewrite.rule, *titles_of(index, step, rewrite)), []).append(rewrite)
    found = [_phrase(*group, len(rewrites)) for group, rewrites in groups.items()]
    if len(found) > MAX_PHRASES:
        rules = Counter(rewrite.rule for rewrite in step.rewrites)
        found = [f"{rule} {count:,} times" if count > 1 else f"{rule} once" for rule, count in rules.items()]
    lost = [f"{plural(len(step.lost), 'match', 'matches')} lost a conflict"] if step.lost else []
    return found[:MAX_PHRASES] + ([f"{len(found) - MAX_PHRASES} more rules"] if len(found) > MAX_PHRASES else []) + lost


def _phrase(rule: str, old: str, new: str, count: int) -> str:
    times = f" {count:,} times" if count > 1 else ""
    if not old:
        return f"{rule}{times}"
    verb = f"becomes {new}" if new and new != old else "is rewritten" if new else "is removed"
    return f"{old} {verb}{times} ({rule})"


def titles_of(index: TraceIndex, step: Step, rewrite: Rewritten) -> tuple[str, str]:
    """Return the titles of what a rewrite removed, inputs first, and of what it added."""
    if rewrite.parameter_path:
        return "", ""
    before, after = index.before(step.index), index.state(step.index)
    old = [index.title(int(before.node[node])) for node in reversed(rewrite.removed) if before.present[node]]
    new = [index.title(int(after.node[node])) for node in rewrite.added if after.present[node]]
    return _series(old), _series(new)


def _series(titles: Sequence[str]) -> str:
    """Join titles: `Hadamard + Sum`, `3 × Sum + Kronecker`."""
    counts = Counter(titles)
    return " + ".join(title if count == 1 else f"{count} × {title}" for title, count in counts.items())
