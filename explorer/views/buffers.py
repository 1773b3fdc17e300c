"""The buffers of a program over time: when each is alive, where it lies, and where the most memory is needed."""

from collections.abc import Mapping, Sequence

from explorer.graph import Graph
from explorer.trace import SHARING_WORDS, BufferRecord, MemoryRecord, NodeRecord
from explorer.views.box import ShownMode
from explorer.views.index import TraceIndex, cached
from explorer.views.layer_spans import layer_spans, layer_words, undrawn_layers
from explorer.views.words import bytes_text, list_text, plural
from explorer_widgets.schema import BuffersView, BufferView, ByteScaleView, ListedView, SectionView

MAX_TICKS = 3
"""Maximum number of ticks of an axis of bytes above zero."""
MAX_RATIO = 16
"""Beyond it, what is drawn before and after a step has two scales."""
PARTS = {"parameters": "parameters", "forward": "forward pass", "backward": "backward pass"}
"""The names of the parts of a program."""


def buffers_of(index: TraceIndex, step: int, shown: ShownMode) -> BuffersView | None:
    """Return the buffers after a step, or before it; None at levels without buffers."""
    at = max(step - 1, 0) if shown == "before" else step
    found = state_of_buffers(index, at)
    return None if found is None else {**found, "scale": scale_of(index, step, at)}


@cached
def state_of_buffers(index: TraceIndex, step: int) -> BuffersView | None:
    """Return the buffers after a step on a scale of their own; None at levels without buffers."""
    memory = index.trace.steps[step].snapshot.memory
    if memory is None:
        return None
    names = names_at(index, step)
    live = list(memory.live_bytes)
    most = max(live, default=0)
    return {
        "buffers": _bars(index, memory, index.trace.steps[step].snapshot.graph, names),
        "moments": [names[node] for node in memory.order],
        "runs": list(memory.order),
        "scale": _scale(height_of(memory)),
        "live": live,
        "peak": live.index(most) if live else 0,
        "planned": memory.is_planned,
        "text": memory_text(memory, index.trace.level.buffer),
        "parts": [(moment, PARTS[name]) for moment, name in memory.parts],
        "peak_text": index.trace.level.most_alive.format(bytes_text(most)),
        "noun": index.trace.level.buffer,
        "listing_text": f"The {index.trace.level.listing} as text",
        "layers": layer_spans(index, step, memory),
        "undrawn_layers": undrawn_layers(index, step, memory),
        "listing": listing_of(memory),
        "reasons": [(reason.one, reason.other, reason.why) for reason in memory.call_reasons()],
        "sharing_words": SHARING_WORDS,
    }


def scale_of(index: TraceIndex, step: int, at: int) -> ByteScaleView:
    """Return the axis of bytes of the state after the step `at`: that which the states before and after a step share.

    A plan that would be a line on it has a scale of its own.
    """
    around = (index.trace.steps[one].snapshot.memory for one in (max(step - 1, 0), step))
    height = max((height_of(memory) for memory in around if memory is not None), default=0)
    own = index.trace.steps[at].snapshot.memory
    is_line = own is not None and own.is_planned and own.size_bytes * MAX_RATIO < height
    return _scale(own.size_bytes if own is not None and is_line else height)


@cached
def names_at(index: TraceIndex, step: int) -> Mapping[int, str]:
    """Return the name of each instruction after a step: `#12 exp`."""
    graph = index.trace.steps[step].snapshot.graph
    return {node: f"#{node} {record.title}" for node, record in graph.nodes.items()}


def height_of(memory: MemoryRecord) -> int:
    """Return the bytes up to which buffers are drawn: those of the plan, or of all buffers above one another."""
    return memory.size_bytes if memory.is_planned else sum(buffer.size_bytes for buffer in memory.buffers)


