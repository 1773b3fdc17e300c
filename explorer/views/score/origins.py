"""The marks before a step from which those after it come."""

from explorer.views.index import TraceIndex, cached
from explorer.views.score.calls import calls_at


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
