"""The marks of a score: lanes of modules, calls with the tensors between them, seams and traffic."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log2

from explorer.views.index import TraceIndex, cached
from explorer.views.score.calls import Call, calls_at
from explorer.views.score.origins import origins_at
from explorer.views.score.repeats import drawn_at, firsts_at, name_of
from explorer.views.score.row import LEFT, RIGHT, Spot, bands_of, body_of, row_at, scale_of
from explorer.views.score.seams import SEAM_ROLES, SEAM_SIGNS, SEAM_WORDS, Seam, SeamKind, seams_at
from explorer.views.score.words import count_of, headline_of, seam_lines, vanished_text
from explorer.views.words import bytes_text, plural
from explorer_widgets.schema import ScoreMarkView, ScoreView

HEAD, BAND, ARCS, TITLES, FRAMES = 46.0, 18.0, 40.0, 16.0, 112.0
"""Heights of the headline, of a band of modules, of arcs above calls, of the titles of calls and of the calls."""
SEAMS, FAR, LINE, TRAFFIC, MARGIN = 24.0, 26.0, 16.0, 62.0, 10.0
"""Heights of the signs at seams, of arcs between calls apart, of a line of words, of bars and between lanes."""
MAX_BANDS, MAX_LINES, MAX_FAR = 3, 3, 40
CATEGORIES = 8
NUMBER = re.compile(r"[._]?\d+$")
MATRIX = re.compile(r"mm|matmul|linear|conv(?!ert)|einsum|attention|dot")
REDUCTION = re.compile(r"sum|mean|max|min|norm|softmax|prod|pool|var")
MOVES = frozenset(
    (
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
    """
    if operator in MOVES:
        return "view"
    return "matmul" if MATRIX.search(operator) else "product" if REDUCTION.search(operator) else "input"


@dataclass(frozen=True, slots=True)
class Lanes:
    """The upper edges of the lanes, the same in each step of a trace."""

    bands: int
    """Number of lines of modules."""

    @property
    def arcs(self) -> float:
        """Arcs above calls."""
        return HEAD + self.bands * BAND + 4

    @property
    def calls(self) -> float:
        """Frames of calls."""
        return self.arcs + ARCS + TITLES

    @property
    def seams(self) -> float:
        """Signs at seams."""
        return self.calls + FRAMES + 2

    @property
    def traffic(self) -> float:
        """Bars of bytes."""
        return self.seams + SEAMS + FAR + MAX_LINES * LINE + MARGIN

    @property
    def bottom(self) -> float:
        """The lower edge of the last lane."""
        return self.traffic + TRAFFIC + MARGIN


@cached
def lanes_of(index: TraceIndex) -> Lanes:
    """Return the lanes of a trace: lines for as many modules in each other as any step has."""
    changing = (at.index for at in index.trace.steps if at.changed or not at.index)
    depths = [band.depth for at in changing for band in bands_of(row_at(index, at))]
    return Lanes(min(MAX_BANDS, 1 + max(depths, default=-1)))


@cached
def score_view(index: TraceIndex, step: int) -> ScoreView:
    """Return the marks of the state after a step, lowest first."""
    row, seams, lanes = row_at(index, step), seams_at(index, step), lanes_of(index)
    lines = seam_lines(calls_at(index, step), seams)
    marks = [
        *_headline(index, step),
        *_bands(index, row),
        *_arcs(row, lanes.arcs + ARCS),
        *_calls(index, step, row, lanes.calls),
        *_seams(row, _drawn(index, step, seams), lines, lanes.seams),
        *_traffic(index, row, lanes.traffic),
        *_names(calls_at(index, step), lanes, seams),
    ]
    return {"left": LEFT, "marks": marks}


def width_of(index: TraceIndex, step: int) -> float:
    """Return the width of the score after a step, without zoom."""
    row = row_at(index, step)
    return (row[-1].right + row[-1].gap if row else LEFT) + RIGHT


def _text(key: str, x: float, y: float, words: str, **look: object) -> ScoreMarkView:
    mark: ScoreMarkView = {"shape": "text", "key": key, "at": [x, y, 0.0, 0.0], "words": [words], "start": True}
    return {**mark, **look}  # pyright: ignore[reportReturnType]


