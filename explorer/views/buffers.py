"""The buffers of a program over time: when each is alive, where it lies, and where the most memory is needed."""

from collections.abc import Mapping

from explorer.graph import Graph
from explorer.trace import BufferRecord, MemoryRecord, NodeRecord
from explorer.views.box import ShownMode
from explorer.views.index import TraceIndex
from explorer.views.words import bytes_text, plural
from widgets.schema import BuffersView, BufferView


def buffers_of(index: TraceIndex, step: int, shown: ShownMode) -> BuffersView | None:
    """Return the buffers after a step, or before it; None at levels without buffers."""
    after = index.trace.steps[step].snapshot.memory
    before = index.trace.steps[max(step - 1, 0)].snapshot.memory
    if after is None or before is None:
        return None
    at = max(step - 1, 0) if shown == "before" else step
    memory = before if shown == "before" else after
    graph = index.trace.steps[at].snapshot.graph
    names = {node: f"#{node} {record.title}" for node, record in graph.nodes.items()}
    live = list(memory.live_bytes)
    most = max(live, default=0)
    return {
        "buffers": _bars(memory, graph, names),
        "moments": [names[node] for node in memory.order],
        "height": max(height_of(before), height_of(after)),
        "live": live,
        "peak": live.index(most) if live else 0,
        "planned": memory.is_planned,
        "text": memory_text(memory),
        "peak_text": f"peak {bytes_text(most)}",
    }


def height_of(memory: MemoryRecord) -> int:
    """Return the bytes up to which buffers are drawn: those of the plan, or of all buffers above one another."""
    return memory.size_bytes if memory.is_planned else sum(buffer.size_bytes for buffer in memory.buffers)


def memory_text(memory: MemoryRecord) -> str:
    """Say how much memory is needed, and whether it could be less."""
    if not memory.buffers:
        return "No buffers: every result is an output or a view."
    buffers = plural(len(memory.buffers), "buffer")
    bound = memory.lower_bound_bytes
    if not memory.is_planned:
        total = sum(buffer.size_bytes for buffer in memory.buffers)
        each = f"{buffers} of {bytes_text(total)} in all, each with memory of its own"
        return f"{each}; at most {bytes_text(bound)} are alive at once."
    if memory.size_bytes == bound:
        return f"{buffers} in {bytes_text(memory.size_bytes)}, the least possible: so much is alive at once."
    return (
        f"{buffers} in {bytes_text(memory.size_bytes)}; {bytes_text(bound)} are alive at once, so no plan needs less."
    )


def _bars(memory: MemoryRecord, graph: Graph[NodeRecord], names: Mapping[int, str]) -> list[BufferView]:
    """Return a bar for each buffer; those without a place lie above one another in the order of their allocation."""
    found: list[BufferView] = []
    stacked = 0
    for buffer in memory.buffers:
        bottom = stacked if buffer.offset is None else buffer.offset
        stacked += buffer.size_bytes
        writer = graph.nodes[buffer.users[0]] if buffer.users else None
        found.append(
            {
                "id": buffer.id,
                "start": buffer.start,
                "end": buffer.end,
                "bottom": bottom,
                "bytes": buffer.size_bytes,
                "kind": writer.kind if writer is not None else "operator",
                "label": f"%{buffer.id} {buffer.type}",
                "text": _buffer_text(buffer, memory, names),
                "users": list(buffer.users),
            }
        )
    return found


def _buffer_text(buffer: BufferRecord, memory: MemoryRecord, names: Mapping[int, str]) -> str:
    size = f"%{buffer.id}: {buffer.type}, {bytes_text(buffer.size_bytes)}"
    place = "" if buffer.offset is None else f" at byte {buffer.offset:,}"
    if not buffer.users:
        return f"{size}{place}; nothing uses it"
    last = buffer.end - 1
    until = names[memory.order[last]] if last < len(memory.order) else "the end"
    return f"{size}{place}; written by {names[buffer.users[0]]}, alive until {until}"
