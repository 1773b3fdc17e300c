"""The marks of the lower lanes of a score: seams between calls, and the bytes that calls move."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from explorer.views.index import TraceIndex
from explorer.views.score.calls import calls_at
from explorer.views.score.lanes import FAR, LINE, MAX_LINES, SEAMS, TRAFFIC, rounded, text_mark
from explorer.views.score.repeats import drawn_at, firsts_at, name_of
from explorer.views.score.row import LEFT, Spot, scale_of
from explorer.views.score.seams import SEAM_ROLES, SEAM_SIGNS, SEAM_WORDS, Seam, seams_at, shares
from explorer.views.score.words import apart_line, seam_lines
from explorer.views.words import bytes_text, plural
from explorer_widgets.schema import ScoreMarkView

MAX_PAIRS = 8
"""Maximum number of pairs that the text of a reason names."""
APART = "–"
"""The sign between neighbours that have no value in common."""
MAX_FAR = 200
"""Maximum number of arcs to calls that are no neighbours."""


def seam_marks(index: TraceIndex, step: int, row: Sequence[Spot], top: float) -> Iterator[ScoreMarkView]:
    """Yield a sign at each seam, arcs between judged calls that are no neighbours, and a line for each reason."""
    seams = _drawn(index, step)
    near = [seam for seam in seams if seam.is_near]
    far = sorted((seam for seam in seams if not seam.is_near), key=lambda seam: seam.other - seam.one)[:MAX_FAR]
    for seam in far:
        rise = min(SEAMS + FAR - 8, 12 + 4 * (seam.other - seam.one))
        left, right = row[seam.one].middle, row[seam.other].middle
        yield {"shape": "arc", "at": rounded(left, top + 4, right - left, -rise), "width": 1.6, **_seam(row, seam)}
    middles = [row[seam.one].right + row[seam.one].gap / 2 for seam in near]
    ends = [LEFT, *middles, row[-1].right + row[-1].gap if row else LEFT]
    for at, (seam, x) in enumerate(zip(near, middles, strict=True)):
        room = min(x - ends[at], ends[at + 2] - x) / 2
        radius = 8 if seam.kind != "untried" else 7
        sign = _seam(row, seam)
        yield {"shape": "dot", "at": rounded(x, top + 12, 2 * room, radius), "words": [SEAM_SIGNS[seam.kind]], **sign}
        for line, words in enumerate((SEAM_WORDS[seam.kind], seam.words)):
            if words:
                yield {
                    "shape": "text",
                    "key": f"{sign['key']}.{line}",
                    "at": rounded(x - 0.95 * room, top + 29 + 14 * line, 1.9 * room, 0),
                    "words": [words, ""],
                    "ink": SEAM_ROLES[seam.kind],
                    "size": 11.5,
                }
    signed = {seam.one for seam in near}
    for at, (spot, after) in enumerate(pairwise(row) if seams else ()):
        if at not in signed and not (spot.call.is_input or after.call.is_input or shares(spot.call, after.call)):
            x = spot.right + spot.gap / 2
            yield {
                "shape": "text",
                "key": f"u{spot.call.node}",
                "at": rounded(x - 12, top + 12, 24, 0),
                "words": [APART],
                "ink": "muted",
            }
    yield from _lines(index, step, row, [*near, *far], top)


def _seam(row: Sequence[Spot], seam: Seam) -> ScoreMarkView:
    one, other = row[seam.one], row[seam.other]
    return {
        "key": f"s{one.call.node}-{other.call.node}",
        "stroke": SEAM_ROLES[seam.kind],
        "tip": f"{one.call.title} | {other.call.title}\n{seam.text}",
        "pair": [name_of(one.nodes), name_of(other.nodes)],
    }  # pyright: ignore[reportReturnType]


def _drawn(index: TraceIndex, step: int) -> list[Seam]:
    """Return the seams between calls that are drawn, by their positions in the row."""
    calls, first = calls_at(index, step), firsts_at(index, step)
    place = {call.node: at for at, call in enumerate(drawn_at(index, step))}
    found: dict[tuple[int, int], Seam] = {}
    for seam in seams_at(index, step):
        one, other = (place[first[calls[at].node]] for at in (seam.one, seam.other))
        if one < other:
            found.setdefault((one, other), Seam(one, other, seam.kind, seam.words, seam.score))
    return list(found.values())


def _lines(
    index: TraceIndex, step: int, row: Sequence[Spot], drawn: Sequence[Seam], top: float
) -> Iterator[ScoreMarkView]:
    """Yield a line for each reason, which lights its seams."""
    seams = seams_at(index, step)
    found, apart = seam_lines(calls_at(index, step), seams), apart_line(seams)
    most = MAX_LINES - bool(apart)
    shown = found if len(found) <= most else found[: most - 1]
    under = top + SEAMS + FAR + LINE / 2
    for at, (kind, words, line) in enumerate(shown):
        same = [_seam(row, seam) for seam in drawn if seam.is_near and (seam.kind, seam.words) == (kind, words)]
        lights = [mark["key"] for mark in same]
        pair = list(dict.fromkeys(box for mark in same for box in mark.get("pair", ())))
        names = [mark["tip"].split("\n")[0] for mark in same[:MAX_PAIRS] if "tip" in mark]
        more = [f"and {len(same) - MAX_PAIRS} more"] if len(same) > MAX_PAIRS else []
        tip = "\n".join([SEAM_WORDS[kind], *names, *more])
        look = {"ink": SEAM_ROLES[kind], "fixed": True, "lights": lights, "pair": pair, "tip": tip}
        yield text_mark(f"w{at}", LEFT, under + at * LINE, line, **look)
    if len(shown) < len(found):
        words = f"and {plural(len(found) - len(shown), 'other reason')}: point at a sign, or select a call"
        yield text_mark("w-more", LEFT, under + len(shown) * LINE, words, ink="muted", fixed=True)
    if apart:
        arcs = [_seam(row, seam) for seam in drawn if not seam.is_near]
        look = {
            "lights": [arc["key"] for arc in arcs],
            "pair": list(dict.fromkeys(b for a in arcs for b in a.get("pair", ()))),
        }
        yield text_mark("w-apart", LEFT, under + min(len(found), most) * LINE, apart, ink="muted", fixed=True, **look)
    if not seams and row:
        judges = any(one.refusals or one.lost for one in index.trace.steps)
        words = "No pair of calls has been judged up to here." if judges else "No step says why calls stay apart."
        yield text_mark("w0", LEFT, top + 12, words, ink="muted", fixed=True)


def traffic_marks(index: TraceIndex, row: Sequence[Spot], top: float) -> Iterator[ScoreMarkView]:
    """Yield bars for the bytes that calls read and write, and a bar for their scale."""
    most, middle = scale_of(index)["moved"], top + TRAFFIC / 2
    per_byte = (TRAFFIC / 2 - 1) / most
    unit = 1 << max(int(most).bit_length() - 1, 0)
    yield {
        "shape": "rect",
        "key": "n-unit",
        "at": rounded(LEFT - 5, middle - unit * per_byte, 2, unit * per_byte),
        "fill": "fg",
        "fixed": True,
    }
    yield text_mark("n-unit-words", LEFT - 64, top + 8, f"{bytes_text(unit)}", size=11, ink="muted", fixed=True)
    for spot in row:
        call = spot.call
        if call.is_input:
            continue
        for key, count, role in (("r", call.read, "viewLine"), ("w", call.written, "copyLine")):
            height = max(count * per_byte, 1.0 if count else 0.0)
            yield {
                "shape": "rect",
                "key": f"{key}{call.node}",
                "at": rounded(spot.left, middle - height if key == "r" else middle + 1, spot.width, height),
                "fill": role,
                "box": name_of(spot.nodes),
                "tip": f"{call.title} {'reads' if key == 'r' else 'writes'} {bytes_text(count)}",
            }