def _headline(index: TraceIndex, step: int) -> Iterator[ScoreMarkView]:
    first, others = headline_of(index, step)
    yield _text("head", 12, 12, first, size=16, bold=True, fixed=True)
    gone = vanished_text(index, step)
    if others:
        yield _text("head-others", 12 + 9.6 * len(first) + 20, 13, others, ink="muted", fixed=True)
    if gone:
        yield _text("head-gone", 12, 33, gone, size=13, fixed=True)


def _names(every: Sequence[Call], lanes: Lanes, seams: Sequence[Seam]) -> Iterator[ScoreMarkView]:
    """The names of the lanes, with their totals."""
    calls = [call for call in every if not call.is_input]
    read, written, parameters = (
        sum(getattr(call, name) for call in calls) for name in ("read", "written", "parameters")
    )
    inside = sum(len(call.inside) for call in calls)
    if any(call.modules for call in calls):
        yield _text("n-modules", 12, HEAD + 9, "Modules", bold=True, fixed=True)
        yield _text("n-zoom", 12, HEAD + 25, "click to zoom", ink="muted", size=11, fixed=True)
    yield _text("n-calls", 12, lanes.calls + 30, "Calls", bold=True, fixed=True, size=13)
    yield _text("n-count", 12, lanes.calls + 47, plural(count_of(calls), "call"), ink="muted", fixed=True)
    if inside:
        yield _text("n-inside", 12, lanes.calls + 63, f"{plural(inside, 'value')} inside", ink="muted", fixed=True)
    yield _text("n-seams", 12, lanes.seams + 12, "Seams", bold=True, fixed=True, size=13)
    if seams:
        near = sum(seam.is_near for seam in seams)
        yield _text("n-near", 12, lanes.seams + 29, f"{near} of neighbours", ink="muted", fixed=True)
    yield _text("n-traffic", 12, lanes.traffic + 8, "Traffic", bold=True, fixed=True, size=13)
    yield _text("n-read", 12, lanes.traffic + 24, f"▲ {bytes_text(read)} read", ink="viewLine", fixed=True)
    yield _text("n-written", 12, lanes.traffic + 39, f"▼ {bytes_text(written)} written", ink="copyLine", fixed=True)
    if parameters:
        words = f"+ {bytes_text(parameters)} weights"
        yield _text("n-parameters", 12, lanes.traffic + 54, words, ink="muted", size=11, fixed=True)


@cached
def _categories(index: TraceIndex) -> dict[str, int]:
    """A colour for each kind of module: those that differ only in their number have the same."""
    names: dict[str, None] = {}
    for entry in index.trace.steps:
        for band in bands_of(row_at(index, entry.index)) if entry.changed or not entry.index else ():
            names.setdefault(NUMBER.sub("", band.name))
    return {name: at % CATEGORIES for at, name in enumerate(names)}


def _bands(index: TraceIndex, row: Sequence[Spot]) -> Iterator[ScoreMarkView]:
    colours, counts = _categories(index), dict[str, int]()
    for band in bands_of(row):
        if band.depth >= MAX_BANDS:
            continue
        number = counts[band.path] = counts.get(band.path, 0) + 1
        yield {
            "shape": "rect",
            "key": f"m{band.path}:{number}",
            "at": _round(band.left + 1, HEAD + band.depth * BAND, band.right - band.left - 2, BAND - 2),
            "fill": f"category-{colours[NUMBER.sub('', band.name)]}",
            "radius": 2,
            "words": [f"{band.name} ×{band.count}" if band.count > 1 else band.name],
            "ink": "fg",
            "tip": f"{band.path}{f' and {band.count - 1} equal ones' if band.count > 1 else ''}: click to zoom",
            "zooms": True,
        }


def _arcs(row: Sequence[Spot], foot: float) -> Iterator[ScoreMarkView]:
    """Values that are read by a call further on: arcs as thick as their bytes, as a logarithm."""
    place = {spot.call.node: at for at, spot in enumerate(row)}
    for at, spot in enumerate(row):
        for source in spot.call.sources:
            start = place[source]
            if at - start < 2 or all(one.call.is_input for one in row[start + 1 : at]):
                continue
            value = sum(one.num_bytes for one in row[start].call.results)
            left = row[start].right + row[start].gap / 2
            rise = min(ARCS - 4, 12 + 3 * (at - start))
            yield {
                "shape": "arc",
                "key": f"a{source}-{spot.call.node}",
                "at": _round(left, foot + 10, spot.middle - left, rise),
                "stroke": "product",
                "width": round(1.0 + 0.3 * max(log2(max(value, 1) / 256), 0), 1),
                "tip": f"{row[start].call.title} is kept for {spot.call.title}: {bytes_text(value)}",
            }


