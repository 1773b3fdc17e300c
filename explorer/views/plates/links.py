"""Missed folds as links: two plates of layers that were nearly folded together, with the reason in words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

from explorer.trace import MissedFold
from explorer.views.index import TraceIndex, cached
from explorer.views.plates.cells import Plate, plates_of
from explorer.views.plates.layout import BELOW
from explorer.views.plates.plates_svg import LINE
from explorer.views.plates.routes import Wiring
from explorer_widgets.schema import LinkView

CHARACTERS, LONG = 19, 80
"""Maximum length of a line of the reason between two plates and below a line of plates, in characters."""
MAX_WORDED = 3
"""Maximum number of links that are all described; beyond it, one without room is described only when selected."""
ROOM = 14.0
"""Room around the reason, in pixels."""
SHAPE = ".shape"
"""The end of the names of shapes in fold keys."""


@dataclass(frozen=True, slots=True)
class MissedLink:
    """Two plates that folding left apart; `first` is above or to the left of `second`."""

    first: Plate
    second: Plate
    reason: str
    is_late: bool
    """True if their keys are equal and their levels are not."""

    @property
    def lines(self) -> list[str]:
        """The reason in lines."""
        return wrap(self.reason, CHARACTERS)

    @property
    def room(self) -> float:
        """Pixels that the reason needs between the two plates."""
        return ROOM + LINE * len(self.lines)


@cached
def missed_links(index: TraceIndex, step: int) -> tuple[MissedLink, ...]:
    """Return the plates after a step that folding leaves apart although they come close; none before it begins."""
    if not any(entry.folds for entry in index.trace.steps[: step + 1]):
        return ()
    plates = plates_of(index, step).plates
    position = {frozenset(cell.layer for cell in plate.cells): i for i, plate in enumerate(plates)}
    members = {group.node: frozenset(group.members) for group in index.groups} if index.missed_folds else {}
    found: list[MissedLink] = []
    for miss in index.missed_folds:
        if not all(members[node] in position for node in miss.nodes):
            continue
        ends = [position[members[node]] for node in miss.nodes]
        first, second = plates[min(ends)], plates[max(ends)]
        reason = _reason(miss, first, second, is_swapped=ends[0] > ends[1])
        found.append(MissedLink(first, second, reason, not miss.differences and first.level != second.level))
    return tuple(found)


def _reason(miss: MissedFold, first: Plate, second: Plate, *, is_swapped: bool) -> str:
    """Return why two plates were not folded together, as a sentence."""
    if miss.differences:
        fields = [(name, *((there, here) if is_swapped else (here, there))) for name, here, there in miss.differences]
        why = "; ".join(
            f"{name} is {_short(first, name, above)} above and {_short(second, name, below)} below"
            for name, above, below in fields
        )
    elif first.level != second.level:
        why = f"their keys are equal, but their levels are {first.level} and {second.level}"
    else:
        why = f"their keys are equal, but level {first.level} was switched off"
    return f"Not folded together: {why}."


def _short(plate: Plate, name: str, value: str) -> str:
    """Return the value of a field of a fold key; the shape of a parameter as it is written at a plate: `16×16`."""
    parameter = plate.record.parameters.get(name.removesuffix(SHAPE)) if name.endswith(SHAPE) else None
    return value if parameter is None else "×".join(map(str, parameter.shape))


def link_views(links: Sequence[MissedLink], wiring: Wiring) -> Iterator[LinkView]:
    """Return the links of a drawing: their way and, if there is room for it, the place of the reason."""
    placed = {one.plate.id: one for one in wiring.stage.placed}
    for link, points in zip(links, wiring.links, strict=True):
        first = placed[link.first.id]
        is_beside = link.first.level == link.second.level
        view: LinkView = {
            "source": link.first.id,
            "target": link.second.id,
            "lines": link.lines if is_beside else wrap(link.reason, LONG),
            "points": points,
        }
        if is_beside:
            view["at"] = [first.left + first.shape.width / 2, first.bottom + BELOW + ROOM / 2]
        elif len(links) <= MAX_WORDED and points[2][1] > wiring.stage.tops[-1]:
            view["at"] = [(points[2][0] + points[-3][0]) / 2, max(y for _, y in points)]
        yield view
