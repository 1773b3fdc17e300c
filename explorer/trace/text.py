"""A trace as a table of text."""

from collections.abc import Sequence

from explorer.trace.ladder import Level
from explorer.trace.steps import Step


def steps_text(steps: Sequence[Step], level: Level) -> str:
    """One row per step: number, path, calls and layers afterwards, time, what happened; then limits and errors.

    The words are those of the page: a folded layer is one call for several layers.
    """
    sizes = ("calls", "layers") if level.has_circuit else (f"{level.node}s", "slices")
    rows = [("step", "path", *sizes, "ms", "what happened")]
    for step in steps:
        sizes = tuple(map(str, step.snapshot.size))
        rows.append((str(step.index), step.path, *sizes, f"{step.seconds * 1000:.1f}", step.summary))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    lines = [_line(row, widths) for row in rows]
    lines.insert(1, "-" * max(len(line) for line in lines))
    lines += [f"! {limit.message}" for step in steps for limit in step.limits]
    return "\n".join(lines)


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    right = {0, 2, 3, 4}
    cells = [
        cell.rjust(w) if i in right else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=False))
    ]
    return "  ".join([*cells, row[-1]]).rstrip()