def _calls(index: TraceIndex, step: int, row: Sequence[Spot], top: float) -> Iterator[ScoreMarkView]:
    origins, rooms = origins_at(index, step), _title_rooms(row)
    crowded = {at for at, spot in enumerate(row) if len(spot.call.operators) > 1}
    for at, spot in enumerate(row):
        call, name = spot.call, name_of(spot.nodes)
        several = len(call.operators) > 1
        if not call.is_input:
            yield {
                "shape": "rect",
                "key": f"f{call.node}",
                "at": _round(spot.left, top, spot.width, FRAMES),
                "fill": "panel",
                "stroke": "fused" if several else "kept",
                "width": 2.5 if several else 1,
                "radius": 5 if several else 3,
                "box": name,
                "tip": call_text(call),
                **_was(f"f{call.node}", origins),
            }
            for number, ((left, width), operator) in enumerate(zip(spot.cells(), call.operators, strict=True)):
                key = f"c{call.node}.{number}"
                yield {
                    "shape": "rect",
                    "key": key,
                    "at": _round(left + width * 0.04, top + 4, width * 0.92, FRAMES - (16 if several else 8)),
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
                    "at": _round(spot.middle - room / 2, top - TITLES / 2, room, 0),
                    "words": _titles(call) if several else [call.title, ""],
                    "bold": several,
                    "ink": "fg" if several else "muted",
                }
        for number, ((middle, room), tensor) in enumerate(zip(spot.bodies(), spot.tensors, strict=True)):
            height, thick = body_of(index, tensor)
            key = f"b{call.node}.{number}"
            yield {
                "shape": "body",
                "key": key,
                "at": _round(middle, top + (FRAMES - height) / 2, room, height),
                "thick": thick,
                "fill": "leaf" if call.is_input else "operator",
                "box": name,
                "tip": f"{tensor.text}, {bytes_text(tensor.num_bytes)}, written by {call.title}",
                **_was(key, origins),
            }


def _titles(call: Call) -> list[str]:
    """The title of a call, and a shorter one: `masked_fill +2`."""
    first, *others = call.title.split(" + ")
    return [call.title, *([f"{first} +{len(others)}"] if len(others) > 1 else [])]


def _title_rooms(row: Sequence[Spot]) -> dict[int, float]:
    """The room of the title of each call: up to the middle between two calls of several operators."""
    several = [spot for spot in row if len(spot.call.operators) > 1]
    rooms = {spot.call.node: spot.width + spot.gap for spot in row}
    ends = [LEFT, *(spot.middle for spot in several), row[-1].right + row[-1].gap] if row else []
    for at, spot in enumerate(several):
        left = (spot.middle - ends[at]) / (2 if at else 1)
        right = (ends[at + 2] - spot.middle) / (2 if at + 1 < len(several) else 1)
        rooms[spot.call.node] = max(rooms[spot.call.node], 2 * min(left, right))
    return rooms


def _inside(spot: Spot, top: float) -> Iterator[ScoreMarkView]:
    """A thin mark below operators whose results stay inside the call."""
    cells, call = spot.cells(), spot.call
    left, right = cells[0][0], cells[-1][0]
    if not call.inside and len({*call.operators}) < 2:
        return
    total = sum(one.num_bytes for one in call.inside)
    stays = f"{plural(len(call.inside), 'value')}, {bytes_text(total)}" if call.inside else "in registers"
    yield {
        "shape": "rect",
        "key": f"g{call.node}",
        "at": _round(left + 2, top + FRAMES - 9, right - left - 2, 4),
        "fill": "fused",
        "radius": 2,
        "tip": f"Between these operators nothing is written to memory: {stays}",
    }


def call_text(call: Call) -> str:
    """Return what a call runs and moves."""
    operators = f": {', '.join(call.operators)}" if len(call.operators) > 1 else ""
    library = f" ({call.library})" if call.library else ""
    return f"{call.title}{library}{operators}. Reads {bytes_text(call.read)}, writes {bytes_text(call.written)}."