def _scale(height: int) -> ByteScaleView:
    """Return an axis with round ticks: 1, 2, 4 ... 512 of a unit."""
    step = 1
    while step * MAX_TICKS < height:
        step *= 2
    return {"height": height, "ticks": [(at, bytes_text(at)) for at in range(0, height + 1, step)]}


def listing_of(memory: MemoryRecord) -> list[ListedView]:
    """Return the program as text, a line for each instruction, with the moment before or at which it is."""
    found: list[ListedView] = []
    moment = 0
    runs = set(memory.order)
    for number, text in memory.listing:
        found.append((number if number in runs else -1, moment, text))
        moment += number in runs
    return found


def memory_text(memory: MemoryRecord, noun: str = "buffer") -> str:
    """Say how much memory is needed, and whether it could be less; `noun` is that of what is kept."""
    if not memory.buffers:
        return f"No {noun}s: every result is an output or a view."
    buffers = plural(len(memory.buffers), noun)
    bound = memory.lower_bound_bytes
    if not memory.is_planned:
        total = sum(buffer.size_bytes for buffer in memory.buffers)
        each = f"{buffers} of {bytes_text(total)} in all, each with memory of its own, drawn one above the other"
        return f"{each}; at most {bytes_text(bound)} are alive at once."
    kept = memory.kept_bytes
    waiting = f" The forward pass leaves {bytes_text(kept)} to the backward pass." if kept else ""
    placed = f"{buffers}, each drawn at its place in {bytes_text(memory.size_bytes)}"
    if memory.size_bytes == bound:
        return f"{placed}, the least possible: that much is alive at once.{waiting}"
    least = f"{bytes_text(bound)} are alive at once, so no plan needs less."
    return f"{placed}; {least}{waiting}"


def memory_section(index: TraceIndex, step: int, node: int) -> SectionView:
    """Describe which buffers an instruction reads and writes, and who else uses their memory."""
    memory = index.trace.steps[step].snapshot.memory
    used = [] if memory is None else [buffer for buffer in memory.buffers if node in buffer.users]
    rows: list[list[str]] = []
    if memory is not None and used:
        names = names_at(index, step)
        access = memory.accesses[node]
        for heading, sign in (("reads", "r"), ("writes", "w")):
            texts = [_place_text(buffer) for buffer in used if sign in access[buffer.id]]
            rows += [[heading, *texts]] if texts else []
        over = [f"%{buffer.id}" for buffer in used if access[buffer.id] == "rw"]
        rows.append(["in place", f"yes, it overwrites {', '.join(over)}" if over else "no"])
        for buffer in used:
            users = [names[user] for user in buffer.users if user != node]
            rows.append([f"%{buffer.id} is also used by", list_text(users, 6) if users else "nothing"])
            others = [f"%{other.id}" for other in memory.buffers if buffer.shares_bytes(other)]
            if others:
                rows.append([f"%{buffer.id} shares memory with", f"{list_text(others, 6)}, at other times"])
    return {"heading": "Memory", "rows": rows, "lines": []}


def _place_text(buffer: BufferRecord) -> str:
    place = "" if buffer.offset is None else f" at byte {buffer.offset:,}"
    return f"%{buffer.id}: {buffer.type}, {bytes_text(buffer.size_bytes)}{place}"


def _bars(
    index: TraceIndex, memory: MemoryRecord, graph: Graph[NodeRecord], names: Mapping[int, str]
) -> list[BufferView]:
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
                "text": _buffer_text(buffer, memory.order, names, "" if writer is None else layer_words(index, writer)),
                "users": list(buffer.users),
            }
        )
    return found


def _buffer_text(buffer: BufferRecord, order: Sequence[int], names: Mapping[int, str], layer: str) -> str:
    if not buffer.users:
        return f"{_place_text(buffer)}; nothing uses it"
    last = buffer.end - 1
    until = names[order[last]] if last < len(order) else "the end"
    writer = f"{names[buffer.users[0]]}{f' of {layer}' if layer else ''}"
    return f"{_place_text(buffer)}; written by {writer}, alive until {until}"
