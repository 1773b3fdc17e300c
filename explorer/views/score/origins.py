"""The marks before a step from which those after it come, and the captured calls that a call is a part of."""

from collections import Counter
from collections.abc import Mapping

from explorer.views.index import TraceIndex, cached
from explorer.views.score.calls import calls_at, parts_at


@cached
def origins_at(index: TraceIndex, step: int) -> dict[str, str]:
    """Return for each frame, operator and tensor that a step made the mark before the step that it came out of."""
    found: dict[str, str] = {}
    if step <= index.trace.start:
        return found
    before = {call.node: call for call in calls_at(index, step - 1)}
    order = {node: at for at, node in enumerate(before)}
    after = {call.node: call for call in calls_at(index, step)}
    for rewrite in index.step(step).applied:
        old = sorted((node for node in rewrite.removed if node in before), key=order.__getitem__)
        cells = [(node, at, name) for node in old for at, name in enumerate(before[node].operators)]
        left = list(cells)
        made = [
            (node, at, name) for node in rewrite.added if node in after for at, name in enumerate(after[node].operators)
        ]
        for number, (node, at, name) in enumerate(made):
            same = next((one for one in left if one[2] == name), None)
            if same is not None:
                left.remove(same)
            elif cells:
                same = cells[number * len(cells) // len(made)]
            if same is not None:
                found[f"c{node}.{at}"] = f"c{same[0]}.{same[1]}"
                found.setdefault(f"f{node}", f"f{same[0]}")
                found[f"b{node}.0"] = f"b{same[0]}.0"
    return found


@cached
def made_at(index: TraceIndex, step: int) -> dict[int, tuple[int, list[int]]]:
    """Return for each call that a step made of different ones their number, and where the operators of each begin."""
    found: dict[int, tuple[int, list[int]]] = {}
    before, after = ({call.node: call for call in calls_at(index, at)} for at in (max(step - 1, 0), step))
    for rewrite in index.step(step).applied if step > index.trace.start else ():
        old = [node for node in rewrite.removed if node in before]
        made = [node for node in rewrite.added if node in after]
        for node in made:
            operators = after[node].operators
            homes = [origins_at(index, step).get(f"c{node}.{at}", "").partition(".")[0] for at in range(len(operators))]
            count = len(old) if len(made) == 1 else len({*homes})
            is_same = len(made) == 1 and [before[one].operators for one in old] == [operators]
            if count > 1 or not (is_same or node in before):
                found[node] = (count, [at for at in range(1, len(homes)) if homes[at] != homes[at - 1]])
    return found


@cached
def names_at(index: TraceIndex, step: int) -> Mapping[int, str]:
    """Return the title of each call after a step; captured operators that others compute, too, are named as parts."""
    captured, calls, computed = _captured(index), calls_at(index, step), _computed_at(index, step)
    part = parts_at(index, step)
    homes = Counter((part.get(call.node), one) for call in calls for one in computed.get(call.node, ()))
    found: dict[int, str] = {}
    for call in calls:
        parts = {captured[one] for one in computed.get(call.node, ()) if homes[part.get(call.node), one] > 1}
        found[call.node] = " + ".join(f"{one} (part)" if one in parts else one for one in call.title.split(" + "))
    return found


def _captured(index: TraceIndex) -> Mapping[int, str]:
    """The titles of the captured calls."""
    return {call.node: call.title for call in calls_at(index, index.trace.start) if not call.is_input}


@cached
def _computed_at(index: TraceIndex, step: int) -> Mapping[int, frozenset[int]]:
    """Return for each call up to a step the captured calls that it computes, or parts of them.

    If several calls replace those of several captured ones, these are known by their titles only.
    """
    captured = _captured(index)
    found = {node: frozenset((node,)) for node in captured}
    for entry in index.trace.steps[index.trace.start + 1 : step + 1]:
        if not entry.changed:
            continue
        after = {call.node: call for call in calls_at(index, entry.index)}
        for rewrite in entry.applied:
            old = frozenset[int]().union(*(found.get(node, ()) for node in rewrite.removed))
            titles = Counter(captured[one] for one in old)
            made = [after[node] for node in rewrite.added if node in after]
            for call in made if not rewrite.parameter_path else ():
                named = {title for title in call.title.split(" + ") if titles[title] == 1}
                known = old if len(made) == 1 or len(old) == 1 else {one for one in old if captured[one] in named}
                found[call.node] = found.get(call.node, frozenset()) | known
    return found
