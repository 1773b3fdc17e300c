"""The values of units as buffers: from when to when each is kept, and in which slot."""

from explorer.runtime.recording.records import value_type
from explorer.runtime.units import Plan
from explorer.runtime.work import FLOAT_BYTES
from explorer.trace import BufferRecord, MemoryRecord


def memory_of(units: Plan, rows: int) -> MemoryRecord:
    """The memory of the values for a tile of rows, each kept until it was last read.

    Without slots each value has memory of its own. All slots have the size of the widest value.
    """
    order = tuple(number for number, _ in units.computed())
    moments = {number: moment for moment, number in enumerate(order)}
    readers: dict[int, list[int]] = {number: [] for number in order}
    for number in order:
        for one in dict.fromkeys(units.calls[number].inputs):
            if one in readers:
                readers[one].append(number)
    outputs = frozenset(units.outputs)
    slot_bytes = max((_size_bytes(units, number, rows) for number in order), default=0)
    buffers = tuple(
        BufferRecord(
            number,
            value_type(units.calls[number], rows),
            moments[number],
            len(order) if number in outputs else 1 + moments[readers[number][-1] if readers[number] else number],
            _size_bytes(units, number, rows),
            units.slots[number] * slot_bytes if units.slots else None,
            (number, *readers[number]),
            ("w", *("r" * len(readers[number]))),
        )
        for number in order
    )
    size = units.num_slots * slot_bytes if units.slots else sum(one.size_bytes for one in buffers)
    lines = zip(units.calls, units.text().splitlines(), strict=False)
    listing = tuple((number, line) for number, line in lines if number in moments)
    return MemoryRecord(order, buffers, size, _most_bytes(buffers), listing)


def _size_bytes(units: Plan, number: int, rows: int) -> int:
    return FLOAT_BYTES * units.calls[number].width * rows


def _most_bytes(buffers: tuple[BufferRecord, ...]) -> int:
    """The bytes of the values that are kept at one moment, at most."""
    change: dict[int, int] = {}
    for one in buffers:
        change[one.start] = change.get(one.start, 0) + one.size_bytes
        change[one.end] = change.get(one.end, 0) - one.size_bytes
    most = kept = 0
    for moment in sorted(change):
        kept += change[moment]
        most = max(most, kept)
    return most
