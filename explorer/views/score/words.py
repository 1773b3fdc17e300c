"""Words of the score: what a step no longer writes, what moves, and why seams stay."""

from collections import Counter
from collections.abc import Iterable, Sequence

from explorer.views.index import TraceIndex
from explorer.views.messages import rules_text
from explorer.views.score.calls import Call, Tensor, calls_at
from explorer.views.score.seams import SEAM_SIGNS, SEAM_WORDS, Seam, SeamKind, seams_at
from explorer.views.words import bytes_text, plural

MAX_VALUES = 3
"""Maximum number of values that the headline names."""


def moved_bytes(calls: Iterable[Call]) -> int:
    """Return the bytes of values that calls read and write."""
    return sum(call.read + call.written for call in calls if not call.is_input)


def count_of(calls: Iterable[Call]) -> int:
    """Return the number of calls without inputs."""
    return sum(not call.is_input for call in calls)


def headline_of(index: TraceIndex, step: int) -> tuple[str, str]:
    """Return calls and bytes before and after a step, and those of the first and of the largest state."""
    now, before, first = (calls_at(index, at) for at in (step, max(step - 1, 0), index.trace.start))
    counts, moved = ((count_of(calls), moved_bytes(calls)) for calls in (before, now))
    texts = [
        f"{counts[0]:,} → {moved[0]:,} calls" if counts[0] != moved[0] else plural(moved[0], "call"),
        f"{bytes_text(counts[1])} → {bytes_text(moved[1])} moved through memory"
        if bytes_text(counts[1]) != bytes_text(moved[1])
        else f"{bytes_text(moved[1])} moved through memory",
    ]
    changing = [at.index for at in index.trace.steps if at.changed and index.trace.start < at.index <= step]
    most = max(changing, key=lambda at: moved_bytes(calls_at(index, at)), default=step)
    others = [(index.trace.level.begins, first)] if step > index.trace.start else []
    largest = calls_at(index, most)
    if most != step and moved_bytes(largest) > max(moved_bytes(first), moved_bytes(now)):
        others.append((f"after {rules_text(index, index.step(most)) or index.step(most).at.words}", largest))
    besides = [f"{name}: {plural(count_of(calls), 'call')}, {bytes_text(moved_bytes(calls))}" for name, calls in others]
    return ",  ".join(texts), "; ".join(besides)


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
        total = sum(tensor.num_bytes for _, tensor in gone)
        return f"No longer written to memory: {plural(len(gone), 'value')}, {bytes_text(total)}: {_list(gone)}"
    inside = [(call.title, tensor) for call in calls_at(index, step) for tensor in call.inside]
    if not inside:
        return ""
    total = sum(tensor.num_bytes for _, tensor in inside)
    count = plural(len(inside), "value")
    return f"Never written, as they stay inside a call: {count}, {bytes_text(total)}: {_list(inside)}"


def _list(values: Sequence[tuple[str, Tensor]]) -> str:
    counts = Counter((title, tensor.text, tensor.num_bytes) for title, tensor in values)
    largest = sorted(counts.items(), key=lambda item: -item[0][2] * item[1])
    texts = [f"{f'{count} × ' if count > 1 else ''}{text} of {title}" for (title, text, _), count in largest]
    more = len(texts) - MAX_VALUES
    return ", ".join(texts[:MAX_VALUES]) + (f" and {plural(more, 'other kind')}" if more > 0 else "")


def seam_lines(calls: Sequence[Call], seams: Sequence[Seam]) -> list[tuple[SeamKind, str]]:
    """Return a line for each reason, the refusals first: `× refused because: no shared data (3 seams)`."""
    order: Sequence[SeamKind] = tuple(SEAM_WORDS)
    groups: dict[tuple[SeamKind, str], list[Seam]] = {}
    for seam in seams:
        groups.setdefault((seam.kind, seam.words), []).append(seam)
    ranked = sorted(groups.items(), key=lambda item: order.index(item[0][0]))
    return [
        (kind, f"{SEAM_SIGNS[kind]} {SEAM_WORDS[kind]}{f': {words}' if words else ''} ({_where(calls, same)})")
        for (kind, words), same in ranked
    ]


def _where(calls: Sequence[Call], seams: Sequence[Seam]) -> str:
    """Count seams, and other pairs; name a pair that is alone."""
    if len(seams) == 1:
        return f"{calls[seams[0].one].title} | {calls[seams[0].other].title}"
    near = sum(seam.is_near for seam in seams)
    far = len(seams) - near
    parts = [plural(near, "seam")] if near else []
    return ", ".join([*parts, f"{plural(far, 'pair')} further apart"] if far else parts)


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
