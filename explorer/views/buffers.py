"""The buffers of a program over time: lifetimes, addresses, the peak; and their drawing as SVG."""

from bisect import insort
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from xml.sax.saxutils import escape

from explorer.graph import Graph
from explorer.trace import SHARING_WORDS, BufferRecord, MemoryRecord, NodeRecord
from explorer.views.boxes import ShownMode
from explorer.views.index import TraceIndex, cached
from explorer.views.layer_timings import layer_spans, layer_words, undrawn_layers
from explorer.views.looks import css
from explorer.views.plates.pen import path, rectangle
from explorer.views.words import bytes_text, list_text, plural
from explorer_widgets.schema import BuffersView, BufferView, ByteScaleView, LayerSpanView, ListedView, SectionView
from explorer_widgets.theme import LIGHT

HEIGHT, BAND, WORDS, PEAK, AXIS_WIDTH, GAP = 150.0, 24.0, 18.0, 20.0, 62.0, 30.0
"""Heights of the drawing, of the layers below it, of a line of words and of the peak's name; width of the axis; gap
between two drawings."""
NARROW = 0.12
"""The names of parts that take a smaller share of the time are in lines of their own."""
THIN = (0.003, 0.02)
"""The shares of the drawing's width and height below which a bar has no border."""
EDGE = 2.0
"""The height of the dark edge of the bars that are alive at the peak."""
MIN_LABEL_HEIGHT, CHARACTER = 14.0, 6.6
"""Bars that are lower than this, or narrower than their label, have no label."""

