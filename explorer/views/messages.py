"""Describe a step: its caption, how much is shown, and why nothing happened."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from explorer.trace import OperatorApplied, Refusal, RefusalKind, Step, tries
from explorer.views.boxes import Box, ShownMode
from explorer.views.grouping import MAX_DRAWN_BOXES
from explorer.views.index import ADDED, CHANGED, REMOVED, TraceIndex, cached, node_changes
from explorer.views.memory_words import before_memory, memory_change_of
from explorer.views.request import closest
from explorer.views.words import ordinal, plural
from explorer_widgets.schema import ActionView

PASS_WORDS: Mapping[str, str] = {
    "between passes": "changes by no named pass",
    "constant_fold_uniform_value": "make tensors of one value constants",
    "decompose_auto_functionalized": "run custom operators in place again",
    "efficient_conv_bn_eval_pass": "fold batch norms into convolutions",
    "fuse_conv_bn": "fold batch norms into convolutions",
    "group_batch_fusion_passes": "run equal operators as one batch",
    "move_constructors_to_cuda": "make constants on the GPU",
    "pattern_matcher": "replace operator patterns",
    "reinplace_inplaceable_ops": "write results over inputs",
    "remove_noop_ops": "remove operators without effect",
    "reorder_for_locality": "move operators to their readers",
    "stable_sort": "sort operators by what they read",
    "algsimp": "simplify arithmetic",
    "cse": "compute equal values once",
    "dce": "remove what nothing reads",
}
"""What passes of Inductor and XLA do, by their names that do not say it."""
RUN_MORE, SHOW_ALL, SHOW_MISSES = "run-more", "show-all", "show-near-misses:"
"""Names of the actions of a picture; the last one is a prefix of a pattern's name."""


def step_name(index: TraceIndex, step: int) -> str:
    """Return `Step 3 of 10: fuse, round 1`. Steps are numbered from 0, as in the trace."""
    entry = index.step(step)
    words = ": ".join(filter(None, (step_words(entry), rules_text(index, entry))))
    return f"Step {step} of {len(index.trace.steps) - 1}: {words}"


def step_title(index: TraceIndex, step: int) -> str:
    """Return the name of a step and its outcome: `Step 3 of 10: fuse, round 1, 4 of 4 matches`."""
    entry = index.step(step)
    says_calls = (
        index.trace.level.grouping == "score" and entry.matches and not entry.pairs
    )  # its sentence counts these
    outcome = "" if says_calls else _outcome(entry)
    return f"{step_name(index, step)}, {outcome}".rstrip(", ")


def step_words(step: Step) -> str:
    """Return the path of a step in words: what a pass does, with the compiler's own name of it in parentheses."""
    own = step.at.labels[-1]
    known = re.fullmatch(r"pass_pattern_(\d+)", own)
    said = f"replace operator patterns, group {int(known[1]) + 1}" if known else PASS_WORDS.get(own, "")
    return step.at.words.replace(own, f"{said} ({own})") if said else step.at.words


def rules_text(index: TraceIndex, step: Step) -> str:
    """Return the rules of a step at the tensor level, where a pass takes many steps: `merge_views and 2 others`."""
    rules = list(dict.fromkeys(rewrite.rule for rewrite in step.applied))
    if index.trace.level.has_circuit or not rules or (len(rules) == 1 and rules[0] in step.at.labels):
        return ""
    return rules[0] + (f" and {plural(len(rules) - 1, 'other')}" if len(rules) > 1 else "")


def _outcome(step: Step) -> str:
    if step.error is not None:
        return "failed"
    if step.pairs:
        return f"{step.pairs[0]} of {plural(step.pairs[1], 'pair')} fused"
    if step.matches:
        return f"{len(step.rewrites)} of {len(step.matches)} {'match' if len(step.matches) == 1 else 'matches'}"
    if step.folds or step.reads:
        return step.summary
    if step.index == 0 or step.operator is not None or step.compiles_layers:
        return ""
    return "changed" if step.changed else "nothing changed"


def caption_of(index: TraceIndex, step: int) -> str:
    """Describe what changed: `1 layer created, 2 removed`."""
    entry = index.step(step)
    if entry.error is not None:
        return "The compilation stopped here."
    in_memory = memory_change_of(entry, before_memory(index, step))
    if in_memory is not None:
        return in_memory.text
    change = node_changes(index, step)
    if entry.operator is not None:
        return _operator_text(index, entry.operator)
    if step == index.trace.start:
        memory = entry.snapshot.memory
        count = int((change >= 0).sum()) if memory is None else len(memory.order)
        return f"{index.count_text(count)} {index.trace.level.begins}"
    folds = [group for group in entry.folds if group.members != (group.node,)]
    members = sum(len(group.members) for group in folds)
    counts = (
        (int((change == ADDED).sum()) - len(folds), "created"),
        (int((change == REMOVED).sum()) - members, "removed"),
        (int((change == CHANGED).sum()), "changed"),
    )
    parts = [f"{plural(members)} folded into {len(folds)}"] if folds else []
    parts += ["No layer changed, only the order of slices"] if entry.copies_less else []
    if index.trace.level.uncalled:
        kinds = ((step, ADDED, "created"), (step - 1, REMOVED, "removed"), (step, CHANGED, "changed"))
        found = (
            (index.nodes_text(at, np.flatnonzero(change == kind)), what) for at, kind, what in kinds if kind in change
        )
        return ", ".join(f"{nodes} {what}" for nodes, what in found) or "Nothing changed"
    for count, what in counts:
        if count:
            parts.append(f"{count:,} {what}" if parts else f"{plural(count, index.noun)} {what}")
    lost = f"; {plural(len(entry.lost), 'match', 'matches')} lost a conflict" if entry.lost else ""
    return (", ".join(parts) or "Nothing changed") + lost


