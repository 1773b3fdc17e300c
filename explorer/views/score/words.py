"""Words of the score: what a step no longer writes, what moves, and why seams stay."""

from collections import Counter
from collections.abc import Iterable, Sequence

from explorer.views.index import TraceIndex
from explorer.views.messages import rules_text, step_words
from explorer.views.score.calls import Call, Tensor, calls_at, parts_at, tensor_of
from explorer.views.score.seams import SEAM_SIGNS, SEAM_WORDS, Seam, SeamKind, seams_at
from explorer.views.words import bytes_text, plural

SAVE = "save for backward"
"""The rule by which a value of the forward part of a training step is saved."""
MAX_VALUES = 3
"""Maximum number of values that the headline names."""


def moved_bytes(calls: Iterable[Call]) -> int:
    """Return the bytes of values that calls read and write."""
    return sum(call.read + call.written for call in calls if not call.is_input)


def written_bytes(calls: Iterable[Call]) -> int:
    """Return the bytes of values that calls write."""
    return sum(call.written for call in calls if not call.is_input)


def count_of(calls: Iterable[Call]) -> int:
    """Return the number of calls without inputs."""
    return sum(not call.is_input for call in calls)


def headline_of(index: TraceIndex, step: int) -> tuple[str, str]:
    """Return calls and bytes written before and after a step; and bytes moved, and the first and the largest state."""
    now, before, first = (calls_at(index, at) for at in (step, max(step - 1, 0), index.trace.start))
    counts = [count_of(calls) for calls in (before, now)]
    count = f"{counts[0]:,} → {counts[1]:,} calls" if counts[0] != counts[1] else plural(counts[1], "call")
    changing = [at.index for at in index.trace.steps if at.changed and index.trace.start < at.index <= step]
    most = max(changing, key=lambda at: moved_bytes(calls_at(index, at)), default=step)
    others = [(index.trace.level.begins, first)] if step > index.trace.start else []
    largest = calls_at(index, most)
    if most != step and moved_bytes(largest) > max(moved_bytes(first), moved_bytes(now)):
        others.append((f"after {rules_text(index, index.step(most)) or step_words(index.step(most))}", largest))
    moved = f"read and written: {_change(moved_bytes(before), moved_bytes(now))}"
    besides = [f"{name}: {plural(count_of(calls), 'call')}, {bytes_text(moved_bytes(calls))}" for name, calls in others]
    written = f"{_change(written_bytes(before), written_bytes(now))} written to memory"
    return f"{count},  {written}", "; ".join([moved, *besides])


def _change(before: int, after: int) -> str:
    old, new = bytes_text(before), bytes_text(after)
    return f"{old} → {new}" if old != new else new


def done_text(index: TraceIndex, step: int) -> str:
    """Say what a step did with calls: which were fused, removed or folded into others, and how many became how many."""
    entry = index.step(step)
    before, after = ({one.node: one for one in calls_at(index, at) if not one.is_input} for at in (step - 1, step))
    counts = (len(before), len(after))
    change = f"{counts[0]:,} → {counts[1]:,}" if counts[0] != counts[1] else f"still {counts[1]:,}"
    if entry.pairs is not None:
        fused = entry.pairs[0]
        total = f"{counts[0]:,} − {fused:,} = {counts[1]:,}" if counts[0] - fused == counts[1] else change
        several = ", some calls into several others" if fused > counts[0] - counts[1] else ""
        return f"{plural(fused, 'pair')} of calls {'is' if fused == 1 else 'are'} fused{several}: {total} calls"
    removed, folded, split = Counter[str](), Counter[tuple[str, str]](), dict[str, int]()
    old = new = same = again = 0
    for rewrite in entry.applied:
        gone = [before[node].title for node in rewrite.removed if node in before]
        made = [after[node].title for node in rewrite.added if node in after]
        if gone and not made:
            removed.update(gone)
        elif len(made) > len(gone) > 0 and {*rewrite.removed} <= {*rewrite.added}:
            again += len(made) - len(gone)
        elif len(gone) == 2 and len(made) == 1 and made[0] in gone and len({*gone}) == 2 and "+" not in "".join(gone):
            folded[next(title for title in gone if title != made[0]), made[0]] += 1
        elif made and sorted(gone) != sorted(made):
            old, new = old + len(gone), new + len(made)
            if len(gone) == 1:
                split[gone[0]] = max(split.get(gone[0], 0), len(made))
        else:
            same += len(gone)
    saved = sum(rewrite.rule == SAVE for rewrite in entry.applied)
    training = ((saved, "value", "saved for backward"), (again, "call", "computed a second time"))
    parts = [f"{plural(count, noun)} {'is' if count == 1 else 'are'} {what}" for count, noun, what in training if count]
    parts += [
        f"{count:,} {title} {'is' if count == 1 else 'are'} removed" for title, count in removed.most_common(MAX_VALUES)
    ]
    parts += [
        f"{count:,} {title} {'is' if count == 1 else 'are'} folded into {'a' if count == 1 else 'their'} {into}"
        for (title, into), count in folded.most_common(MAX_VALUES)
    ]
    if old or new:
        largest = sorted(((count, title) for title, count in split.items() if count > 1), reverse=True)[:2]
        each = f" ({', '.join(f'a {title} becomes {count}' for count, title in largest)})" if largest else ""
        became = (
            f"{plural(old, 'call')} {'becomes' if old == 1 else 'become'} {new:,}"
            if old
            else f"{plural(new, 'new call')}"
        )
        became = f"{plural(old, 'call')} replaced" if old == new else became
        parts.append(became + each)
    if not parts:
        is_moved = [*before] != [*after] and {*before} == {*after}
        moved = "the calls run in another order" if is_moved else "no call is added or removed"
        parts.append(f"{plural(same, 'call')} rewritten" if same else moved)
    return "; ".join(parts) + ("" if (old, new) == counts else f": {change} calls")


