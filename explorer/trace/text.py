"""A trace as a table of text, and the graph of a step for Graphviz."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from explorer.graph import Graph
from explorer.trace.ladder import Level
from explorer.trace.records import NodeKind, NodeRecord
from explorer.trace.steps import Step

if TYPE_CHECKING:
    from graphviz import Digraph  # pyright: ignore[reportMissingTypeStubs]


VISIBLE = {
    **{code: f"\\x{code:02x}" for code in (*range(10), *range(11, 32), *range(127, 160))},
    **{code: f"\\u{code:04x}" for code in (0x61C, *range(0x200E, 0x2010), *range(0x2028, 0x202F))},
    **{code: f"\\u{code:04x}" for code in (*range(0x2066, 0x206A), *range(0xD800, 0xE000))},
}
"""Characters that a name in a file must not send to a terminal, as text: controls but line feeds, what separates or
reverses lines, and halves of characters, which cannot be written."""
CONTROL = {code: text for code, text in VISIBLE.items() if chr(code) != "\t"}
"""The same without tabs, which messages contain."""


def steps_text(steps: Sequence[Step], level: Level, every_step: bool) -> str:
    """One row per step: number, path, calls and layers afterwards, time, what happened; then notes, limits and errors.

    Without `every_step`, steps that changed nothing are counted below the table. The words are as on the page: a
    folded layer is one call for several layers. A program has instructions, buffers and peak memory instead.
    """
    rows = [("step", "path", *level.sizes, "ms", "what happened")]
    for before, step in zip((None, *steps), steps, strict=False):
        if not (every_step or step.matters):
            continue
        what = outcome_text(step, before)
        rows.append((str(step.index), step.path, *_sizes(step, level), f"{step.seconds * 1000:.1f}", what))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    lines = [_line(row, widths) for row in rows]
    lines.insert(1, "-" * max(len(line) for line in lines))
    if hidden := len(steps) + 1 - len(rows):
        noun = "step" if hidden == 1 else "steps"
        lines.append(f"({hidden} {noun} changed nothing; all: trace.table(), or the option --steps of `show`)")
    lines += [note for step in steps for note in step.notes]
    lines += [f"! {limit.message}" for step in steps for limit in step.limits]
    return "\n".join(lines).translate(VISIBLE)


def outcome_text(step: Step, before: Step | None) -> str:
    """A few words on what a step did; of one that only moved values in time or memory, what that bought."""
    memory = step.snapshot.memory
    earlier = None if before is None else before.snapshot.memory
    moved = [rewrite for rewrite in step.rewrites if not rewrite.removed and not rewrite.added]
    if memory is None or earlier is None or not moved or len(moved) < len(step.rewrites):
        return step.summary
    figures = (
        ("peak memory", earlier.size_bytes, memory.size_bytes),
        ("alive at once", earlier.lower_bound_bytes, memory.lower_bound_bytes),
    )
    bought = [f"{name} {old:,} → {new:,} bytes" for name, old, new in figures if old != new]
    return ", ".join(bought) or "no less memory than before"


def _sizes(step: Step, level: Level) -> tuple[str, ...]:
    """The numbers below the headings `level.sizes`."""
    if level.size_stats:
        return tuple(f"{step.snapshot.stats[name]:,}" for name in level.size_stats)
    memory = step.snapshot.memory
    if memory is None:
        return tuple(map(str, step.snapshot.size))
    return tuple(f"{count:,}" for count in (len(memory.order), len(memory.buffers), memory.size_bytes))


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    """A row in columns; all but the path and what happened are numbers."""
    cells = [cell.ljust(w) if i == 1 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=False))]
    return "  ".join([*cells, row[-1]]).rstrip()


SHAPES: Mapping[NodeKind, str] = {
    "input": "ellipse",
    "sum": "box",
    "product": "octagon",
    "fused": "box",
    "matmul": "box",
    "view": "box",
    "operator": "box",
    "leaf": "ellipse",
}
"""Graphviz's shape of each kind of node; sums and fused layers have round corners."""


def graphviz_of(graph: Graph[NodeRecord], name: str) -> "Digraph":
    """Return the graph for the package `graphviz`, inputs at the bottom; outputs have a double border."""
    from graphviz import Digraph, escape  # pyright: ignore[reportMissingTypeStubs]

    drawn = Digraph(
        name,
        graph_attr={"rankdir": "BT"},
        node_attr={"fontname": "sans-serif", "fontsize": "11", "margin": "0.12,0.06"},
        edge_attr={"arrowsize": "0.6"},
    )
    for node, record in graph.nodes.items():
        border = {"peripheries": "2"} if node in graph.outputs else {}
        style = {"style": "rounded"} if record.kind in ("sum", "fused") else {}
        drawn.node(str(node), escape(_label(node, record)), shape=SHAPES[record.kind], **style, **border)  # pyright: ignore[reportUnknownMemberType]
    for node, sources in graph.inputs.items():
        for source in sources:
            drawn.edge(str(source), str(node))  # pyright: ignore[reportUnknownMemberType]
    return drawn


def _label(node: int, record: NodeRecord) -> str:
    """Return the title with the number of folds, then the number of the node and the shapes of its parameters."""
    folds = f" ×{record.num_folds}" if record.num_folds > 1 else ""
    shapes = ["×".join(map(str, parameter.shape)) for parameter in record.parameters.values()]
    return f"{record.title}{folds}\n{' '.join([f'#{node}', *shapes])}"
