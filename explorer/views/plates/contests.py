"""A conflict as a drawn note: the layer that two rules wanted, split between them, and what decided, as bars."""

from collections.abc import Sequence

from explorer.trace import MatchFound, MatchLost
from explorer.views.hulls import stops_of_matches
from explorer.views.index import TraceIndex
from explorer.views.marks import mark
from explorer.views.plates.pin_places import Note, width_of, words
from explorer.views.plates.pin_scene import Area, Scene
from explorer_widgets.schema import MarkView
from explorer_widgets.theme import HULLS

CELL, GAP, PAD = 30.0, 18.0, 12.0
"""The height of a layer, the gap between two, and the margin of the note."""
AROUND = 5.0
"""Distance of the outline of a rule from its layers."""
FONT = 12.0
ROW = 17.0
"""The height of a row of bars."""
BAR = 50.0
"""The longest bar."""
TITLE, ABOVE, NAMES = 13.0, 52.0, 20.0
"""The font size of the title, the room above the layers, and that for the names of the rules below them."""
TORN = 13.0
"""The gap between the halves of a layer."""
JAG = 5.0
"""How far the torn edges go in and out."""
LESS = 0.55
"""The length of the shorter of two bars that are ranks, not amounts."""
AMOUNTS = ("size", "cost")
MEASURES = {"size": "size, layers", "nearness": "nearness to output", "order": "order of rules", "cost": "added cost"}


def decisive(lost: MatchLost) -> str:
    """Return the comparison that decided a conflict, with its amounts."""
    name, *values = next((measure for measure in lost.measures if measure[1] != measure[2]), (lost.reason,))
    return f"{name} {values}" if name in AMOUNTS else name


def contest_note(index: TraceIndex, step: int, conflicts: Sequence[MatchLost], scene: Scene) -> Note | None:
    """Return the note of the conflicts between two rules that had the same outcome; None if nothing of them is left."""
    entry = index.step(step)
    first = min(conflicts, key=lambda lost: lost.node)
    winner, loser = (entry.matches[number] for number in (first.winner, first.loser))
    won = {conflict.winner for conflict in conflicts}
    made = [layer for rewrite in entry.applied if rewrite.number in won for layer in rewrite.added]
    plates = list(dict.fromkeys(scene.cells[layer].plate for layer in made if layer in scene.cells))
    if not plates:
        return None
    others = sorted({conflict.node for conflict in conflicts} - {first.node})
    is_one_rule = winner.rule == loser.rule
    name = _name(index, step, first.node)
    text = f"Two {f'matches of {winner.rule}' if is_one_rule else 'rules'} wanted {name}"
    if others:
        text += f" and {_name(index, step, others[0])}" if len(others) == 1 else f" and {len(others):,} more layers"
    card = _Card(index, step, first, winner, loser)
    outcome = (f". At {name}" if others else "") if is_one_rule else f": {winner.rule} won, {loser.rule} lost"
    why = f"{first.reason[:1].upper()}{first.reason[1:]}"
    reason = f"{text}{outcome}{f': {first.reason}' if is_one_rule else f'. {why}'}."
    size, marks = card.draw(text)
    return Note("contest", text, reason, plates, size=size, marks=marks, hull=_hull(index, step, winner))


def _hull(index: TraceIndex, step: int, match: MatchFound) -> str:
    """Return the id of the outline of a match in the state before the step."""
    return next((stop.view["id"] for stop in stops_of_matches(index, step) if match in stop.attempts), "")


def _name(index: TraceIndex, step: int, layer: int) -> str:
    return f"{index.title(int(index.before(step).node[layer]))} {layer}"