def meaning_of_step(index: TraceIndex, step: int) -> str:
    """Return what the rules of a step do, in the words of the adapter: `lower: replace operators by loops.`."""
    rules = dict.fromkeys(rewrite.rule for rewrite in index.step(step).applied)
    docs = [(name, index.rules[name].doc) for name in rules if name in index.rules and index.rules[name].doc]
    return " ".join(
        f"{name[:1].upper()}{name[1:]}: {doc if doc[:2].isupper() else doc[:1].lower() + doc[1:]}" for name, doc in docs
    )


def vanished_of(index: TraceIndex, step: int) -> list[tuple[str, Tensor]]:
    """Return the values that calls wrote before a step and that none writes after it, with the calls' titles."""
    if step <= index.trace.start:
        return []
    before = {call.node: call for call in calls_at(index, step - 1)}
    order = {node: at for at, node in enumerate(before)}
    after = {call.node: call for call in calls_at(index, step)}
    found: list[tuple[str, Tensor]] = []
    for rewrite in index.step(step).applied:
        if rewrite.parameter_path:
            continue
        left = Counter(one.num_bytes for node in rewrite.added if node in after for one in after[node].results)
        gone = [before[node] for node in rewrite.removed if node in before]
        for call in sorted(gone, key=lambda one: -order[one.node]):  # the value of the last one stays
            for tensor in call.results if not call.is_input else ():
                if left[tensor.num_bytes]:
                    left[tensor.num_bytes] -= 1
                elif tensor.num_bytes:
                    found.append((call.title, tensor))
    return found


def vanished_text(index: TraceIndex, step: int) -> str:
    """Say which values are no longer written after a step; otherwise which stay inside calls."""
    gone = vanished_of(index, step)
    if gone:
        return f"No longer written in this step: {_sum_text(gone)}: {_list(gone)}"
    inside = [(call.title, tensor) for call in calls_at(index, step) for tensor in call.inside]
    kept = [(call.title, tensor) for call in calls_at(index, step) for tensor in call.kept]
    parts = [f"never written: {_sum_text(inside)}: {_list(inside)}"] if inside else []
    parts += [f"in a buffer that only its call reads: {_sum_text(kept)}"] if kept else []
    return f"Inside calls by all steps so far, {'; '.join(parts)}" if parts else ""


def saved_text(index: TraceIndex, step: int) -> str:
    """Count the values that a training step saves for backward: `6 values, 5.38 KiB`; empty before that is decided."""
    for entry in index.trace.steps[: step + 1]:
        matches = [match for match in entry.matches if match.rule == SAVE]
        if matches:
            state = index.before(entry.index)
            records = [index.record(int(state.node[match.root])) for match in matches]
            sizes = [tensor_of(str(text)).num_bytes for record in records for text in record.config.get("results", ())]
            return f"{plural(len(records), 'value')}, {bytes_text(sum(sizes))}"
    return ""