MAX_NAMED = 3
"""Maximum number of values that are named as those of the peak."""
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
    peak = live.index(most) if live else 0
    is_modelled = index.trace.level.is_memory_modelled
    text = modelled_text(memory, names, peak) if is_modelled else memory_text(memory, index.trace.level.buffer)
    return {
        "buffers": _bars(index, memory, index.trace.steps[step].snapshot.graph, names),
        "moments": [names[node] for node in memory.order],
        "runs": list(memory.order),
        "scale": _scale(height_of(index, memory)),
        "live": live,
        "peak": peak,
        "planned": memory.is_planned,
        "text": text,
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
    height = max((height_of(index, memory) for memory in around if memory is not None), default=0)
    own = index.trace.steps[at].snapshot.memory
    is_line = own is not None and own.is_planned and own.size_bytes * MAX_RATIO < height
    return _scale(own.size_bytes if own is not None and is_line else height)


@cached
def names_at(index: TraceIndex, step: int) -> Mapping[int, str]:
    """Return the name of each instruction after a step: `#12 exp`."""
    graph = index.trace.steps[step].snapshot.graph
    return {node: f"#{node} {record.title}" for node, record in graph.nodes.items()}


def height_of(index: TraceIndex, memory: MemoryRecord) -> int:
    """Return the height of the drawing in bytes: the plan, a model of it, or all buffers stacked."""
    if memory.is_planned:
        return memory.size_bytes
    bottoms = bottoms_of(index, memory)
    return max((bottom + one.size_bytes for bottom, one in zip(bottoms, memory.buffers, strict=True)), default=0)


def bottoms_of(index: TraceIndex, memory: MemoryRecord) -> list[int]:
    """Return where each buffer is drawn: at its place in the plan, else stacked, or by a model of an allocator."""
    found = [buffer.offset or 0 for buffer in memory.buffers]
    if memory.is_planned:
        return found
    if not index.trace.level.is_memory_modelled:
        return list(accumulate((one.size_bytes for one in memory.buffers), initial=0))[:-1]
    alive: list[tuple[int, int, int]] = []
    for at in sorted(range(len(found)), key=lambda at: memory.buffers[at].start):
        buffer = memory.buffers[at]
        alive = [one for one in alive if one[2] > buffer.start]
        for low, high, _ in alive:
            if low - found[at] >= buffer.size_bytes:
                break
            found[at] = max(found[at], high)
        insort(alive, (found[at], found[at] + buffer.size_bytes, buffer.end))
    return found


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
    """Say how much memory is needed, and whether it could be less; `noun` names what is kept."""
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


def modelled_text(memory: MemoryRecord, names: Mapping[int, str], peak: int) -> str:
    """Name the values that make the peak, and say that their places are a model."""
    alive = sorted((one for one in memory.buffers if one.start <= peak < one.end), key=lambda one: -one.size_bytes)
    largest = [f"{bytes_text(one.size_bytes)} of {names[one.users[0]]}" for one in alive[:MAX_NAMED] if one.users]
    more = f" and {plural(len(alive) - MAX_NAMED, 'other value')}" if len(alive) > MAX_NAMED else ""
    made = f"At the peak: {', '.join(largest)}{more}. " if largest else ""
    return f"{made}Modelled: a value is kept until its last reader, and put where there is room first."


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
    """Return a bar for each buffer."""
    found: list[BufferView] = []
    for buffer, bottom in zip(memory.buffers, bottoms_of(index, memory), strict=True):
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


def buffers_height(shown: Sequence[BuffersView]) -> float:
    """Return the height of some drawings next to one another."""
    if not shown:
        return 0.0
    lines = max(_lines_of_parts(buffers) for buffers in shown)
    return HEIGHT + max(map(_height_of_layers, shown)) + PEAK + (3 + max(0, lines - 1)) * WORDS


def buffers_svg(shown: Sequence[BuffersView], left: float, top: float, width: float) -> list[str]:
    """Return the elements of the buffers of one state, or of the states before and after, next to one another."""
    each = (width - GAP * (len(shown) - 1)) / max(1, len(shown))
    return [
        element
        for position, buffers in enumerate(shown)
        for element in _drawing(buffers, left + position * (each + GAP), top, each)
    ]


def _drawing(shown: BuffersView, left: float, top: float, width: float) -> list[str]:
    x, y, across = left + AXIS_WIDTH, top + WORDS + PEAK, width - AXIS_WIDTH
    per_moment = across / max(1, len(shown["moments"]))
    per_byte = HEIGHT / max(1, shown["scale"]["height"])
    bottom = y + HEIGHT
    found = [_text(left, top + 10, shown["text"])]
    for at, name in shown["scale"]["ticks"]:
        line = f"M{x:.1f} {bottom - at * per_byte:.1f}h{across:.1f}"
        found += [path(line, stroke="line"), _text(x - 6, bottom - at * per_byte + 4, name, "end")]
    peak = x + (shown["peak"] + 0.5) * per_moment
    highest = bottom - max(shown["live"], default=0) * per_byte
    found.append(path(f"M{peak:.1f} {y - 4:.1f}V{highest:.1f}", stroke="fg"))  # no line crosses the label of a bar
    for buffer in shown["buffers"]:
        rect = (
            x + buffer["start"] * per_moment,
            bottom - (buffer["bottom"] + buffer["bytes"]) * per_byte,
            (buffer["end"] - buffer["start"]) * per_moment,
            buffer["bytes"] * per_byte,
        )
        border = "" if is_thin(rect[2] / across, rect[3] / HEIGHT) else "panel"
        found += [path(rectangle(rect), fill=_role_of(buffer), stroke=border, width=0.75), *_label(buffer, rect)]
        if buffer["start"] <= shown["peak"] < buffer["end"] and border:
            found.append(path(rectangle((rect[0], rect[1] + rect[3] - EDGE, rect[2], EDGE)), fill="fg"))
    found += [*_parts(shown, x, y, per_moment), *_layers(shown, x, bottom, per_moment)]
    foot = bottom + _height_of_layers(shown) + 14
    if not shown["live"]:
        return found
    steps = [
        f"V{bottom - live * per_byte:.1f}H{x + (moment + 1) * per_moment:.1f}"
        for moment, live in enumerate(shown["live"])
    ]
    found.append(
        path(f"M{x:.1f} {y + HEIGHT:.1f}{''.join(steps)}V{y + HEIGHT:.1f}", stroke="fg", width=1.5, dash=(4, 3))
    )
    anchor = "end" if shown["peak"] * 2 > len(shown["moments"]) else "start"
    words = f"{shown['peak_text']} at {shown['moments'][shown['peak']]}"
    found.append(_text(peak + (4 if anchor == "end" else -4), y - 8, words, anchor))
    found += [_text(x, foot, shown["moments"][0]), _text(x + across / 2, foot, "time →", "middle")]
    return [*found, _text(x + across, foot, shown["moments"][-1], "end")]


def is_thin(width: float, height: float) -> bool:
    """Return whether the border of a bar would hide it, given its shares of the drawing's width and height."""
    return width < THIN[0] or height < THIN[1]


def _layers(shown: BuffersView, x: float, bottom: float, per_moment: float) -> list[str]:
    """Return which layer runs when, below the drawing, or why that is left out."""
    if shown["undrawn_layers"]:
        return [_text(x, bottom + 15, shown["undrawn_layers"])]
    found: list[str] = []
    for span in shown["layers"]:
        left, width = x + span["start"] * per_moment, (span["end"] - span["start"]) * per_moment
        rect = (left, bottom + 3, width, BAND - 4)
        found.append(path(rectangle(rect), fill=_role_of(span), stroke="panel", width=0.75))
        title, layer, _ = span["label"].rpartition(" layer ")
        names = (span["label"], title) if layer else (span["label"],)
        name = next((name for name in names if width >= len(name) * CHARACTER + 6), "")
        look = f'font-size="11" text-anchor="middle" style="fill:{css("onCell")}"'
        if name:
            found.append(f'<text x="{left + width / 2:.1f}" y="{bottom + 17:.1f}" {look}>{escape(name)}</text>')
    return found


def _height_of_layers(shown: BuffersView) -> float:
    return BAND if shown["layers"] or shown["undrawn_layers"] else 0.0


def _parts(shown: BuffersView, x: float, y: float, per_moment: float) -> list[str]:
    """Return a line where each part of the program begins, and its name, on a separate line if the part is narrow."""
    found: list[str] = []
    bottom = y + HEIGHT + _height_of_layers(shown)
    for (at, name), line in zip(shown["parts"], _rows_of_parts(shown), strict=True):
        left = x + at * per_moment
        found.append(path(f"M{left:.1f} {y:.1f}V{bottom + (2 + line) * WORDS:.1f}", stroke="accent", width=2))
        is_left = at * 2 <= len(shown["moments"])
        found.append(
            _text(left + (5 if is_left else -5), bottom + (1 + line) * WORDS + 12, name, "start" if is_left else "end")
            if line
            else _text(left + 5, bottom + WORDS + 12, name)
        )
    return found


def _rows_of_parts(shown: BuffersView) -> list[int]:
    """Return the line in which the name of each part is: the first, or one of its own if the part is narrow."""
    begins = [*(at for at, _ in shown["parts"]), len(shown["moments"])]
    rows: list[int] = []
    for at, end in pairwise(begins):
        rows.append(max(rows, default=0) + 1 if end - at < NARROW * len(shown["moments"]) else 0)
    return rows


def _lines_of_parts(shown: BuffersView) -> int:
    return max(_rows_of_parts(shown), default=-1) + 1


def _role_of(drawn: BufferView | LayerSpanView) -> str:
    return drawn["kind"] if drawn["kind"] in LIGHT else "operator"


def _label(buffer: BufferView, rect: tuple[float, float, float, float]) -> list[str]:
    x, y, width, height = rect
    if height < MIN_LABEL_HEIGHT or width < len(buffer["label"]) * CHARACTER + 8:
        return []
    look = f'font-size="11" style="fill:{css("onCell")}"'
    return [f'<text x="{x + 4:.1f}" y="{y + 11.5:.1f}" {look}>{escape(buffer["label"])}</text>']


def _text(x: float, y: float, words: str, anchor: str = "start", classes: str = "x-soft") -> str:
    return f'<text class="{classes}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
