"""The marks of a score: the headline, the names of its lanes, modules, and calls with the tensors between them."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import log2

from explorer.views.index import TraceIndex, cached
from explorer.views.score.calls import AGAIN, GRADIENT, Call, calls_at, modules_of
from explorer.views.score.lanes import ARCS, BAND, FRAMES, HEAD, MAX_BANDS, TITLES, Lanes, lanes_of, rounded, text_mark
from explorer.views.score.lower_lanes import seam_marks, traffic_marks
from explorer.views.score.origins import made_at, names_at, origins_at
from explorer.views.score.repeats import name_of
from explorer.views.score.row import LEFT, RIGHT, Band, Spot, bands_of, body_of, name_of_module, row_at
from explorer.views.score.words import count_of, headline_of, saved_text, vanished_text
from explorer.views.words import bytes_text, plural
from explorer_widgets.schema import ScoreMarkView, ScoreView

CATEGORIES = 8
CROWD, MIN_THIN = 24, 0.3
"""More arcs than this are thinner, but no thinner than a share of their width."""
SIGN = 16.0
"""The width of the sign of a seam, in pixels."""
NUMBER = re.compile(r"[._]?\d+$")
MATRIX = re.compile(r"mm|matmul|linear|conv(?!ert)|einsum|attention|dot")
REDUCTION = re.compile(r"sum|mean|max|min|norm|softmax|prod|pool|var|reduce")
MOVES = frozenset(
    (
        *("bitcast", "broadcast", "concat", "concatenate", "flatten", "identity"),
        *("arange", "cat", "clone", "constant_pad_nd", "contiguous", "copy", "embedding", "empty", "expand", "full"),
        *("gather", "index", "iota", "ones", "pad", "permute", "reshape", "select", "slice", "stack", "to"),
        *("_to_copy", "transpose", "view", "zeros"),
    )
)
"""Operators that move or make numbers and compute none."""


def role_of(operator: str) -> str:
    """Return the colour of an operator by its kind: product, reduction, data movement or elementwise.

    >>> [role_of(name) for name in ("convolution", "convert_element_type", "var_mean", "clone")]
    ['matmul', 'input', 'product', 'view']
    >>> [role_of(name) for name in ("Conv", "BatchNormalization", "reduce-window", "Concat")]
    ['matmul', 'product', 'product', 'view']
    """
    operator = operator.lower()
    if operator in MOVES:
        return "view"
    return "matmul" if MATRIX.search(operator) else "product" if REDUCTION.search(operator) else "input"


@cached
def score_view(index: TraceIndex, step: int, *, is_change: bool = False) -> ScoreView:
    """Return the marks of the state after a step, lowest first; of a change, also which calls the step made."""
    row, lanes = row_at(index, step), lanes_of(index)
    marks = [
        *_headline(index, step),
        *_bands(index, row),
        *_arcs(row, lanes.arcs + ARCS),
        *_calls(index, step, row, lanes.calls),
        *(_changes(index, step, row, lanes) if is_change else ()),
        *seam_marks(index, step, row, lanes.seams),
        *traffic_marks(index, row, lanes.traffic),
        *_names(index, step, lanes),
    ]
    return {"left": LEFT, "marks": marks}


def width_of(index: TraceIndex, step: int) -> float:
    """Return the width of the score after a step, without zoom."""
    return width_of_row(row_at(index, step)) + RIGHT


def width_of_row(row: Sequence[Spot]) -> float:
    """Return where a row ends."""
    return row[-1].right + row[-1].gap if row else LEFT


def _headline(index: TraceIndex, step: int) -> Iterator[ScoreMarkView]:
    first, others = headline_of(index, step)
    yield text_mark("head", 12, 12, first, size=16, bold=True, fixed=True)
    gone = vanished_text(index, step)
    if others:
        yield text_mark("head-others", 12 + 9.2 * len(first) + 20, 13, others, ink="muted", fixed=True)
    if gone:
        yield text_mark("head-gone", 12, 33, gone, size=13, fixed=True)


def _names(index: TraceIndex, step: int, lanes: Lanes) -> Iterator[ScoreMarkView]:
    """The names of the lanes, with their totals."""
    calls = [call for call in calls_at(index, step) if not call.is_input]
    read, written, parameters = (
        sum(getattr(call, name) for call in calls) for name in ("read", "written", "parameters")
    )
    kept = sum(len(call.kept) for call in calls)
    inside = sum(len(call.inside) for call in calls) + kept
    if any(call.modules for call in calls):
        yield text_mark("n-modules", 12, HEAD + 9, "Modules", bold=True, fixed=True)
        yield text_mark("n-zoom", 12, HEAD + 25, "click to zoom", ink="muted", size=11, fixed=True)
    if saved := saved_text(index, step):
        yield text_mark("n-saved", 12, lanes.arcs + 12, "Saved for backward", bold=True, fixed=True, size=11)
        yield text_mark("n-saved-bytes", 12, lanes.arcs + 28, saved, ink="muted", size=11, fixed=True)
    yield text_mark("n-calls", 12, lanes.calls + 30, "Calls", bold=True, fixed=True, size=13)
    yield text_mark("n-count", 12, lanes.calls + 47, plural(count_of(calls), "call"), ink="muted", fixed=True)
    if inside:
        words = f"{plural(inside, 'value')} inside,"
        yield text_mark("n-inside", 12, lanes.calls + 63, words, ink="muted", fixed=True)
        words = f"{kept:,} of them in buffers" if kept else "by all steps so far"
        yield text_mark("n-so-far", 12, lanes.calls + 78, words, ink="muted", size=11, fixed=True)
    yield text_mark("n-seams", 12, lanes.seams + 12, "Seams", bold=True, fixed=True, size=13)
    yield text_mark("n-why", 12, lanes.seams + 29, "why apart, until when", ink="muted", size=11, fixed=True)
    yield text_mark("n-traffic", 12, lanes.traffic + 8, "Traffic", bold=True, fixed=True, size=13)
    yield text_mark("n-read", 12, lanes.traffic + 24, f"▲ {bytes_text(read)} read", ink="viewLine", fixed=True)
    yield text_mark("n-written", 12, lanes.traffic + 39, f"▼ {bytes_text(written)} written", ink="copyLine", fixed=True)
    if parameters:
        words = f"+ {bytes_text(parameters)} weights"
        yield text_mark("n-parameters", 12, lanes.traffic + 54, words, ink="muted", size=11, fixed=True)


@cached
def _categories(index: TraceIndex) -> dict[str, int]:
    """A colour for each kind of module: those that differ only in their number have the same."""
    names = dict.fromkeys(NUMBER.sub("", name_of_module(module)) for module in modules_of(index))
    return {name: at % CATEGORIES for at, name in enumerate(names)}


def _bands(index: TraceIndex, row: Sequence[Spot]) -> Iterator[ScoreMarkView]:
    colours, counts = _categories(index), dict[str, int]()
    bands = [band for band in bands_of(row) if band.depth < MAX_BANDS]
    rooms = _band_rooms(bands, width_of_row(row))
    for band, room in zip(bands, rooms, strict=True):
        number = counts[band.path] = counts.get(band.path, 0) + 1
        top = HEAD + band.depth * BAND
        yield {
            "shape": "rect",
            "key": f"m{band.path}:{number}",
            "at": rounded(band.left + 1, top, band.right - band.left - 2, BAND - 2),
            "fill": f"category-{colours[NUMBER.sub('', name_of_module(band.path))]}",
            "radius": 2,
            "tip": f"{band.path}{f' and {band.count - 1} equal ones' if band.count > 1 else ''}\nclick to zoom",
            "zooms": True,
        }
        yield {
            "shape": "text",
            "key": f"n{band.path}:{number}",
            "at": rounded((band.left + band.right - room) / 2, top, room, BAND - 2),
            "words": _module_words(band),
        }


def _module_words(band: Band) -> list[str]:
    """The name of a module, and how many it stands for where that has room."""
    name = name_of_module(band.path)
    return [*([f"{name} ×{band.count}"] if band.count > 1 else []), name, ""]


def _band_rooms(bands: Sequence[Band], end: float) -> list[float]:
    """The room of the name of each band: up to the middle of the gaps to its neighbours."""
    found: list[float] = []
    for at, band in enumerate(bands):
        same = [one for one in (*bands[max(at - 1, 0) : at], *bands[at + 1 : at + 2]) if one.depth == band.depth]
        before = next((one.right for one in same if one.left < band.left), 2 * LEFT - band.left)
        after = next((one.left for one in same if one.left > band.left), 2 * end - band.right)
        gap = min(band.left - before, after - band.right) / 2
        found.append(band.right - band.left + 2 * max(gap, 0.0))
    return found


def _arcs(row: Sequence[Spot], foot: float) -> Iterator[ScoreMarkView]:
    """Values that are read by a call further on: arcs as thick as their bytes, as a logarithm."""
    place = {spot.call.node: at for at, spot in enumerate(row)}
    every = [(at, place[source], source) for at, spot in enumerate(row) for source in spot.call.sources]
    far = [one for one in every if one[0] - one[1] > 1]
    thin = max(MIN_THIN, min(1.0, CROWD / max(len(far), 1)))
    for at, start, source in far:
        spot = row[at]
        if not all(one.call.is_input for one in row[start + 1 : at]):
            value = sum(one.num_bytes for one in row[start].call.results)
            left = row[start].right + row[start].gap / 2
            is_given = row[start].part == "backward" or row[start].call.title.startswith(GRADIENT)
            is_saved = spot.part == "backward" and not is_given
            look = {"stroke": "fg"} if is_saved else {"stroke": "kept", "dash": [6, 3]}
            rise = min(ARCS - 4, 12 + 3 * (at - start))
            yield {
                "shape": "arc",
                "key": f"a{source}-{spot.call.node}",
                "at": rounded(left, foot + 10, spot.middle - left, rise),
                **look,
                "width": round(thin * (1.0 + 0.3 * max(log2(max(value, 1) / 256), 0)), 1),
                "tip": f"{row[start].call.title} is {'saved' if is_saved else 'kept'} for "
                f"{'the backward ' if is_saved else ''}{spot.call.title}: {bytes_text(value)}",
            }  # pyright: ignore[reportReturnType]


def _calls(index: TraceIndex, step: int, row: Sequence[Spot], top: float) -> Iterator[ScoreMarkView]:
    origins, names, rooms = origins_at(index, step), names_at(index, step), _title_rooms(row)
    crowded = {at for at, spot in enumerate(row) if len(spot.call.operators) > 1}
    for at, spot in enumerate(row):
        call, name = spot.call, name_of(spot.nodes)
        several = len(call.operators) > 1
        if not call.is_input:
            yield {
                "shape": "rect",
                "key": f"f{call.node}",
                "at": rounded(spot.left, top, spot.width, FRAMES),
                "fill": "panel",
                "stroke": "fused" if several else "kept",
                "width": 2.5 if several else 1,
                "radius": 5 if several else 3,
                "box": name,
                "tip": call_text(spot, names[call.node]),
                **_dash(call),
                **_was(f"f{call.node}", origins),
            }
            for number, ((left, width), operator) in enumerate(zip(spot.cells(), call.operators, strict=True)):
                key = f"c{call.node}.{number}"
                yield {
                    "shape": "rect",
                    "key": key,
                    "at": rounded(left + width * 0.03, top + 4, width * 0.94, FRAMES - (16 if several else 8)),
                    "fill": role_of(operator),
                    "radius": 2,
                    "words": [operator],
                    "ink": "onCell",
                    "box": name,
                    **_was(key, origins),
                }
            if several:
                yield from _inside(spot, top)
            if several or (call.title not in call.operators and not {at - 1, at + 1} & crowded):
                room = rooms[call.node]
                yield {
                    "shape": "text",
                    "key": f"t{call.node}",
                    "at": rounded(spot.middle - room / 2, top - TITLES / 2, room, 0),
                    "words": _titles(names[call.node], call.node) if several else [names[call.node], call.title, ""],
                    "bold": several,
                    "ink": "fg" if several else "muted",
                }
        for number, ((middle, room), tensor) in enumerate(zip(spot.bodies(), spot.tensors, strict=True)):
            height, thick = body_of(index, tensor)
            key = f"b{call.node}.{number}"
            yield {
                "shape": "body",
                "key": key,
                "at": rounded(middle, top + (FRAMES - height) / 2, room, height),
                "thick": thick,
                "fill": "leaf" if call.is_input else "operator",
                "box": name,
                "tip": f"{tensor.text}\n{bytes_text(tensor.num_bytes)}, {_source(call)}",
                **_was(key, origins),
            }


def _changes(index: TraceIndex, step: int, row: Sequence[Spot], lanes: Lanes) -> Iterator[ScoreMarkView]:
    """Outlines of the calls that a step made, and lines where the operators of the calls before it meet."""
    made = made_at(index, step)
    for spot in row:
        node = spot.call.node
        count, begins = made.get(node, (0, []))
        if not count or spot.call.is_input:
            continue
        yield {
            "shape": "rect",
            "key": f"x{node}",
            "at": rounded(spot.left, lanes.calls, spot.width, FRAMES),
            "stroke": "changed",
            "width": 4,
            "radius": 5,
            **_dash(spot.call),
        }
        cells = spot.cells()
        for at in begins:
            x = cells[at][0] - 1
            yield {
                "shape": "rect",
                "key": f"j{node}.{at}",
                "at": rounded(x, lanes.calls, 2, FRAMES),
                "fill": "changed",
            }
        if count > 1:
            room = max(0.0, spot.width + spot.gap - SIGN)  # the signs of the seams at both sides reach into it
            yield {
                "shape": "text",
                "key": f"y{node}",
                "at": rounded(spot.middle - room / 2, lanes.seams + 12, room, 0),
                "words": [f"{count} calls became this one", f"{count} became one", f"{count} → 1", ""],
                "ink": "changed",
                "bold": True,
            }


def _titles(name: str, node: int) -> list[str]:
    """The name of a call with its number, and shorter ones, down to the number.

    >>> _titles("layer_norm (part) + gelu + 3 more", 20)[2:]
    ['layer_norm (part) +4', 'layer_norm +4', 'layer_norm…', 'layer…', '#20', '']
    """
    first, *others = name.split(" + ")
    more = sum(int(one.split()[0]) if one.endswith(" more") else 1 for one in others)
    plain = first.removesuffix(" (part)")
    short = [f"{one} +{more}" for one in (first, plain) if more]
    ends = [at for at in range(len(plain), 0, -1) if plain[at:] == "" or plain[at] == "_"]
    cut = [f"{plain[:at]}…" for at in ends if more or at < len(plain)]
    return list(dict.fromkeys((f"{name} #{node}", name, *short, *cut, f"#{node}", "")))


def _title_rooms(row: Sequence[Spot]) -> dict[int, float]:
    """The room of the title of each call; that of a call of several operators ends where the next one begins."""
    rooms = {spot.call.node: spot.width + spot.gap for spot in row}
    ends = [LEFT, *(_meeting(*pair) for pair in pairwise(row)), width_of_row(row)]
    for spot, left, right in zip(row, ends, ends[1:], strict=False):
        if len(spot.call.operators) > 1:
            rooms[spot.call.node] = 2 * min(spot.middle - left, right - spot.middle)
    return rooms


def _meeting(one: Spot, other: Spot) -> float:
    """Where the titles of neighbours meet: in the gap, or over a call of one operator, which has no title there."""
    single = next((spot for spot in (one, other) if len(spot.call.operators) == 1), None)
    return (one.right + other.left) / 2 if single is None else single.middle


def _inside(spot: Spot, top: float) -> Iterator[ScoreMarkView]:
    """A thin mark below operators whose results nobody but the call reads."""
    cells, call = spot.cells(), spot.call
    left, right = cells[0][0], cells[-1][0]
    if not call.inside and len({*call.operators}) < 2:
        return
    stays = [
        f"{plural(len(some), 'value')} {where}: {bytes_text(sum(one.num_bytes for one in some))}"
        for some, where in ((call.inside, "not written to memory"), (call.kept, "in buffers of this call"))
        if some
    ]
    yield {
        "shape": "rect",
        "key": f"g{call.node}",
        "at": rounded(left + 2, top + FRAMES - 9, right - left - 2, 4),
        "fill": "fused",
        "radius": 2,
        "tip": f"Between these operators: {', '.join(stays) or 'in registers, not written to memory'}",
    }


def call_text(spot: Spot, name: str) -> str:
    """Return in lines what a call runs, of which modules, and what it moves."""
    call = spot.call
    equal = f" and {len(spot.nodes) - 1} equal ones" if len(spot.nodes) > 1 else ""
    lines = [
        f"{name} #{call.node}{equal}",
        ", ".join(filter(None, (spot.part, call.training))),
        f"runs {', '.join(call.operators)}" if len(call.operators) > 1 else "",
        f"calls the library: {call.library}" if call.library else "",
        f"of {', '.join(call.modules)}" if call.modules else "",
        f"reads {bytes_text(call.read)}, writes {bytes_text(call.written)}",
    ]
    return "\n".join(filter(None, lines))


def _source(call: Call) -> str:
    return f"the input {call.title}" if call.is_input else f"written by {call.title} #{call.node}"


def _dash(call: Call) -> ScoreMarkView:
    """The dash of the frame of a call that computes values of forward again."""
    return {"dash": [4.0, 3.0]} if AGAIN in call.training else {}  # pyright: ignore[reportReturnType]


def _was(key: str, origins: dict[str, str]) -> ScoreMarkView:
    return {"was": origins[key]} if key in origins else {}  # pyright: ignore[reportReturnType]