def _sum_text(values: Sequence[tuple[str, Tensor]]) -> str:
    return f"{plural(len(values), 'value')}, {bytes_text(sum(tensor.num_bytes for _, tensor in values))}"


def _list(values: Sequence[tuple[str, Tensor]]) -> str:
    counts = Counter((title, tensor.text, tensor.num_bytes) for title, tensor in values)
    largest = sorted(counts.items(), key=lambda item: -item[0][2] * item[1])
    texts = [f"{f'{count} × ' if count > 1 else ''}{text} of {title}" for (title, text, _), count in largest]
    more = len(texts) - MAX_VALUES
    return ", ".join(texts[:MAX_VALUES]) + (f" and {plural(more, 'other kind')}" if more > 0 else "")


def seam_lines(calls: Sequence[Call], seams: Sequence[Seam]) -> list[tuple[SeamKind, str, str]]:
    """Return the kind and words of each reason, and a line, the refusals first: `× refused because: ... · 3 seams`.

    These are the reasons that a sign between neighbours shows; `apart_line` counts the pairs further apart.
    """
    order: Sequence[SeamKind] = tuple(SEAM_WORDS)
    groups: dict[tuple[SeamKind, str], list[Seam]] = {}
    for seam in seams:
        if seam.is_near:
            groups.setdefault((seam.kind, seam.words), []).append(seam)
    ranked = sorted(groups.items(), key=lambda item: order.index(item[0][0]))
    return [
        (kind, words, f"{SEAM_SIGNS[kind]} {same[0].reason} · {_where(calls, same)}") for (kind, words), same in ranked
    ]


def _where(calls: Sequence[Call], seams: Sequence[Seam]) -> str:
    """Count seams; name a pair that is alone."""
    if len(seams) == 1:
        return f"{calls[seams[0].one].title} | {calls[seams[0].other].title}"
    return plural(len(seams), "seam")


def apart_line(seams: Sequence[Seam]) -> str:
    """Count what was decided about calls that are not neighbours; empty if nothing was.

    >>> apart_line([Seam(0, 2, "refused", "no shared data"), Seam(1, 5, "later", "")])
    'Of calls further apart, which have no seam: 1 pair refused, 1 pair fused later. Select a call to see its arcs.'
    """
    said = {kind: words.removesuffix(" because").replace(", no", " without a") for kind, words in SEAM_WORDS.items()}
    counts = Counter(said[seam.kind].removesuffix(" given") for seam in seams if not seam.is_near)
    found = ", ".join(f"{plural(count, 'pair')} {what}" for what, count in counts.most_common())
    return f"Of calls further apart, which have no seam: {found}. Select a call to see its arcs." if found else ""


def call_rows(index: TraceIndex, step: int, node: int) -> list[list[str]]:
    """Return in words what a call runs, reads and writes; nothing for what is not called."""
    call = next((call for call in calls_at(index, step) if call.node == node and not call.is_input), None)
    if call is None:
        return []
    rows = [
        ["in training", ", ".join(filter(None, (parts_at(index, step).get(node, ""), call.training)))],
        ["runs", ", ".join(call.operators)],
        ["calls the library", call.library],
        ["reads", bytes_text(call.read)],
        ["writes", f"{bytes_text(call.written)}: {_types_text(call.results)}"],
        ["weights", bytes_text(call.parameters) if call.parameters else ""],
        ["stays inside", _types_text(call.inside)],
        ["kept in buffers", _types_text(call.kept)],
        ["of modules", ", ".join(call.modules)],
    ]
    return [row for row in rows if row[1]]


def _types_text(tensors: Sequence[Tensor]) -> str:
    counts = Counter(tensor.text for tensor in tensors)
    return ", ".join(f"{f'{count} × ' if count > 1 else ''}{text}" for text, count in counts.items())


def seam_rows(index: TraceIndex, step: int, node: int) -> list[list[str]]:
    """Return the other side of each seam of a call, and why it stays or when both are fused."""
    calls = calls_at(index, step)
    at = next((place for place, call in enumerate(calls) if call.node == node), -1)
    return [
        [f"with {calls[other].title} #{calls[other].node}", seam.text]
        for seam in seams_at(index, step)
        if at in (seam.one, seam.other)
        for other in [seam.one + seam.other - at]
    ]
