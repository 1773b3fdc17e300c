"""Units in launches: those of one shape and level are computed together; values are kept in slots by width."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from explorer.errors import LoweringError
from explorer.runtime.units import OF_ONE_LAYER, Kind, SlotStep, Units, slots_by_width

MAX_WIDTH = 8192
"""Maximum width of a unit: a program of a kernel has whole rows."""

WITHOUT_KERNEL = (Kind.TENSOR_DOT,)


@dataclass(frozen=True, slots=True)
class Launch:
    """Units of one shape that no other of them reads: one launch of a kernel.

    `widths` are those of the factors of a term, the same for all terms. `variables` are by factor of a density.
    """

    kind: Kind
    width: int
    members: tuple[int, ...]
    terms: int
    widths: tuple[int, ...]
    variables: tuple[tuple[int, ...], ...]

    @property
    def factors(self) -> int:
        """The number of factors of a term."""
        return len(self.widths)

    @property
    def in_width(self) -> int:
        """The number of summands of a term: the width of its product."""
        if not self.widths:
            return self.width
        return self.widths[0] * self.widths[1] if self.kind in (Kind.TUCKER, Kind.KRONECKER) else self.widths[0]


@dataclass(frozen=True, eq=False)
class Launches:
    """The launches of a circuit in order.

    A unit has a slot among those of its width, which a later unit gets once no launch reads it any more. `tables` are
    those that are read, by width.
    """

    units: Units
    launches: tuple[Launch, ...]
    slots: Mapping[int, int]
    num_slots: Mapping[int, int]
    tables: Mapping[int, tuple[int, ...]]

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """The widths of units and of tables."""
        return tuple(dict.fromkeys((*self.num_slots, *self.tables)))

    def __repr__(self) -> str:
        return f"<Launches: {len(self.launches)} of {sum(len(launch.members) for launch in self.launches)} units>"


def plan_launches(units: Units, *, keep: bool = False) -> Launches:
    """The launches of planned units; with `keep` each unit has a slot of its own, whose values stay.

    Raises: LoweringError for a kind of unit that has no kernel, or a width above `MAX_WIDTH`.
    """
    for number, unit in units.computed():
        if unit.kind in WITHOUT_KERNEL:
            raise LoweringError(f"there is no Triton kernel for units of kind {unit.kind.value}, such as %{number}")
        if unit.width > MAX_WIDTH:
            raise LoweringError(f"unit %{number} has a width of {unit.width}; Triton kernels take up to {MAX_WIDTH}")
    launches = tuple(_launch(units, members) for members in _members(units))
    widths = {number: unit.width for number, unit in units.computed()}
    steps = [
        SlotStep(launch.members, [one for number in launch.members for one in units.units[number].inputs])
        for launch in launches
    ]
    by_width = slots_by_width(steps, widths, kept=widths if keep else units.outputs)
    slots = {number: slot for found in by_width.values() for number, slot in found.items()}
    num_slots = {width: 1 + max(found.values()) for width, found in by_width.items()}
    tables: dict[int, list[int]] = {}
    for number in units.read_tables:
        tables.setdefault(units.units[number].width, []).append(number)
    return Launches(units, launches, slots, num_slots, {width: tuple(found) for width, found in tables.items()})


def _members(units: Units) -> Sequence[tuple[int, ...]]:
    """The units of each launch, level by level, in the order of the folds that have their numbers."""
    levels: dict[int, int] = {}
    found: dict[tuple[object, ...], list[int]] = {}
    for number, unit in units.computed():
        level = levels[number] = 1 + max((levels.get(one, 0) for one in unit.inputs), default=0)
        widths = tuple(units.units[one].width for one in unit.inputs)
        layers = tuple((one.layer, one.part) for one in unit.sources) if unit.kind in OF_ONE_LAYER else ()
        key = (level, unit.kind.value, unit.width, unit.terms, widths, len(unit.variables), layers)
        found.setdefault(key, []).append(number)
    launches = [found[key] for key in sorted(found, key=lambda key: key[0])]  # pyright: ignore[reportArgumentType, reportCallIssue]

    def place(number: int) -> tuple[int, str, int]:
        source = units.units[number].sources[0]
        return source.layer, source.part, source.fold

    return [tuple(sorted(launch, key=place)) for launch in launches]


def _launch(units: Units, members: tuple[int, ...]) -> Launch:
    some = [units.units[number] for number in members]
    first = some[0]
    widths = tuple(units.units[one].width for one in first.inputs[: len(first.inputs) // first.terms])
    variables = tuple(zip(*(unit.variables for unit in some), strict=True))
    return Launch(first.kind, first.width, members, first.terms, widths, variables)