def _operator_text(index: TraceIndex, applied: OperatorApplied) -> str:
    """Describe what an operator made, and how much of its operands it keeps."""
    if applied.result is None:
        return f"{index.count_text(sum(len(circuit.layers) for circuit in applied.circuits))}, before any operator"
    made, used = len(applied.sources), {source for sources in applied.sources.values() for source in sources}
    kept = len(applied.result.layers) - made
    if used == set(applied.sources):
        return f"{plural(made, index.noun)} replaced" + (f", {kept:,} kept" if kept else "")
    return f"{plural(made, index.noun)} made of {plural(len(used), index.noun)} of the operands"


def note_of(boxes: Sequence[Box], mode: ShownMode, noun: str = "layer") -> str:
    """Describe how much of the graph is shown."""
    removed = sum(len(box.ids) for box in boxes if not box.after) if mode == "diff" else 0
    layers = sum(len(box.ids) for box in boxes) - removed
    count = plural(layers, noun) + (f" and {removed:,} removed" if removed else "")
    return f"{count}." if layers + removed == len(boxes) else f"{count}. Showing {plural(len(boxes), 'group')}."


def message_of(index: TraceIndex, step: int) -> str:
    """Describe what failed, what limit was reached, or why nothing happened; otherwise empty."""
    entry = index.step(step)
    if entry.error is not None:
        return f"The compilation stopped here: {entry.error}"
    messages = [limit.message for limit in entry.limits]
    if _found_nothing(entry):
        messages.append(_nothing_text(index, entry))
    if entry.reads and not entry.copies_less:
        messages.append(f"{entry.summary[:1].upper()}{entry.summary[1:]}.")
    if entry.matches and not entry.applied:
        messages.append(f"{plural(len(entry.matches), 'match', 'matches')}, but none of them was applied.")
    return " ".join(messages)


def actions_of(
    index: TraceIndex, step: int, boxes: Sequence[Box], near_misses: str | None = None, tried: bool = False
) -> list[ActionView]:
    """Return the actions for the message and the note: see the closest near misses, run more rounds, draw all layers.

    `near_misses` names the pattern with drawn near misses; `tried`: the message describes a trial pattern
    instead of the step's own.
    """
    entry = index.step(step)
    found: list[ActionView] = []
    closest = _closest(index, step) if _found_nothing(entry) else None
    if closest is not None and closest[0].pattern != near_misses and not tried:
        found.append({"name": f"{SHOW_MISSES}{closest[0].pattern}", "label": "Show them", "beside": "message"})
    if any(limit.what == "rounds" for limit in entry.limits) and not tried and index.trace.level.has_circuit:
        found.append({"name": RUN_MORE, "label": "Run more", "beside": "message"})
    count = sum(len(box.ids) for box in boxes)
    if count > max(len(boxes), MAX_DRAWN_BOXES):
        found.append({"name": SHOW_ALL, "label": f"Draw all {count:,} {index.noun}s", "beside": "note"})
    return found


def _found_nothing(step: Step) -> bool:
    """Return whether a pass changed nothing."""
    did = step.changed or step.matches or step.folds or step.reads
    return step.index > 0 and step.error is None and not did and not step.compiles_layers


def _nothing_text(index: TraceIndex, step: Step) -> str:
    """Describe why a pass changed nothing: which attempt came closest."""
    if index.trace.level.tries_pairs and step.refusals:
        (reason, most), *_ = Counter(miss.refusal.cause for miss in step.refusals).most_common(1)
        count = len(step.refusals)
        said = "" if count == 1 else f"{most:,} of them: "
        return f"No pair was fused: {plural(count, 'pair')} {'was' if count == 1 else 'were'} refused, {said}{reason}."
    name = step.pass_name
    tried = [rule for rule in index.trace.rules if tries(step, rule)]
    closest = _closest(index, step.index)
    if not tried or closest is None:
        *outer, stage = map(str, step.at.stages)
        return f"{stage[:1].upper()}{stage[1:]} changed nothing{f' in {outer[1]}' if len(outer) > 1 else ''}."
    layers = index.nodes_text(step.index, np.flatnonzero(index.state(step.index).present))
    on = f"the parameters of {layers}" if name == "parameters" else layers
    refusal, count = closest
    more = "at least " if step.refusals_over.get(refusal.pattern) else ""
    what = "node" if name == "parameters" else index.noun
    verb = "was" if len(tried) == 1 else "were"
    reason = _reason(step, refusal).replace("layer", what)
    return (
        f"No pattern matched. {plural(len(tried), 'pattern')} {verb} tried on {on}. Closest: {refusal.pattern}, "
        f"{more}{plural(count, 'time')} blocked at its {ordinal(refusal.entry + 1)} {what} because {reason}."
    )


def _reason(step: Step, refusal: Refusal) -> str:
    """Return why attempts like one were refused; what a rule that declined has said, if it says the same of all."""
    if refusal.kind is not RefusalKind.DECLINED or refusal.is_switched_off:
        return refusal.summary
    said = {miss.refusal.cause for miss in step.refusals if miss.refusal.pattern == refusal.pattern}
    return said.pop() if len(said) == 1 else refusal.summary


@cached
def _closest(index: TraceIndex, step: int) -> tuple[Refusal, int] | None:
    return closest([miss.refusal for miss in index.step(step).refusals])