def _drawn(index: TraceIndex, step: int, seams: Sequence[Seam]) -> list[Seam]:
    """The seams between calls that are drawn, by their positions in the row."""
    calls, first = calls_at(index, step), firsts_at(index, step)
    place = {call.node: at for at, call in enumerate(drawn_at(index, step))}
    found: dict[tuple[int, int], Seam] = {}
    for seam in seams:
        one, other = (place[first[calls[at].node]] for at in (seam.one, seam.other))
        if one < other:
            found.setdefault((one, other), Seam(one, other, seam.kind, seam.words))
    return list(found.values())


def _seams(
    row: Sequence[Spot], seams: Sequence[Seam], lines: Sequence[tuple[SeamKind, str]], top: float
) -> Iterator[ScoreMarkView]:
    middles = [spot.right + spot.gap / 2 for spot in row]
    near = [seam for seam in seams if seam.is_near]
    far = sorted((seam for seam in seams if not seam.is_near), key=lambda seam: seam.other - seam.one)[:MAX_FAR]
    for seam in far:
        one, other = row[seam.one], row[seam.other]
        yield {
            "shape": "arc",
            "key": f"s{one.call.node}-{other.call.node}",
            "at": _round(
                one.middle, top + 4, other.middle - one.middle, -min(SEAMS + FAR - 8, 12 + 4 * (seam.other - seam.one))
            ),
            "stroke": SEAM_ROLES[seam.kind],
            "width": 1.2,
            "tip": f"{one.call.title} | {other.call.title}: {seam.text}",
            "pair": [name_of(one.nodes), name_of(other.nodes)],
        }
    ends = [LEFT, *(middles[seam.one] for seam in near), row[-1].right + row[-1].gap if row else LEFT]
    for at, seam in enumerate(near):
        one, other, x = row[seam.one], row[seam.other], middles[seam.one]
        role = SEAM_ROLES[seam.kind]
        pair = [name_of(one.nodes), name_of(other.nodes)]
        tip = f"{one.call.title} | {other.call.title}: {seam.text}"
        key = f"s{one.call.node}-{other.call.node}"
        room = min(x - ends[at], ends[at + 2] - x) / 2
        yield {
            "shape": "dot",
            "key": key,
            "at": _round(x, top + 12, 2 * room, 8 if seam.kind != "untried" else 7),
            "stroke": role,
            "words": [SEAM_SIGNS[seam.kind]],
            "tip": tip,
            "pair": pair,
        }
        room *= 1.9
        for line, words in enumerate((SEAM_WORDS[seam.kind], seam.words)):
            if words and not far:
                yield {
                    "shape": "text",
                    "key": f"{key}.{line}",
                    "at": _round(x - room / 2, top + 29 + 14 * line, room, 0),
                    "words": [words, ""],
                    "ink": role,
                    "size": 11.5,
                }
    under = top + SEAMS + FAR + LINE / 2
    for at, (kind, line) in enumerate(lines[:MAX_LINES]):
        yield _text(f"w{at}", LEFT, under + at * LINE, line, ink=SEAM_ROLES[kind], fixed=True)
    if not seams and row:
        yield _text("w0", LEFT, top + 12, "No pair of calls has been judged up to here.", ink="muted", fixed=True)


def _traffic(index: TraceIndex, row: Sequence[Spot], top: float) -> Iterator[ScoreMarkView]:
    most, middle = scale_of(index)["moved"], top + TRAFFIC / 2
    for spot in row:
        call = spot.call
        if call.is_input:
            continue
        for key, count, role in (("r", call.read, "viewLine"), ("w", call.written, "copyLine")):
            height = max(count / most * (TRAFFIC / 2 - 1), 1.0 if count else 0.0)
            what = "reads" if key == "r" else "writes"
            yield {
                "shape": "rect",
                "key": f"{key}{call.node}",
                "at": _round(spot.left, middle - height if key == "r" else middle + 1, spot.width, height),
                "fill": role,
                "box": name_of(spot.nodes),
                "tip": f"{call.title} {what} {bytes_text(count)}",
            }


def _round(*numbers: float) -> list[float]:
    return [round(number, 1) for number in numbers]


def _was(key: str, origins: dict[str, str]) -> ScoreMarkView:
    return {"was": origins[key]} if key in origins else {}  # pyright: ignore[reportReturnType]
