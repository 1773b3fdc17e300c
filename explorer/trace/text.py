"""A trace as a table of text."""

from collections.abc import Sequence

from explorer.trace.ladder import Level
from explorer.trace.steps import Step


def steps_text(steps: Sequence[Step], level: Level) -> str:
    """One row per step: number, path, calls and layers afterwards, time, what happened; then notes, limits and errors.

    The words are those of the page: a folded layer is one call for several layers. A program has instructions, buffers
    and peak memory instead.
    """
    rows = [("step", "path", *level.sizes, "ms", "what happened")]
    for step in steps:
        rows.append((str(step.index), step.path, *_sizes(step), f"{step.seconds * 1000:.1f}", step.summary))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    lines = [_line(row, widths) for row in rows]
    lines.insert(1, "-" * max(len(line) for line in lines))
    lines += [note for step in steps for note in step.notes]
    lines += [f"! {limit.message}" for step in steps for limit in step.limits]
    return "\n".join(lines)


def _sizes(step: Step) -> tuple[str, ...]:
    """The numbers below the headings `level.sizes`."""
    memory = step.snapshot.memory
    if memory is None:
        return tuple(map(str, step.snapshot.size))
    return tuple(f"{count:,}" for count in (len(memory.order), len(memory.buffers), memory.size_bytes))


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    """A row in columns; all but the path and what happened are numbers."""
    cells = [cell.ljust(w) if i == 1 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=False))]
    return "  ".join([*cells, row[-1]]).rstrip()