class _Card:
    """The drawing of one conflict, around its middle."""

    def __init__(self, index: TraceIndex, step: int, lost: MatchLost, winner: MatchFound, loser: MatchFound) -> None:
        graph = index.step(step - 1).snapshot.graph
        position = {node: number for number, node in enumerate(graph.nodes)}
        self.lost, self.winner, self.loser = lost, winner, loser
        self.nodes = sorted({*winner.nodes, *loser.nodes}, key=position.__getitem__)
        self.names = [_name(index, step, node) for node in self.nodes]
        records = [index.record(int(index.before(step).node[node])) for node in self.nodes]
        self.kinds = [record.kind for record in records]
        shared = {*winner.nodes} & {*loser.nodes}
        own = [[position[node] for node in match.nodes if node not in shared] for match in (winner, loser)]
        middle = position[lost.node]
        self.winner_right = all(one < middle for one in own[1]) and all(one > middle for one in own[0])
        self.winner_left = all(one > middle for one in own[1]) and all(one < middle for one in own[0])
        self.is_beside = len(shared) == 1 and (self.winner_right or self.winner_left)
        self.shared = shared

    def draw(self, text: str) -> tuple[tuple[float, float], list[MarkView]]:
        """Return width and height, and the marks."""
        cell = max(width_of(name, FONT) for name in self.names) + 18
        chain = len(self.nodes) * (cell + GAP) - GAP
        bars = 2 * (BAR + 10) + width_of(MEASURES["nearness"], FONT) + 32
        names = 2 * max(width_of(name, FONT) for name in (self._verdict(True), self._verdict(False))) + 16
        width = max(chain + 2 * AROUND, bars, names, width_of(text, TITLE)) + 2 * PAD
        height = ABOVE + CELL + AROUND + NAMES + len(self.lost.measures) * ROW + PAD
        top = -height / 2
        frame = {"x": -width / 2, "y": top, "width": width, "height": height, "rx": 9}
        return (round(width, 1), round(height, 1)), [
            mark("rect", **frame, fill="panel", stroke=HULLS["winner"].line, stroke_width=1.6),
            words(0, top + PAD + 10, text, size=TITLE, weight=700),
            *self._chain(cell, chain, top + ABOVE),
            *self._bars(top + ABOVE + CELL + AROUND + NAMES, width),
        ]

    def _verdict(self, is_winner: bool) -> str:
        match, outcome = (self.winner, "✓ {} won") if is_winner else (self.loser, "✕ {} lost")
        return outcome.format(f"match at {match.root}" if self.winner.rule == self.loser.rule else match.rule)

    def _chain(self, cell: float, chain: float, top: float) -> list[MarkView]:
        """Return the layers in order, the shared ones torn in two, with the outline and the name of each rule."""
        lefts = {node: -chain / 2 + number * (cell + GAP) for number, node in enumerate(self.nodes)}
        middle = top + CELL / 2
        areas = [self._area(match, lefts, cell, top) for match in (self.loser, self.winner)]
        sides = [(*one, is_winner) for one, is_winner in zip(areas, (False, True), strict=True)]
        found = [_frame(area, "winner" if is_winner else "lost", filled=True) for *area, is_winner in sides]
        found.append(
            mark("path", d=f"M{-chain / 2:.1f} {middle:.1f}h{chain:.1f}", fill="none", stroke="edge", stroke_width=1.6)
        )
        for node, name, kind in zip(self.nodes, self.names, self.kinds, strict=True):
            x, look = lefts[node], {"fill": kind, "stroke": "kept", "stroke_width": 0.8}
            if node in self.shared:
                found += [mark("path", d=d, **look) for d in self._halves(x, top, cell)]
                found.append(words(x + cell / 2, top - AROUND - 5, name, size=FONT, weight=600))
            else:
                found.append(mark("rect", x=x, y=top, width=cell, height=CELL, rx=4, **look))
                found.append(words(x + cell / 2, middle + 4, name, "onCell", FONT, 600))
        for left, _, right, lower, is_winner in sides:
            outline = _frame((left, _, right, lower), "winner" if is_winner else "lost", filled=False)
            at = (left + right) / 2 if self.is_beside else self._side(is_winner) * chain / 4
            look = ("fg", FONT, 700) if is_winner else ("muted", FONT, 400)
            found += [
                mark("g", [outline], **{"class": "ce-tug"}) if is_winner else outline,
                words(at, top + CELL + AROUND + 14, self._verdict(is_winner), *look),
            ]
        return found

    def _halves(self, x: float, top: float, cell: float) -> list[str]:
        """Return the paths of a torn cell: two halves with a jagged gap between."""
        if not self.is_beside:  # one above the other
            half = CELL / 2 - TORN / 2
            return [f"M{x:.1f} {top + by:.1f}h{cell:.1f}v{half:.1f}h-{cell:.1f}z" for by in (0, half + TORN)]
        half, step = cell / 2 - TORN / 2, CELL / 4
        tear, back = ("".join(f"l{way * JAG:g} {down:g}" for way in (1, -1, 1, -1)) for down in (step, -step))
        left = f"M{x:.1f} {top:.1f}h{half - JAG / 2:.1f}{tear}H{x:.1f}z"
        right = f"M{x + cell:.1f} {top + CELL:.1f}H{x + half + TORN - JAG / 2:.1f}{back}H{x + cell:.1f}z"
        return [left, right]

    def _area(self, match: MatchFound, lefts: dict[int, float], cell: float, top: float) -> Area:
        """Return left, top, right and bottom of the outline of a match, which has one half of a shared layer."""
        is_winner = match is self.winner
        left = min(lefts[node] for node in match.nodes) - AROUND
        right = max(lefts[node] for node in match.nodes) + cell + AROUND
        upper, lower = top - AROUND, top + CELL + AROUND
        middle = lefts[self.lost.node] + cell / 2
        if not self.is_beside:
            return (left, upper, right, top + CELL / 2) if is_winner else (left, top + CELL / 2, right, lower)
        return (middle + 3, upper, right, lower) if self._side(is_winner) > 0 else (left, upper, middle - 3, lower)

    def _side(self, is_winner: bool) -> int:
        """Return 1 for what is at the right, -1 for what is at the left."""
        return 1 if is_winner != self.winner_left else -1

    def _bars(self, top: float, width: float) -> list[MarkView]:
        """Return a row for each comparison: its name in the middle, the bars of the rules at their sides."""
        found: list[MarkView] = []
        decided = False
        label = width_of(MEASURES["nearness"], FONT) / 2 + 12
        for number, (name, mine, other) in enumerate(self.lost.measures):
            y = top + number * ROW
            decides = not decided and mine != other
            if decides:
                across = {"x": -width / 2 + 4, "y": y + 0.5, "width": width - 8, "height": ROW - 1}
                found.append(mark("rect", **across, rx=4, fill="matchedFill", fill_opacity=0.55))
            look = ("fg", FONT, 700) if decides else ("muted", FONT, 400)
            text = MEASURES.get(name, name)
            found.append(words(0, y + 12.5, f"{text}: not needed" if decided else text, *look))
            for value, rival, is_winner in ((mine, other, True), (other, mine, False)) if not decided else ():
                found += self._bar(name, value, rival, y, label, is_winner=is_winner, decides=decides)
            decided = decided or decides
        return found

    def _bar(
        self, name: str, value: float, rival: float, y: float, label: float, *, is_winner: bool, decides: bool
    ) -> list[MarkView]:
        """Return the bar of one rule in a comparison, with its number if it is an amount."""
        most = max(abs(value), abs(rival)) or 1.0
        share = abs(value) / most if name in AMOUNTS else 1.0 if is_winner or value == rival else LESS
        length, side = max(2.0, BAR * share), self._side(is_winner)
        area = {"x": round(label if side > 0 else -label - length, 1), "y": y + 4, "width": round(length, 1)}
        bar = mark("rect", **area, height=ROW - 8, rx=2, fill="matched" if is_winner else "lost", stroke="none")
        said = f"{value:,.0f}" if name in AMOUNTS else "✓" if decides and is_winner else ""
        weight, anchor = 700 if decides else 400, "start" if side > 0 else "end"
        at = side * (label + length + 5)
        return [bar, *([words(at, y + 12.5, said, "fg", FONT, weight, text_anchor=anchor)] if said else [])]


def _frame(area: Sequence[float], kind: str, *, filled: bool) -> MarkView:
    """Return the outline of a rule, or what is inside it."""
    look, (left, top, right, bottom) = HULLS[kind], area
    rect = {"x": round(left, 1), "y": round(top, 1), "width": round(right - left, 1), "height": round(bottom - top, 1)}
    if filled:
        return mark("rect", **rect, rx=6, fill=look.fill, fill_opacity=0.3, stroke="none")
    dash = " ".join(f"{part:g}" for part in look.dash)
    line = {"stroke": look.line, "stroke_width": look.width + 0.4, "stroke_dasharray": dash}
    return mark("rect", **rect, rx=6, fill="none", **line)
